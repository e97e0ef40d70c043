"""Triangles per edge, 4-cliques and 4-cycles: what the counts of small subgraphs are made of.

Used by `anonymize/utility/graphlets.py`. Every edge points from its end of lower degree to the
other (ties by number), so that no node has more than sqrt(2m) forward neighbours.

    forward_ptr, forward   rows of forward neighbours
    first, last            the nodes that a call works on, so that calls can run at the same time
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def count_cliques(forward_ptr, forward, first, last, edge_triangles):
    """Return the number of 4-cliques whose first node is in first..last-1.

    `edge_triangles` (int32, one per forward edge) receives their triangles too. A triangle is
    visited once, and costs the forward neighbours of its last node: O(m^2) in theory, close to
    O(m^1.5) on sparse graphs.
    """
    n = len(forward_ptr) - 1
    slot_from_u = np.full(n, -1, np.int64)
    common_with = np.full(n, -1, np.int64)  # the edge u-v for which a node was marked
    common = np.empty(n, np.int32)
    cliques = 0
    for u in range(first, last):
        begin, end = forward_ptr[u], forward_ptr[u + 1]
        for i in range(begin, end):
            slot_from_u[forward[i]] = i
        for i in range(begin, end):
            v = forward[i]
            n_common = 0
            for j in range(forward_ptr[v], forward_ptr[v + 1]):
                w = forward[j]
                if slot_from_u[w] >= begin:
                    edge_triangles[i] += 1
                    edge_triangles[j] += 1
                    edge_triangles[slot_from_u[w]] += 1
                    common_with[w] = i
                    common[n_common] = w
                    n_common += 1
            if n_common < 2:
                continue
            for k in range(n_common):
                w = common[k]
                for j in range(forward_ptr[w], forward_ptr[w + 1]):
                    cliques += common_with[forward[j]] == i
        for i in range(begin, end):
            slot_from_u[forward[i]] = -1
    return cliques


@njit(nogil=True, cache=True)
def count_squares(indptr, indices, first, last):
    """Return the number of 4-cycles whose last node in the degree order is in first..last-1.

    A 4-cycle is two paths of length two between the same two nodes. Every edge costs the smaller
    of the degrees of its ends.
    """
    n = len(indptr) - 1
    paths_to = np.zeros(n, np.int32)
    reached = np.empty(n, np.int32)
    squares = 0
    for u in range(first, last):
        degree_u = indptr[u + 1] - indptr[u]
        n_reached = 0
        for slot in range(indptr[u], indptr[u + 1]):
            v = indices[slot]
            degree = indptr[v + 1] - indptr[v]
            if degree > degree_u or (degree == degree_u and v > u):
                continue
            for j in range(indptr[v], indptr[v + 1]):
                w = indices[j]
                degree = indptr[w + 1] - indptr[w]
                if degree < degree_u or (degree == degree_u and w < u):
                    squares += paths_to[w]
                    if paths_to[w] == 0:
                        reached[n_reached] = w
                        n_reached += 1
                    paths_to[w] += 1
        for i in range(n_reached):
            paths_to[reached[i]] = 0
    return squares


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
