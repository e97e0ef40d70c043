"""Nodes and edges whose removal divides a component.

Used by `anonymize/utility/resilience.py`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def cut_points_and_bridges(indptr, indices):
    """Return (number of articulation points, number of bridges).

    One depth-first search. `lowest` is the earliest node that a node's subtree reaches over edges
    outside the search tree. O(n + m).
    """
    n = len(indptr) - 1
    entered = np.full(n, -1, np.int64)
    lowest = np.zeros(n, np.int64)
    parent = np.full(n, -1, np.int64)
    cursor = indptr[:-1].copy()
    cuts = np.zeros(n, np.bool_)
    bridges = 0
    clock = 0
    for root in range(n):
        if entered[root] >= 0:
            continue
        entered[root] = lowest[root] = clock
        clock += 1
        children = 0
        v = root
        while v >= 0:
            if cursor[v] < indptr[v + 1]:
                w = np.int64(indices[cursor[v]])
                cursor[v] += 1
                if entered[w] < 0:
                    parent[w] = v
                    entered[w] = lowest[w] = clock
                    clock += 1
                    children += v == root
                    v = w
                elif w != parent[v]:
                    lowest[v] = min(lowest[v], entered[w])
                continue
            up = parent[v]
            if up >= 0:
                lowest[up] = min(lowest[up], lowest[v])
                bridges += lowest[v] > entered[up]
                if up != root and lowest[v] >= entered[up]:
                    cuts[up] = True
            v = up
        cuts[root] = children > 1
    return np.int64(cuts.sum()), bridges
