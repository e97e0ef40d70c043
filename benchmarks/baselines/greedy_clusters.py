"""Greedy clusters of nodes with similar neighbourhoods (SaNGreeA, Campan & Truta 2008)."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def greedy_clusters(indptr, indices, order, size, widest):
    """Return the cluster of every node (int32[n]); each cluster has at least `size` nodes.

    A cluster starts with the next unassigned node of `order`. It then takes, one at a time, the
    unassigned node with the most neighbours in common with its members, relative to its degree;
    if no node shares a neighbour, the next unassigned node of `order`. Neighbours with more than
    `widest` neighbours are ignored: they carry little information and cost the most time.
    """
    n = len(indptr) - 1
    cluster = np.full(n, -1, np.int32)
    score = np.zeros(n, np.float64)
    touched = np.empty(n, np.int32)
    free = current = 0
    assigned = 0
    while assigned < n:
        if n - assigned < 2 * size:
            for v in range(n):
                if cluster[v] < 0:
                    cluster[v] = current
            break
        count = 0
        for _ in range(size):
            best, high = -1, 0.0
            for i in range(count):
                w = touched[i]
                if cluster[w] < 0:
                    s = score[w] / np.sqrt(np.float64(indptr[w + 1] - indptr[w]))
                    if s > high:
                        best, high = w, s
            if best < 0:
                while cluster[order[free]] >= 0:
                    free += 1
                best = order[free]
            cluster[best] = current
            assigned += 1
            for a in range(indptr[best], indptr[best + 1]):
                x = indices[a]
                if indptr[x + 1] - indptr[x] > widest:
                    continue
                for b in range(indptr[x], indptr[x + 1]):
                    w = indices[b]
                    if cluster[w] < 0:
                        if score[w] == 0.0:
                            touched[count] = w
                            count += 1
                        score[w] += 1.0
        for i in range(count):
            score[touched[i]] = 0.0
        current += 1
    return cluster
