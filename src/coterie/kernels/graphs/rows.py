"""From distinct pairs to compressed sparse rows by counting, without a comparison sort.

Used by `anonymize/draw`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into


@njit(nogil=True, cache=True)
def rows_from_pairs(source, target, n):
    """Return (indptr, indices) of the undirected graph with these distinct pairs, no loops.

    Two counting passes; the second visits rows in order, which leaves every row sorted. O(n + m).
    """
    m = len(source)
    indptr = np.zeros(n + 1, np.int64)
    for e in range(m):
        indptr[source[e] + 1] += 1
        indptr[target[e] + 1] += 1
    for v in range(n):
        indptr[v + 1] += indptr[v]
    fill = indptr[:-1].copy()
    unsorted = np.empty(2 * m, np.int32)
    for e in range(m):
        u, v = source[e], target[e]
        unsorted[fill[u]] = v
        fill[u] += 1
        unsorted[fill[v]] = u
        fill[v] += 1
    # The matrix is symmetric: visiting the rows in order appends rising numbers to every neighbour.
    copy_into(fill, indptr[:-1])
    indices = np.empty(2 * m, np.int32)
    for u in range(n):
        for slot in range(indptr[u], indptr[u + 1]):
            v = unsorted[slot]
            indices[fill[v]] = u
            fill[v] += 1
    return indptr, indices
