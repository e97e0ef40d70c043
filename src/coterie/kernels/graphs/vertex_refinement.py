"""Vertex refinement: colours of nodes from the colours of their neighbours (Hay et al., 2008).

Used by `anonymize/attacks/known_degrees.py`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import mix

# Separates a node's own colour from its neighbours': otherwise two joined leaves equal an isolate.
_OWN = np.uint64(0xD1B54A32D192ED03)


@njit(nogil=True, cache=True)
def refine(indptr, indices, colour):
    """Return a new colour per node (uint64), equal if the old colour and the multiset of the
    neighbours' colours are equal (a collision has probability of about n^2 / 2^64)."""
    new = np.empty_like(colour)
    for v in range(len(colour)):
        total = np.uint64(0)
        for slot in range(indptr[v], indptr[v + 1]):
            total += mix(colour[indices[slot]])
        new[v] = mix(total ^ mix(colour[v] ^ _OWN))
    return new
