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

With closure, the probability is learned from the graph itself (`_learned`): a tenth of the edges is
removed, the blocks are adapted to the rest, and a logistic regression learns to tell the removed
edges from all other absent pairs, at their real ratio: all pairs that can be near the top of the
list, and a sample of the others that counts for all of them. Its columns are the rate of the
blocks, the degrees, the common neighbours (counted as by Adamic & Adar and by Zhou, Lu & Zhang),
the value of the pair in an approximation of the adjacency matrix of low rank, and the squares of
all. Other removals turn its scores into probabilities (how many of the pairs with such a score were
removed edges), and further ones measure whether these are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from coterie.base.lazy_modules import scipy_optimize, scipy_sparse
from coterie.data import Graph
from coterie.kernels.graphs.triangles import best_two_steps, shared_weight

PRIOR_EDGES = 0.3  # C: edges per pair of blocks
PRIOR_DEGREE = 0.5  # A: edges per node
MISSING = 0.1  # share of the edges that are assumed to be missing
_COMPARED = 1000  # nodes whose pairs the block model ranks
_FEWEST = 50  # edges; below, nothing is learned
_ENOUGH = 3000  # removed edges to learn from; small graphs repeat the removal
_REPEATS = (3, 12)  # minimum and maximum number of removals
_RANDOM = 20_000  # absent pairs that stand for all that are no candidates
_RIDGE = 1e-2  # keeps the weights finite if edges and absent pairs are separable
_CENTRE = 500  # nodes with more neighbours are not used to find candidates
_CANDIDATES = 5_000  # per partition and by common neighbours, at least
_MOST_CANDIDATES = 100_000
_RANK = 64
_PLAIN = ("simple", "directed", "weighted")  # objectives without degree correction
_LARGE = 2_000_000  # edges, above which the rank is lower
_BIN = 30  # removed edges in the first bin of the calibration
_GROWTH = 1.3  # of the bins, from the top downwards
_MOST_CERTAIN = 0.998  # of being connected in truth
_SHOWN = 1000  # pairs at the top of which the calibration is measured
_CURVE = 10  # bins of them
_TRAINED = 3  # partitions that are adapted to a removal, at most

Refit = Callable[[Graph, np.ndarray], np.ndarray]


class CalibrationBin(NamedTuple):
    """Pairs of similar probability among the most likely ones, when edges were removed to see."""

    pairs: int
    predicted: float  # mean probability
    observed: float  # share of them that were removed edges


class PredictedLinks(list[tuple[Any, Any, float]]):
    """Absent pairs with the highest probabilities: (node, node, probability), the best first.

    Attributes
    ----------
    calibration : list of CalibrationBin
        Bins of the most likely pairs when a tenth of the edges was removed to see: the mean
        probability, and the share of removed edges. Empty if the graph has fewer than 50 edges.
    """

    def __init__(
        self, links: Iterable[tuple[Any, Any, float]], calibration: list[CalibrationBin]
    ) -> None:
        super().__init__(links)
        self.calibration = calibration

    @property
    def calibration_error(self) -> float:
        """Mean distance of predicted and observed shares; NaN without a calibration."""
        pairs = sum(one.pairs for one in self.calibration)
        apart = sum(one.pairs * abs(one.predicted - one.observed) for one in self.calibration)
        return apart / pairs if pairs else float("nan")


class _Blocks(NamedTuple):
    """The statistics of one partition; edges inside a block are counted in both directions."""

    labels: np.ndarray
    sizes: np.ndarray
    cells: np.ndarray  # sorted codes r * k + s of the pairs of blocks with edges
    counts: np.ndarray  # edges (or weight) of these pairs
    degrees: np.ndarray  # per node
    block_degrees: np.ndarray  # per block


