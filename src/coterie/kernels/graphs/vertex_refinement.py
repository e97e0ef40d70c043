"""Vertex refinement: colours of nodes from the colours of their neighbours (Hay et al., 2008)."""

from __future__ import annotations

import numpy as np
from numba import njit

from coterie.kernels.numba.random import mix

# Sets a node's own colour apart from its neighbours': else a pair of leaves looks like an isolate.
_OWN = np.uint64(0xD1B54A32D192ED03)


@njit(nogil=True, cache=True)
def refine(indptr, indices, colour):
    """uint64[n]: a new colour for each node, equal where old colour and the neighbours' colours, as
    a multiset, are (but for a chance of about n^2 / 2^64)."""
    new = np.empty_like(colour)
    for v in range(len(colour)):
        total = np.uint64(0)
        for slot in range(indptr[v], indptr[v + 1]):
            total += mix(colour[indices[slot]])
        new[v] = mix(total ^ mix(colour[v] ^ _OWN))
    return new
