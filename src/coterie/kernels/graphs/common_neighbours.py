"""Count the common neighbours of pairs of nodes."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def common_neighbours(indptr, indices, source, target):
    """Return the number of common neighbours of each pair (int64); rows are sorted."""
    counts = np.zeros(len(source), np.int64)
    for e in range(len(source)):
        i, end_i = indptr[source[e]], indptr[source[e] + 1]
        j, end_j = indptr[target[e]], indptr[target[e] + 1]
        while i < end_i and j < end_j:
            a, b = indices[i], indices[j]
            counts[e] += a == b
            i += a <= b
            j += b <= a
    return counts
