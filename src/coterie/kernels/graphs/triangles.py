"""Triangle counts by degree order, and the k-core decomposition.

Used by `anonymize/draw`, `anonymize/utility` and `anonymize/risk`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import mix


@njit(nogil=True, cache=True)
def forward_rows(indptr, indices):
    """Return (forward_ptr, forward): the neighbours of each node of higher degree (ties by number).

    No node has more than sqrt(2m) of them. O(n + m).
    """
    n = len(indptr) - 1
    forward_ptr = np.zeros(n + 1, np.int64)
    forward = np.empty(len(indices) // 2, np.int32)
    filled = 0
    for u in range(n):
        degree = indptr[u + 1] - indptr[u]
        for slot in range(indptr[u], indptr[u + 1]):
            v = indices[slot]
            other = indptr[v + 1] - indptr[v]
            if degree < other or (degree == other and u < v):
                forward[filled] = v
                filled += 1
        forward_ptr[u + 1] = filled
    return forward_ptr, forward


@njit(nogil=True, cache=True)
def triangles(indptr, indices):
    """Return the number of triangles at every node (int64).

    Every edge points from its end of lower degree to the other (ties by number), so that no node
    has more than sqrt(2m) forward neighbours: O(m^1.5).
    """
    n = len(indptr) - 1
    forward_ptr, forward = forward_rows(indptr, indices)
    count = np.zeros(n, np.int64)
    seen_from = np.full(n, -1, np.int64)
    for u in range(n):
        for i in range(forward_ptr[u], forward_ptr[u + 1]):
            seen_from[forward[i]] = u
        for i in range(forward_ptr[u], forward_ptr[u + 1]):
            v = forward[i]
            for j in range(forward_ptr[v], forward_ptr[v + 1]):
                w = forward[j]
                if seen_from[w] == u:
                    count[u] += 1
                    count[v] += 1
                    count[w] += 1
    return count


@njit(nogil=True, cache=True)
def edge_triangles(indptr, indices, source, target):
    """Return the number of triangles of each of these edges (int64); the rows must be sorted."""
    count = np.zeros(len(source), np.int64)
    for e in range(len(source)):
        i, end = indptr[source[e]], indptr[source[e] + 1]
        j, other_end = indptr[target[e]], indptr[target[e] + 1]
        while i < end and j < other_end:
            if indices[i] < indices[j]:
                i += 1
            elif indices[i] > indices[j]:
                j += 1
            else:
                count[e] += 1
                i += 1
                j += 1
    return count


@njit(nogil=True, cache=True)
def core_numbers(indptr, indices):
    """Return per node the largest k such that it is in a subgraph of minimum degree k (int64).

    Nodes are removed in the order of their remaining degree, kept in buckets: O(n + m).
    """
    n = len(indptr) - 1
    degree = np.empty(n, np.int64)
    highest = 0
    for v in range(n):
        degree[v] = indptr[v + 1] - indptr[v]
        highest = max(highest, degree[v])
    start = np.zeros(highest + 2, np.int64)
    for v in range(n):
        start[degree[v] + 1] += 1
    for d in range(highest + 1):
        start[d + 1] += start[d]
    order = np.empty(n, np.int64)
    place = np.empty(n, np.int64)
    fill = start[:-1].copy()
    for v in range(n):
        place[v] = fill[degree[v]]
        order[place[v]] = v
        fill[degree[v]] += 1
    for i in range(n):
        v = order[i]
        for slot in range(indptr[v], indptr[v + 1]):
            u = indices[slot]
            if degree[u] > degree[v]:
                first = start[degree[u]]
                w = order[first]
                if w != u:
                    order[first], order[place[u]] = u, w
                    place[w] = place[u]
                    place[u] = first
                start[degree[u]] += 1
                degree[u] -= 1
    return degree


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
