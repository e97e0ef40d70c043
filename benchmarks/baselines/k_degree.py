"""k-degree anonymity (Liu & Terzi 2008): at least k people share every degree."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.random import Generator

from coterie.data import Graph


def k_degree(graph: Graph, rng: Generator, k: int = 10) -> Graph:
    """Add edges until at least k people share every degree, where that is possible.

    Nodes that cannot be paired keep a lower degree.
    """
    order = np.argsort(-graph.degrees, kind="stable")
    wanted = np.empty(graph.n_nodes, np.int64)
    wanted[order] = anonymous_degrees(graph.degrees[order], k)
    source, target = graph.edges()
    extra = _join_missing(graph, wanted - graph.degrees, rng)
    joined = np.r_[source, extra[:, 0]], np.r_[target, extra[:, 1]]
    return Graph.from_edges(*joined, n_nodes=graph.n_nodes)


def anonymous_degrees(falling: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest sequence, never lower, in which every value appears at least k times.

    Dynamic programming over groups of k to 2k-1 values, each raised to the first of its group.

    >>> anonymous_degrees(np.array([9, 8, 5, 4, 1, 1]), 2)
    array([9, 9, 5, 5, 1, 1])
    """
    n = len(falling)
    if n < 2 * k:
        return np.full(n, falling[0] if n else 0)
    total = np.r_[0, np.cumsum(falling)]
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    begin = np.zeros(n + 1, np.int64)
    for end in range(k, n + 1):
        starts = np.arange(max(0, end - 2 * k + 1), end - k + 1)
        costs = best[starts] + falling[starts] * (end - starts) - (total[end] - total[starts])
        at = int(costs.argmin())
        best[end], begin[end] = costs[at], starts[at]
    raised = np.empty_like(falling)
    end = n
    while end > 0:
        raised[begin[end] : end] = falling[begin[end]]
        end = begin[end]
    return raised


def _join_missing(graph: Graph, missing: np.ndarray, rng: Generator) -> np.ndarray:
    """Return new edges that add the missing degrees, largest first (Havel-Hakimi)."""
    tie_breaker = rng.permutation(graph.n_nodes)
    waiting = [
        (-int(missing[v]), int(tie_breaker[v]), v) for v in np.flatnonzero(missing > 0).tolist()
    ]
    heapq.heapify(waiting)
    added: list[tuple[int, int]] = []
    friends: dict[int, set[int]] = {}
    while waiting:
        need, _, u = heapq.heappop(waiting)
        known = friends.setdefault(u, set()) | set(
            graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()
        )
        skipped: list[tuple[int, int, int]] = []
        taken: list[tuple[int, int, int]] = []
        while waiting and len(taken) < -need:
            entry = heapq.heappop(waiting)
            (skipped if entry[2] in known else taken).append(entry)
        for other, tie, v in taken:
            added.append((u, v))
            friends.setdefault(v, set()).add(u)
            if other + 1 < 0:
                skipped.append((other + 1, tie, v))
        for entry in skipped:
            heapq.heappush(waiting, entry)
    return np.array(added, np.int64).reshape(-1, 2)
