"""Shortest paths: distances from many sources at once, and betweenness.

Used by `anonymize/utility/paths.py` and `anonymize/utility/centrality.py`. Distances are found by
breadth-first search with one bit per source, betweenness by Brandes' algorithm.

    seen, front, reached   uint64, (n, WORDS): which sources have reached a node
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

WORDS = 4
SOURCES = 64 * WORDS  # half a cache line: one pass over the edges serves 256 sources
_M1, _M2, _M4 = (np.uint64(m) for m in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_H01 = np.uint64(0x0101010101010101)
_S1, _S2, _S4, _S56 = (np.uint64(s) for s in (1, 2, 4, 56))
_FEW = 0.05  # share of the nodes up to which only the nodes of the front are visited
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(forceinline=True, cache=True)
def _ones(x):
    """Return the number of bits set (LLVM compiles this to one instruction)."""
    x = x - ((x >> _S1) & _M1)
    x = (x & _M2) + ((x >> _S2) & _M2)
    x = (x + (x >> _S4)) & _M4
    return np.int64((x * _H01) >> _S56)


@njit(nogil=True, cache=True)
def distance_counts(indptr, indices, sources):
    """Return the number of (source, node) pairs at distance 0, 1, 2 … (int64, at most SOURCES
    sources). A node that all sources have reached is not visited again."""
    n = len(indptr) - 1
    seen = np.zeros((n, WORDS), np.uint64)
    front = np.zeros((n, WORDS), np.uint64)
    reached = np.zeros((n, WORDS), np.uint64)
    full = np.zeros(WORDS, np.uint64)
    for i in range(len(sources)):
        bit = np.uint64(1) << np.uint64(i % 64)
        front[sources[i], i // 64] |= bit
        seen[sources[i], i // 64] |= bit
        full[i // 64] |= bit
    counts = np.zeros(n + 1, np.int64)
    counts[0] = len(sources)
    # Nodes of the front, as long as they are few: a path has a front of two nodes per source and
    # as many levels as nodes.
    active, following = np.empty(n, np.int64), np.empty(n, np.int64)
    n_active = 0
    for v in range(n):
        if front[v, 0] or front[v, 1] or front[v, 2] or front[v, 3]:
            active[n_active] = v
            n_active += 1
    level = 0
    while counts[level] > 0:
        level += 1
        found = n_following = 0
        if n_active < _FEW * n:
            for i in range(n_active):
                u = active[i]
                for slot in range(indptr[u], indptr[u + 1]):
                    v = indices[slot]
                    waiting = reached[v, 0] | reached[v, 1] | reached[v, 2] | reached[v, 3]
                    new = np.uint64(0)
                    for w in range(WORDS):
                        bits = front[u, w] & ~seen[v, w]
                        reached[v, w] |= bits
                        new |= bits
                    if new and not waiting:
                        following[n_following] = v
                        n_following += 1
            for i in range(n_active):
                for w in range(WORDS):
                    front[active[i], w] = np.uint64(0)
            for i in range(n_following):
                v = following[i]
                for w in range(WORDS):
                    seen[v, w] |= reached[v, w]
                    found += _ones(reached[v, w])
        else:
            for v in range(n):
                s0, s1, s2, s3 = seen[v, 0], seen[v, 1], seen[v, 2], seen[v, 3]
                r0 = r1 = r2 = r3 = np.uint64(0)
                if s0 != full[0] or s1 != full[1] or s2 != full[2] or s3 != full[3]:
                    for slot in range(indptr[v], indptr[v + 1]):
                        u = indices[slot]
                        r0 |= front[u, 0]
                        r1 |= front[u, 1]
                        r2 |= front[u, 2]
                        r3 |= front[u, 3]
                    r0 &= ~s0
                    r1 &= ~s1
                    r2 &= ~s2
                    r3 &= ~s3
                    seen[v, 0] = s0 | r0
                    seen[v, 1] = s1 | r1
                    seen[v, 2] = s2 | r2
                    seen[v, 3] = s3 | r3
                    found += _ones(r0) + _ones(r1) + _ones(r2) + _ones(r3)
                    if r0 or r1 or r2 or r3:
                        following[n_following] = v
                        n_following += 1
                reached[v, 0] = r0
                reached[v, 1] = r1
                reached[v, 2] = r2
                reached[v, 3] = r3
            front[:] = np.uint64(0)
        front, reached = reached, front
        active, following = following, active
        n_active = n_following
        if found == 0:
            break
        counts[level] = found
    return counts[:level]


@njit(nogil=True, cache=True)
def dependencies(indptr, indices, sources):
    """Return, per node, the sum over the sources of the shares of shortest paths through it.

    A node's share for a source is the sum, over all other nodes, of the share of the shortest
    paths from the source to them that pass through it. O(n + m) per source.
    """
    n = len(indptr) - 1
    through = np.zeros(n)
    distance = np.full(n, -1, np.int32)
    paths = np.zeros(n)
    share = np.zeros(n)
    order = np.empty(n, np.int32)
    for source in sources:
        order[0] = source
        distance[source] = 0
        paths[source] = 1.0
        seen, i = 1, 0
        while i < seen:
            v = order[i]
            i += 1
            for slot in range(indptr[v], indptr[v + 1]):
                w = indices[slot]
                if distance[w] < 0:
                    distance[w] = distance[v] + 1
                    order[seen] = w
                    seen += 1
                if distance[w] == distance[v] + 1:
                    paths[w] += paths[v]
        for i in range(seen - 1, 0, -1):
            w = order[i]
            through[w] += share[w]
            passed = (1.0 + share[w]) / paths[w]
            for slot in range(indptr[w], indptr[w + 1]):
                v = indices[slot]
                if distance[v] == distance[w] - 1:
                    share[v] += paths[v] * passed
        for i in range(seen):
            v = order[i]
            distance[v] = -1
            paths[v] = 0.0
            share[v] = 0.0
    return through
