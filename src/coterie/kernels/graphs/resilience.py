"""What holds a graph together: components after nodes or edges are removed, cut points, bridges.

Used by `anonymize/utility/resilience.py`.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import stream, uniform


@njit(forceinline=True, cache=True)
def _join(parent, size, u, v):
    """Join the components of u and v; return the size of the result."""
    a, b = root_of(parent, u), root_of(parent, v)
    if a == b:
        return size[a]
    if size[a] < size[b]:
        a, b = b, a
    parent[b] = a
    size[a] += size[b]
    return size[a]


@njit(nogil=True, cache=True)
def largest_after_removal(indptr, indices, order):
    """Return (int64[n + 1]) the size of the largest component once i nodes of `order` are removed.

    Nodes are added in the opposite order, and components only grow: O(m) with union-find.
    """
    n = len(indptr) - 1
    parent = np.arange(n)
    size = np.ones(n, np.int64)
    present = np.zeros(n, np.bool_)
    largest = np.zeros(n + 1, np.int64)
    now = 0
    for i in range(n - 1, -1, -1):
        v = order[i]
        present[v] = True
        now = max(now, 1)
        for slot in range(indptr[v], indptr[v + 1]):
            if present[indices[slot]]:
                now = max(now, _join(parent, size, v, indices[slot]))
        largest[i] = now
    return largest


@njit(nogil=True, cache=True)
def largest_outbreak(indptr, indices, probability, key):
    """Return the size of the largest component if every edge is kept with this probability.

    This is the largest outbreak of an epidemic in which a case infects each contact with this
    probability, once. O(m).
    """
    n = len(indptr) - 1
    parent = np.arange(n)
    size = np.ones(n, np.int64)
    largest = min(n, 1)
    state = stream(key, 0)
    for v in range(n):
        for slot in range(indptr[v], indptr[v + 1]):
            if indices[slot] > v:
                state, u = uniform(state)
                if u < probability:
                    largest = max(largest, _join(parent, size, v, indices[slot]))
    return largest


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


@njit(forceinline=True, cache=True)
def root_of(parent, v):
    """Return the node that stands for the component of v; paths are halved on the way."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v
