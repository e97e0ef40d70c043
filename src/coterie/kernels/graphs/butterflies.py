"""Count butterflies: cycles of four nodes, two of each side of a bipartite graph."""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def count_butterflies(indptr, indices, first_side):
    """Return the number of butterflies; `first_side` are the nodes of one side.

    Two nodes of the side with c common neighbours form c (c - 1) / 2 butterflies.
    """
    shared = np.zeros(len(indptr) - 1, np.int64)
    met = np.empty(len(indptr) - 1, np.int64)
    total = 0
    for u in first_side:
        n_met = 0
        for e in range(indptr[u], indptr[u + 1]):
            v = indices[e]
            for f in range(indptr[v], indptr[v + 1]):
                w = indices[f]
                if w >= u:
                    continue
                if shared[w] == 0:
                    met[n_met] = w
                    n_met += 1
                shared[w] += 1
        for i in range(n_met):
            c = shared[met[i]]
            total += c * (c - 1) // 2
            shared[met[i]] = 0
    return total