class LinkScores:
    """Scores of pairs of nodes, averaged over partitions (label arrays).

    `refit` returns the blocks of a graph with fewer edges, given those of the whole one."""

    def __init__(
        self,
        objective: str,
        graph: Graph,
        partitions: Sequence[np.ndarray],
        *,
        closure: bool = True,
        refit: Refit | None = None,
    ) -> None:
        self.evidence = _Evidence(objective, graph, partitions)
        self.calibration: list[CalibrationBin] = []
        self.learned = None
        if closure and graph.n_edges >= _FEWEST:
            self.learned, self.calibration = _learned(self.evidence, refit)

    def score(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the probability of each pair."""
        if self.learned is None:
            p = self.evidence.block_scores(u, v)
        else:
            p = self.learned.probability(self.learned.score(self.evidence.columns(u, v)))
        return np.where(u == v, 0.0, p)

    def most_likely(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends and scores of the absent pairs with the highest scores.

        The candidates are the best pairs of each partition and, with closure, those with the most
        common neighbours."""
        if self.learned is None:
            u, v = self.evidence.candidates(count, near=False)
            scores = rank = self.score(u, v)
        else:
            u, v = self.evidence.candidates(max(_CANDIDATES, 3 * count))
            rank = self.learned.score(self.evidence.columns(u, v))
            scores = self.learned.probability(rank)
        best = np.lexsort((-rank, -scores))[:count]
        return u[best], v[best], scores[best]


class _Evidence:
    """What is known about pairs of nodes of a graph."""

    def __init__(self, objective: str, graph: Graph, partitions: Sequence[np.ndarray]) -> None:
        if graph.directed and objective != "directed":  # the objective ignores directions
            graph = Graph.from_edges(*graph.edges(), n_nodes=graph.n_nodes)
        self.objective, self.graph = objective, graph
        self.blocks = [_count(objective, graph, labels) for labels in partitions]

    def block_scores(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the probabilities of the block model."""
        scores = [_score(self.objective, self.graph, blocks, u, v) for blocks in self.blocks]
        return np.asarray(np.mean(scores, axis=0))

    @cached_property
    def _both_ways(self) -> Graph:
        """The graph without directions."""
        graph = self.graph
        return Graph.from_edges(*graph.edges(), n_nodes=graph.n_nodes) if graph.directed else graph

    @cached_property
    def _neighbour_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """What a node counts as a common neighbour: 1 / log k and 1 / k."""
        k = np.maximum(self._both_ways.degrees, 2).astype(float)
        return 1 / np.log(k), 1 / k

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Q and Q'A of the adjacency matrix A, whose rows Q Q' projects to few dimensions
        (Halko, Martinsson & Tropp 2011)."""
        n, graph = self.graph.n_nodes, self.graph
        data = (np.ones(len(graph.indices), np.float32), graph.indices, graph.indptr)
        matrix = scipy_sparse.csr_array(data, shape=(n, n))
        rank = min(_RANK if graph.n_edges <= _LARGE else _RANK // 4, max(n // 4, 1))
        basis = matrix @ np.random.default_rng(0).standard_normal((n, rank)).astype(np.float32)
        for _ in range(2):
            basis = matrix @ np.linalg.qr(matrix.T @ np.linalg.qr(basis)[0])[0]
        basis = np.linalg.qr(basis)[0]
        return basis, np.ascontiguousarray(matrix.T @ basis)

    def _low_rank(self, u: np.ndarray, v: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Return the values of pairs in the approximation, without what a present edge adds."""
        basis, image = self._factors

        def one_way(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            own = np.einsum("ij,ij->i", basis[a], basis[a]) * present
            return np.asarray(np.einsum("ij,ij->i", basis[a], image[b]) - own, np.float64)

        if self.graph.directed:
            return one_way(u, v)
        return np.asarray((one_way(u, v) + one_way(v, u)) / 2)

    def columns(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the columns of the regression without their squares."""
        rows = self._both_ways
        rate = -np.log1p(-np.minimum(self.block_scores(u, v), 1 - 1e-12))
        near = [
            shared_weight(rows.indptr, rows.indices, weight, u, v)
            for weight in self._neighbour_weights
        ]
        present = _present(self.graph, u, v)[0]
        linked = _present(rows, u, v)[0]
        t_u, t_v = (rows.degrees[side] - linked + PRIOR_DEGREE for side in (u, v))
        value = self._low_rank(u, v, present)
        return np.column_stack(
            [
                np.log(np.maximum(rate, 1e-300)),
                np.log(t_u * t_v),
                np.log1p(near[0]),
                np.log(0.01 + near[1]),
                value,
                np.log(np.maximum(value, 1e-3)),
            ]
        )

    def candidates(self, count: int, *, near: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return absent pairs that may be among the `count` most likely ones."""
        n, rows = self.graph.n_nodes, self._both_ways
        found = [_best_absent(self.objective, self.graph, one, count) for one in self.blocks]
        if near:
            found += [
                best_two_steps(rows.indptr, rows.indices, weight, _CENTRE, 3 * count)
                for weight in self._neighbour_weights
            ]
        codes = np.concatenate([u * n + v for u, v in found])
        if near and self.objective == "directed":
            codes = np.concatenate([codes, codes % n * n + codes // n])
        u, v = np.divmod(np.unique(codes), max(n, 1))
        absent = ~_present(self.graph, u, v)[0]
        return u[absent], v[absent]


class _Rows(NamedTuple):
    """Absent pairs of a graph: all that may be near the top, and a sample of the others."""

    columns: np.ndarray
    missing: np.ndarray  # whether the pair is a removed edge
    weight: np.ndarray  # how many pairs it stands for


class _Learned(NamedTuple):
    """A regression, and the probabilities that belong to its scores."""

    middle: np.ndarray
    spread: np.ndarray
    weights: np.ndarray
    knots: np.ndarray  # scores, rising
    logits: np.ndarray  # of the probabilities at the knots

    def score(self, columns: np.ndarray) -> np.ndarray:
        """Return the linear predictor of pairs."""
        return np.asarray(_with_squares(columns, self.middle, self.spread) @ self.weights)

    def probability(self, score: np.ndarray) -> np.ndarray:
        """Return the probability of each score; far below all knots it falls with the score."""
        logit = np.interp(score, self.knots, self.logits) + np.minimum(score - self.knots[0], 0)
        return np.asarray(1 / (1 + np.exp(-np.clip(logit, -700, 700))))

    def calibrated(self, curve: _Precision, rows: _Rows) -> _Learned:
        """Return the same regression with probabilities for absent pairs like `rows`: by their
        rank, because scores depend on the number of edges that a graph has."""
        score = self.score(rows.columns)
        order = np.argsort(-score, kind="stable")
        score, weight = score[order], rows.weight[order]
        rank = np.cumsum(weight) - weight / 2
        place = np.searchsorted(curve.ends, rank)
        bins = [place == number for number in range(len(curve.share))]
        held = [number for number, one in enumerate(bins) if one.any()]
        knots = [np.average(score[bins[n]], weights=weight[bins[n]]) for n in held]
        share = np.clip(curve.share[held], 1e-12, 1 - 1e-9)
        return self._replace(knots=np.array(knots[::-1]), logits=np.log(share / (1 - share))[::-1])


class _Precision(NamedTuple):
    """How many of the pairs of each range of ranks are missing edges."""

    ends: np.ndarray  # ranks up to which the bins go; the last bin has the rest
    share: np.ndarray  # of missing edges, never rising


def _learned(
    evidence: _Evidence, refit: Refit | None
) -> tuple[_Learned | None, list[CalibrationBin]]:
    """Learn from removed edges; return the result and its calibration on further removals."""
    rng = np.random.default_rng(0)
    edges = evidence.graph.n_edges
    repeats = int(np.clip(np.ceil(_ENOUGH / (MISSING * edges)), *_REPEATS))
    drawn = [_removal(evidence, refit, rng) for _ in range(repeats)]
    columns, missing, weight = _joined(drawn[0::3])
    if not 0 < missing.sum() < len(missing):
        return None, []
    middle, spread = columns.mean(axis=0), np.maximum(columns.std(axis=0), 1e-9)
    weights = _logistic(_with_squares(columns, middle, spread), missing, weight)
    plain = _Learned(middle, spread, weights, np.zeros(1), np.zeros(1))
    curve = _precision(plain, drawn[1::3])
    top = []
    for rows in drawn[2::3]:
        learned = plain.calibrated(curve, rows)
        score = learned.score(rows.columns)
        best = np.argsort(-score, kind="stable")[:_SHOWN]
        top.append(np.column_stack([learned.probability(score[best]), rows.missing[best]]))
    pairs = np.concatenate(top)
    pairs = pairs[np.argsort(-pairs[:, 0], kind="stable")]
    parts = [part for part in np.array_split(pairs, _CURVE) if len(part)]
    bins = [CalibrationBin(len(part), *map(float, part.mean(axis=0))) for part in parts]
    curve = _of_whole_graph(_precision(plain, [*drawn[1::3], *drawn[2::3]]))
    return plain.calibrated(curve, _absent_pairs(evidence, evidence.graph, rng)), bins


def _removal(evidence: _Evidence, refit: Refit | None, rng: np.random.Generator) -> _Rows:
    """Remove a share of the edges; return absent pairs of the rest."""
    graph = evidence.graph
    source, target = graph.edges()
    kept = np.ones(len(source), bool)
    kept[rng.permutation(len(source))[: max(1, round(MISSING * len(source)))]] = False
    rest = Graph.from_edges(
        source[kept],
        target[kept],
        weights=None if graph.weights is None else graph.edge_weights()[kept],
        n_nodes=graph.n_nodes,
        directed=graph.directed,
    )
    partitions = [blocks.labels.astype(np.int32) for blocks in evidence.blocks[:_TRAINED]]
    if refit is not None:
        partitions = [refit(rest, labels) for labels in partitions]
    return _absent_pairs(_Evidence(evidence.objective, rest, partitions), graph, rng)


def _absent_pairs(evidence: _Evidence, whole: Graph, rng: np.random.Generator) -> _Rows:
    """Return absent pairs at their real ratio; edges of the whole graph are missing ones."""
    n, ordered = whole.n_nodes, evidence.objective == "directed"
    count = int(np.clip(3 * MISSING * whole.n_edges, _CANDIDATES, _MOST_CANDIDATES))
    codes = np.array(evidence.candidates(count)).T @ [n, 1]
    edges = np.array(whole.edges(), np.int64)
    edges = edges[:, ~_present(evidence.graph, *edges)[0]]
    codes = np.union1d(codes, edges.T @ [n, 1])
    others = rng.integers(0, n, (2, _RANDOM))
    others = others if ordered else np.sort(others, axis=0)
    others = others[:, (others[0] != others[1]) & ~_present(whole, *others)[0]]
    extra = np.setdiff1d(others.T @ [n, 1], codes)
    absent = n * (n - 1) / (1 if ordered else 2) - evidence.graph.n_edges
    weight = np.ones(len(codes) + len(extra))
    weight[len(codes) :] = max(absent - len(codes), 0.0) / max(len(extra), 1)
    u, v = np.divmod(np.concatenate([codes, extra]), n)
    return _Rows(evidence.columns(u, v), _present(whole, u, v)[0], weight)


def _joined(parts: Sequence[_Rows]) -> _Rows:
    return _Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _with_squares(columns: np.ndarray, middle: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return a constant, the standardised columns, and their squares."""
    x = np.clip((columns - middle) / spread, -6, 6)
    return np.column_stack([np.ones(len(x)), x, x * x])


def _precision(learned: _Learned, drawn: Sequence[_Rows]) -> _Precision:
    """Return the share of missing edges by rank, of several removals together.

    The bins at the top have few missing edges, so that the top of a list is told apart."""
    ranks, found, masses = [], [], []
    for rows in drawn:
        order = np.argsort(-learned.score(rows.columns), kind="stable")
        ranks.append(np.cumsum(rows.weight[order]) - rows.weight[order] / 2)
        found.append(rows.missing[order])
        masses.append(rows.weight[order])
    rank, missing, mass = (np.concatenate(part) for part in (ranks, found, masses))
    order = np.argsort(rank, kind="stable")
    rank, missing, mass = rank[order], missing[order], mass[order]
    total = np.cumsum(missing)
    wanted = np.cumsum(_BIN * _GROWTH ** np.arange(60))
    cuts = np.searchsorted(total, wanted[wanted < total[-1] - _BIN]) + 1
    parts = np.split(np.arange(len(rank)), cuts)
    share = [(missing[part].sum() + 0.5) / (mass[part].sum() + 1) for part in parts]
    weights = np.array([mass[part].sum() for part in parts])
    falling = scipy_optimize.isotonic_regression(share, weights=weights, increasing=False).x
    return _Precision(rank[cuts - 1], falling)


def _of_whole_graph(curve: _Precision) -> _Precision:
    """Return what the precision of a graph from which edges were removed says about the whole one.

    Of all pairs with some score, let q be connected in truth, and 1 - MISSING of these be edges of
    the graph. Of the absent pairs of the graph then q MISSING are missing edges and 1 - q are not.
    When edges are removed to see, (1 - MISSING) MISSING q are found, and q MISSING others count as
    absent although they are not. The list of the whole graph does not have the removed edges."""
    odds = curve.share / (1 - curve.share)
    connected = np.minimum(odds / (MISSING + odds) / (1 - MISSING), _MOST_CERTAIN)
    missing = MISSING * connected
    ends = np.cumsum(np.diff(curve.ends, prepend=0.0) * (1 - curve.share[:-1]))
    return _Precision(ends, missing / (missing + 1 - connected))


def _logistic(columns: np.ndarray, present: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weights of a logistic regression by Newton's method; the first is constant."""
    weights = np.zeros(columns.shape[1])
    ridge = _RIDGE * np.eye(len(weights))
    ridge[0, 0] = 1e-9
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(columns @ weights, -700, 700)))
        slope = columns.T @ (weight * (present - p)) - ridge @ weights
        curvature = (columns * (weight * np.maximum(p * (1 - p), 1e-9))[:, None]).T @ columns
        step = np.linalg.solve(curvature + ridge, slope)
        weights = weights + step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-300))
        if np.abs(step).max() < 1e-8:
            break
    return weights


def _count(objective: str, graph: Graph, labels: np.ndarray) -> _Blocks:
    """Count edges between blocks without a k x k table."""
    labels = np.asarray(labels, np.int64)
    k = int(labels.max(initial=0)) + 1
    source = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    cells, cell = np.unique(labels[source] * k + labels[graph.indices], return_inverse=True)
    weights = graph.weights if objective == "weighted" else None
    counts = np.bincount(cell, weights, minlength=len(cells)).astype(np.float64)
    degrees = np.bincount(source, minlength=graph.n_nodes).astype(np.float64)
    if graph.directed:
        degrees += np.bincount(graph.indices, minlength=graph.n_nodes)
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    return _Blocks(labels, sizes, cells, counts, degrees, np.bincount(labels, degrees, minlength=k))


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
    if objective == "weighted" and graph.weights is not None and len(graph.weights):
        a = np.where(here, graph.weights[at], 0.0)
    rate = _cell_rates(objective, blocks, blocks.labels[u], blocks.labels[v], a)
    if objective not in _PLAIN:
        t_u, t_v = (np.maximum(blocks.degrees[x] - a, 0.0) + PRIOR_DEGREE for x in (u, v))
        rate = t_u * t_v * rate
    return rate if objective in ("simple", "directed") else -np.expm1(-rate)


def _cell_rates(
    objective: str, blocks: _Blocks, r: np.ndarray, s: np.ndarray, a: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return the edges (or weight) to expect of a pair in these blocks that has `a` now; with
    degree correction, per unit of the product of the degrees."""
    count, same, n = _cell_counts(blocks, r, s), r == s, blocks.sizes
    if objective not in _PLAIN:
        twice = np.where(same, 2.0, 1.0) * a  # an inner edge has both ends in the block
        ends = max(float(blocks.degrees.sum()), 1.0)
        expected = (blocks.block_degrees[r] - twice) * (blocks.block_degrees[s] - twice)
        affinity = (count - twice + PRIOR_EDGES) / (np.maximum(expected, 0.0) / ends + PRIOR_EDGES)
        return np.asarray(affinity / ends)
    once = 1.0 if objective == "directed" else 0.5
    pairs = np.where(same, n[r] * (n[r] - 1) * once, n[r] * n[s])
    density = blocks.counts.sum() * once / max(n.sum() * (n.sum() - 1) * once, 1.0)
    count = np.where(same & (objective != "directed"), count / 2, count)
    return np.asarray((count - a + density) / np.maximum(pairs, 1.0))


def _best_absent(
    objective: str, graph: Graph, blocks: _Blocks, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the absent pairs with the highest scores of one partition.

    Of a large graph, only nodes that have the most edges in their block are compared."""
    by_block = np.lexsort((-blocks.degrees, blocks.labels))
    first = np.concatenate([[0], np.cumsum(blocks.sizes)]).astype(np.int64)
    place = np.empty(graph.n_nodes, np.int64)
    place[by_block] = np.arange(graph.n_nodes) - first[blocks.labels[by_block]]
    nodes = np.sort(np.lexsort((-blocks.degrees, place))[:_COMPARED])
    pairs = ~np.eye(len(nodes), dtype=bool)
    u, v = (nodes[x] for x in np.nonzero(pairs if objective == "directed" else np.triu(pairs)))
    absent = ~_present(graph, u, v)[0]
    u, v = u[absent], v[absent]
    degrees = blocks.degrees[u] * blocks.degrees[v]  # between pairs of the same score
    best = np.lexsort((-degrees, -_score(objective, graph, blocks, u, v)))[:count]
    return u[best], v[best]
