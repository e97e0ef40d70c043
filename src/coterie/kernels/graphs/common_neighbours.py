"""Common neighbours of pairs of nodes, weighted. Used by `models/hard/link_scores.py`.

indptr, indices   sorted rows of an undirected graph
weight            float64 (n,): what a node counts as a common neighbour
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def shared_weight(indptr, indices, weight, u, v):
    """Return (float64) the weight of the common neighbours of each pair (u, v); O(degrees)."""
    total = np.zeros(len(u))
    for pair in range(len(u)):
        i, i_end = indptr[u[pair]], indptr[u[pair] + 1]
        j, j_end = indptr[v[pair]], indptr[v[pair] + 1]
        while i < i_end and j < j_end:
            if indices[i] == indices[j]:
                total[pair] += weight[indices[i]]
                i += 1
                j += 1
            elif indices[i] < indices[j]:
                i += 1
            else:
                j += 1
    return total


@njit(nogil=True, cache=True)
def best_two_steps(indptr, indices, weight, most_degree, count):
    """Return the absent pairs u < v with the largest weight of common neighbours, about `count`.

    Nodes with more than `most_degree` neighbours are not used as common neighbours, which bounds
    the work by O(most_degree m). Returns (u, v); pairs as good as the last one may be missing.
    """
    n = len(indptr) - 1
    room = 2 * count + 16
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    value = np.empty(room)
    filled, least = 0, 0.0
    total = np.zeros(n)
    reached = np.empty(n, np.int64)
    near = np.zeros(n, np.bool_)
    for u in range(n):
        found = 0
        for slot in range(indptr[u], indptr[u + 1]):
            near[indices[slot]] = True
        for slot in range(indptr[u], indptr[u + 1]):
            w = indices[slot]
            if indptr[w + 1] - indptr[w] > most_degree:
                continue
            for next_slot in range(indptr[w], indptr[w + 1]):
                v = indices[next_slot]
                if v > u and not near[v]:
                    if total[v] == 0.0:
                        reached[found] = v
                        found += 1
                    total[v] += weight[w]
        for i in range(found):
            v = reached[i]
            if total[v] > least:
                first[filled], second[filled], value[filled] = u, v, total[v]
                filled += 1
                if filled == room:  # keep the better half
                    order = np.argsort(-value)[:count]
                    least = value[order[count - 1]]
                    first[:count], second[:count] = first[order], second[order]
                    value[:count] = value[order]
                    filled = count
            total[v] = 0.0
        for slot in range(indptr[u], indptr[u + 1]):
            near[indices[slot]] = False
    return first[:filled], second[:filled]
