"""Probabilities of edges from a clustering: leave-one-out scores, and the most likely absent pairs.

A pair (u, v) in the blocks r and s is scored with the statistics of all other pairs, so a present
edge does not vote for itself (a = 1 if the pair is present):

    simple, directed    p = (d_rs - a + rho) / (D_rs - 1 + 1), d edges over D pairs
    weighted            p = 1 - exp(-rate), rate = (W_rs - w + rho) / (D_rs - 1 + 1)
    all others          p = 1 - exp(-rate), degree-corrected:
                        rate = t_u t_v / 2m * (e_rs - a + C) / (K_r K_s / 2m + C)
                        with t_u = k_u - a + A

With closure, the probability also uses the common neighbours w of u and v:

    logit p = b_0 + b_1 log rate + b_2 log(t_u t_v) + b_3 log(1 + sum over w of 1 / log k_w)

The weights are fitted by logistic regression to edges of the graph itself and to absent pairs.
An edge is no common neighbour of its own ends, and rate and t leave it out, so all of it is
leave-one-out. b_1 and b_3 are not negative.

rho is the density (or mean weight) of the whole graph: one pair of prior knowledge. C and A are
prior counts of edges between two blocks and at a node; without edges in the cell the rate is that
of a random graph with these degrees. docs/benchmarks/links.md says how C and A were chosen.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from coterie.data import Graph
from coterie.kernels.graphs.triangles import best_two_steps, shared_weight

PRIOR_EDGES = 0.3  # C: edges per pair of blocks
PRIOR_DEGREE = 0.5  # A: edges per node
_MOST_CELLS = 4_000_000  # up to here, pairs of blocks without edges are candidates too


_TRAINING = 20_000  # edges, and absent pairs, to which the weights of closure are fitted
_FEWEST = 20  # edges; below, closure is not used
_RIDGE = 1e-2  # keeps the weights finite if edges and absent pairs are separable
_CENTRE = 500  # nodes with more neighbours are not used to find candidates
_CANDIDATES = 5_000  # best pairs per partition, and 10 times as many by common neighbours, at least


class Closure(NamedTuple):
    """The weights of the rate of the blocks, of the degrees and of common neighbours."""

    intercept: float
    blocks: float
    degrees: float
    neighbours: float


class _Blocks(NamedTuple):
    """The statistics of one partition; edges inside a block are counted in both directions."""

    labels: np.ndarray
    sizes: np.ndarray
    cells: np.ndarray  # sorted codes r * k + s of the pairs of blocks with edges
    counts: np.ndarray  # edges (or weight) of these pairs
    degrees: np.ndarray  # per node
    block_degrees: np.ndarray  # per block


class LinkScores:
    """Scores of pairs of nodes, averaged over partitions (label arrays)."""

    def __init__(
        self,
        objective: str,
        graph: Graph,
        partitions: Sequence[np.ndarray],
        *,
        closure: bool = True,
    ) -> None:
        self.objective, self.graph = objective, graph
        self.blocks = [_count(objective, graph, labels) for labels in partitions]
        self.closure = self._fit_closure() if closure else None

    def score(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the probability of each pair."""
        p = self._block_scores(u, v)
        if self.closure is not None:
            logit = self._features(p, u, v) @ np.array(self.closure)
            p = 1 / (1 + np.exp(-np.clip(logit, -700, 700)))
        return np.where(u == v, 0.0, p)

    def most_likely(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends and scores of the absent pairs with the highest scores.

        The candidates are the best pairs of each partition and, with closure, those with the most
        common neighbours.
        """
        found: set[tuple[int, int]] = set()
        wanted = count if self.closure is None else max(_CANDIDATES, count)
        for blocks in self.blocks:
            found.update(_best_absent(self.objective, self.graph, blocks, wanted))
        if self.closure is not None:
            rows = self._both_ways
            near = best_two_steps(rows.indptr, rows.indices, self._weight, _CENTRE, 10 * wanted)
            found.update(zip(*(ends.tolist() for ends in near), strict=True))
            if self.objective == "directed":
                found.update((b, a) for a, b in list(found))
        pairs = np.array(sorted(found), np.int64).reshape(-1, 2)
        pairs = pairs[~_present(self.graph, pairs[:, 0], pairs[:, 1])[0]]
        scores = self.score(pairs[:, 0], pairs[:, 1])
        best = np.argsort(-scores, kind="stable")[:count]
        return pairs[best, 0], pairs[best, 1], scores[best]

    def _block_scores(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        scores = [_score(self.objective, self.graph, blocks, u, v) for blocks in self.blocks]
        return np.asarray(np.mean(scores, axis=0))

    @cached_property
    def _both_ways(self) -> Graph:
        """The graph without directions."""
        if not self.graph.directed:
            return self.graph
        return Graph.from_edges(*self.graph.edges(), n_nodes=self.graph.n_nodes)

    @cached_property
    def _weight(self) -> np.ndarray:
        """What a node counts as a common neighbour (Adamic & Adar, 2003)."""
        return np.asarray(1 / np.log(np.maximum(self._both_ways.degrees, 2)))

    def _features(self, p: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the columns of the regression: 1, log rate, log degrees, log common neighbours."""
        rows = self._both_ways
        rate = -np.log1p(-np.minimum(p, 1 - 1e-12))
        near = shared_weight(rows.indptr, rows.indices, self._weight, u, v)
        a = _present(rows, u, v)[0]
        t_u, t_v = (rows.degrees[side] - a + PRIOR_DEGREE for side in (u, v))
        return np.column_stack(
            [np.ones(len(u)), np.log(np.maximum(rate, 1e-300)), np.log(t_u * t_v), np.log1p(near)]
        )

    def _fit_closure(self) -> Closure | None:
        """Fit the weights to edges and absent pairs of the graph; None for a tiny graph."""
        graph, n = self.graph, self.graph.n_nodes
        rng = np.random.default_rng(0)
        source, target = (ends.astype(np.int64) for ends in graph.edges())
        some = np.sort(rng.permutation(len(source))[:_TRAINING])
        u, v = rng.integers(0, n, (2, _TRAINING)) if n else np.empty((2, 0), np.int64)
        absent = (u != v) & ~_present(graph, u, v)[0]
        if len(some) < _FEWEST or absent.sum() < _FEWEST:
            return None
        u, v = np.concatenate([source[some], u[absent]]), np.concatenate([target[some], v[absent]])
        present = np.arange(len(u)) < len(some)
        columns = self._features(self._block_scores(u, v), u, v)
        weights = _logistic(columns, present)
        if weights[3] < 0:  # fewer triangles than by chance: do not use them
            weights = np.append(_logistic(columns[:, :3], present), 0.0)
        if weights[1] < 0:
            return None
        # Both kinds were sampled: restore the odds of the whole graph.
        possible = n * (n - 1) / (1 if self.objective == "directed" else 2) - len(source)
        odds = np.log(len(source) / len(some)) - np.log(max(possible, 1.0) / absent.sum())
        weights[0] += odds
        return Closure(*weights.tolist())


def _logistic(columns: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression by Newton's method; the first is constant."""
    weights = np.zeros(columns.shape[1])
    ridge = _RIDGE * np.eye(len(weights))
    ridge[0, 0] = 1e-9
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(columns @ weights, -700, 700)))
        slope = columns.T @ (present - p) - ridge @ weights
        curvature = (columns * np.maximum(p * (1 - p), 1e-9)[:, None]).T @ columns + ridge
        step = np.linalg.solve(curvature, slope)
        weights = weights + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-8:
            break
    return weights


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
