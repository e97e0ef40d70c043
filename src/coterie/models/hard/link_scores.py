"""Probabilities of edges from a clustering: leave-one-out scores, and the most likely absent pairs.

A pair (u, v) in the blocks r and s is scored with the statistics of all other pairs, so a present
edge does not vote for itself (a = 1 if the pair is present):

    simple, directed    p = (d_rs - a + rho) / (D_rs - 1 + 1), d edges over D pairs
    weighted            p = 1 - exp(-rate), rate = (W_rs - w + rho) / (D_rs - 1 + 1)
    all others          p = 1 - exp(-rate), degree-corrected:
                        rate = t_u t_v / 2m * (e_rs - a + C) / (K_r K_s / 2m + C)
                        with t_u = k_u - a + A

rho is the density (or mean weight) of the whole graph: one pair of prior knowledge. C and A are
prior counts of edges between two blocks and at a node; without edges in the cell the rate is that
of a random graph with these degrees. docs/benchmarks/links.md says how C and A were chosen.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie.data import Graph

PRIOR_EDGES = 1.0  # C: edges per pair of blocks
PRIOR_DEGREE = 0.5  # A: edges per node
_MOST_CELLS = 4_000_000  # up to here, pairs of blocks without edges are candidates too


class _Blocks(NamedTuple):
    """The statistics of one partition; edges inside a block are counted in both directions."""

    labels: np.ndarray
    sizes: np.ndarray
    cells: np.ndarray  # sorted codes r * k + s of the pairs of blocks with edges
    counts: np.ndarray  # edges (or weight) of these pairs
    degrees: np.ndarray  # per node
    block_degrees: np.ndarray  # per block


def score(
    objective: str, graph: Graph, partitions: Sequence[np.ndarray], u: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the probability of each pair, averaged over partitions (label arrays)."""
    total = np.zeros(len(u))
    for labels in partitions:
        total += _score(objective, graph, _count(objective, graph, labels), u, v)
    return np.where(u == v, 0.0, total / len(partitions))


def most_likely(
    objective: str, graph: Graph, partitions: Sequence[np.ndarray], count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ends and scores of the absent pairs with the highest scores.

    With several partitions the candidates are the best `count` pairs of each.
    """
    found: set[tuple[int, int]] = set()
    for labels in partitions:
        found.update(_best_absent(objective, graph, _count(objective, graph, labels), count))
    pairs = np.array(sorted(found), np.int64).reshape(-1, 2)
    scores = score(objective, graph, partitions, pairs[:, 0], pairs[:, 1])
    best = np.argsort(-scores, kind="stable")[:count]
    return pairs[best, 0], pairs[best, 1], scores[best]


def _count(objective: str, graph: Graph, labels: np.ndarray) -> _Blocks:
    """Count edges between blocks without a k x k table."""
    labels = np.asarray(labels, np.int64)
    k = int(labels.max(initial=0)) + 1
    source = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    weights = None
    if objective == "weighted" and graph.weights is not None:
        weights = graph.weights
    codes = labels[source] * k + labels[graph.indices]
    if graph.directed and objective != "directed":  # the objective ignores directions
        codes = np.concatenate([codes, labels[graph.indices] * k + labels[source]])
        weights = None if weights is None else np.tile(weights, 2)
    cells, cell = np.unique(codes, return_inverse=True)
    counts = np.bincount(cell, weights, minlength=len(cells)).astype(np.float64)
    degrees = np.bincount(source, minlength=graph.n_nodes).astype(np.float64)
    if graph.directed:
        degrees += np.bincount(graph.indices, minlength=graph.n_nodes)
    return _Blocks(
        labels,
        np.bincount(labels, minlength=k).astype(np.float64),
        cells,
        counts,
        degrees,
        np.bincount(labels, degrees, minlength=k),
    )


def _cell_counts(blocks: _Blocks, r: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Look up the counts of pairs of blocks."""
    if not len(blocks.cells):
        return np.zeros(len(r))
    code = r * len(blocks.sizes) + s
    at = np.minimum(np.searchsorted(blocks.cells, code), len(blocks.cells) - 1)
    return np.where(blocks.cells[at] == code, blocks.counts[at], 0.0)


def _present(graph: Graph, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each pair is an edge, and its place in `indices`."""
    n = graph.n_nodes
    if not len(graph.indices):
        return np.zeros(len(u), bool), np.zeros(len(u), np.int64)
    source = np.repeat(np.arange(n), np.diff(graph.indptr))
    codes = source * n + graph.indices  # increasing: rows are sorted
    at = np.minimum(np.searchsorted(codes, u * n + v), len(codes) - 1)
    return codes[at] == u * n + v, at


def _score(
    objective: str, graph: Graph, blocks: _Blocks, u: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the leave-one-out probabilities of one partition."""
    here, at = _present(graph, u, v)
    a = here.astype(np.float64)
    if graph.directed and objective != "directed":
        a = a + _present(graph, v, u)[0]
    r, s = blocks.labels[u], blocks.labels[v]
    count = _cell_counts(blocks, r, s)
    same = r == s
    if objective in ("simple", "directed", "weighted"):
        if objective == "weighted" and graph.weights is not None:
            a = np.where(here, graph.weights[at], 0.0) if len(graph.weights) else a
        ordered = objective == "directed"
        if not ordered:
            count = np.where(same, count / 2, count)
        pairs = _pairs(blocks, r, s, ordered)
        rate = (count - a + _density(graph, blocks, ordered)) / np.maximum(pairs, 1.0)
        return np.asarray(-np.expm1(-rate) if objective == "weighted" else rate)
    double = np.where(same, 2.0, 1.0)  # an inner edge has both ends in the block
    ends = max(float(blocks.degrees.sum()), 1.0)
    leaving = np.where(same, 2 * a, a)
    expected = (blocks.block_degrees[r] - leaving) * (blocks.block_degrees[s] - leaving)
    affinity = (count - double * a + PRIOR_EDGES) / (np.maximum(expected, 0.0) / ends + PRIOR_EDGES)
    t_u = np.maximum(blocks.degrees[u] - a, 0.0) + PRIOR_DEGREE
    t_v = np.maximum(blocks.degrees[v] - a, 0.0) + PRIOR_DEGREE
    return np.asarray(-np.expm1(-t_u * t_v / ends * affinity))


def _pairs(blocks: _Blocks, r: np.ndarray, s: np.ndarray, ordered: bool) -> np.ndarray:
    n = blocks.sizes
    inner = n[r] * (n[r] - 1) * (1.0 if ordered else 0.5)
    return np.asarray(np.where(r == s, inner, n[r] * n[s]))


def _density(graph: Graph, blocks: _Blocks, ordered: bool) -> float:
    """Return the edges (or weight) per pair of the whole graph."""
    n = graph.n_nodes
    pairs = n * (n - 1) * (1.0 if ordered else 0.5)
    total = float(blocks.counts.sum()) * (1.0 if ordered else 0.5)
    return total / max(pairs, 1.0)


def _best_absent(
    objective: str, graph: Graph, blocks: _Blocks, count: int
) -> list[tuple[int, int]]:
    """Return the best absent pairs of one partition, by a heap over the pairs of blocks.

    Inside a pair of blocks the score falls with the degrees, so nodes sorted by degree give the
    pairs in the right order and only the best ones are ever looked at. With Bernoulli cells all
    pairs of a cell are equal, and the degrees only decide their order.
    """
    k = len(blocks.sizes)
    order = np.lexsort((np.arange(graph.n_nodes), -blocks.degrees, blocks.labels))
    begin = np.concatenate([[0], np.cumsum(blocks.sizes)]).astype(np.int64)
    members = [order[begin[r] : begin[r + 1]].tolist() for r in range(k)]
    first, second, value = _cell_values(objective, graph, blocks, members)
    degree = blocks.degrees + PRIOR_DEGREE
    plain = objective in ("simple", "directed", "weighted")
    ordered = objective == "directed"
    indptr = graph.indptr.tolist()
    both = graph.directed and not ordered

    def key(cell: int, i: int, j: int) -> tuple[float, float, int, int, int]:
        a, b = members[first[cell]][i], members[second[cell]][j]
        product = float(degree[a] * degree[b])
        return (
            -float(value[cell]) * (1.0 if plain else product),
            -product,
            int(cell),
            i,
            j,
        )

    def is_edge(a: int, b: int) -> bool:
        at = bisect_left(graph.indices, b, indptr[a], indptr[a + 1])
        return at < indptr[a + 1] and bool(graph.indices[at] == b)

    top = np.array([degree[m[0]] if m else 0.0 for m in members])
    best = value if plain else value * top[first] * top[second]  # of the best pair of each cell
    ranked = np.argsort(-best, kind="stable")
    heap: list[tuple[float, float, int, int, int]] = []
    following = 0
    found: list[tuple[int, int]] = []
    while len(found) < count:
        while following < len(ranked) and (
            not heap or best[ranked[following]] >= -heap[0][0] * (1 - 1e-12)
        ):
            heapq.heappush(heap, key(int(ranked[following]), 0, 0))
            following += 1
        if not heap:
            break
        _, _, cell, i, j = heapq.heappop(heap)
        left, right = members[first[cell]], members[second[cell]]
        # Each (i, j) is pushed once: to the right always, downwards from the first column only.
        if j + 1 < len(right):
            heapq.heappush(heap, key(cell, i, j + 1))
        if j == 0 and i + 1 < len(left):
            heapq.heappush(heap, key(cell, i + 1, 0))
        a, b = left[i], right[j]
        if a == b or is_edge(a, b) or (both and is_edge(b, a)):
            continue
        if not ordered and first[cell] == second[cell] and i > j:
            continue  # the same pair in the other order
        found.append((a, b) if ordered or a < b else (b, a))
    return found


def _cell_values(
    objective: str, graph: Graph, blocks: _Blocks, members: list[list[int]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs of blocks and the score of an absent pair in them.

    For degree correction, the rate per unit of the product of degrees.
    """
    k = len(blocks.sizes)
    ordered = objective == "directed"
    if k * k <= _MOST_CELLS:
        first, second = (side.ravel() for side in np.indices((k, k)))
    else:
        first, second = blocks.cells // k, blocks.cells % k
    filled = np.array([len(m) > 0 for m in members], bool)
    keep = filled[first] & filled[second]
    if not ordered:
        keep &= first <= second
    first, second = first[keep], second[keep]
    count = _cell_counts(blocks, first, second)
    if objective in ("simple", "directed", "weighted"):
        if not ordered:
            count = np.where(first == second, count / 2, count)
        pairs = _pairs(blocks, first, second, ordered)
        value = (count + _density(graph, blocks, ordered)) / np.maximum(pairs, 1.0)
        return first, second, np.asarray(-np.expm1(-value) if objective == "weighted" else value)
    ends = max(float(blocks.degrees.sum()), 1.0)
    expected = blocks.block_degrees[first] * blocks.block_degrees[second] / ends
    return first, second, (count + PRIOR_EDGES) / (expected + PRIOR_EDGES) / ends
