"""Path lengths, exact up to a size and sampled above it; betweenness, PageRank, inequality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coterie.base.randomness import as_generator
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.graphs.paths import SOURCES, dependencies, distance_counts

EXACT_WORK = 1 << 36  # nodes times degree sum: about 20 s on one core
SAMPLED_SOURCES = 2048
_LONG = 1000  # if the first sources have longer paths, a sample is measured as well
_SAMPLE_SEED = 0  # fixed: the result depends on the graph alone


@dataclass(frozen=True, eq=False)
class PathLengths:
    """Distances between connected pairs of nodes."""

    counts: np.ndarray  # int64: ordered pairs at distance 0, 1, 2 … (0: the sources)
    exact: bool
    interval: tuple[float, float]  # 95 %; both ends are equal if exact

    @property
    def mean(self) -> float:
        """Average path length; 0 if no two nodes are connected."""
        return _mean_distance(self.counts)

    @property
    def longest(self) -> int:
        """The longest distance seen."""
        return len(self.counts) - 1


def path_lengths(
    graph: Graph, engine: Engine | None = None, *, sources: int | None = None
) -> PathLengths:
    """Measure distances from all nodes, or from `sources` random ones (default: from the size).

    >>> path_lengths(Graph.from_edges([0, 1], [1, 2])).counts
    array([3, 4, 2])
    """
    n = graph.n_nodes
    if sources is None and n * len(graph.indices) > EXACT_WORK:
        sources = SAMPLED_SOURCES
    exact = sources is None or sources >= n
    chosen = np.arange(n) if exact else as_generator(_SAMPLE_SEED).permutation(n)[:sources]
    batches = [chosen[i : i + SOURCES] for i in range(0, len(chosen), SOURCES)]

    def batch(starts: np.ndarray) -> np.ndarray:
        return np.asarray(distance_counts(graph.indptr, graph.indices, starts))

    parts = []
    if exact and n > SAMPLED_SOURCES and sources is None:
        parts = [batch(batches[0])]
        if len(parts[0]) > _LONG:  # a work of all pairs, which bits do not save
            return path_lengths(graph, engine, sources=SAMPLED_SOURCES)
    parts += (engine or LocalEngine(1)).map(batch, batches[len(parts) :])
    counts = np.zeros(max((len(p) for p in parts), default=1), np.int64)
    for part in parts:
        counts[: len(part)] += part
    mean = _mean_distance(counts)
    half = 0.0 if exact else _half_width(parts, mean)
    return PathLengths(counts, exact, (mean - half, mean + half))


def _mean_distance(counts: np.ndarray) -> float:
    pairs = counts[1:].sum()
    return float((np.arange(len(counts)) * counts).sum() / pairs) if pairs else 0.0


def _half_width(parts: list[np.ndarray], mean: float) -> float:
    """Return half the 95 % interval of (sum of distances) / (pairs), from the batches."""
    sums = np.array([(np.arange(len(p)) * p).sum() for p in parts], np.float64)
    pairs = np.array([p[1:].sum() for p in parts], np.float64)
    if len(parts) < 2 or not pairs.sum():
        return float("inf")
    spread = np.std(sums - mean * pairs, ddof=1) * np.sqrt(len(parts)) / pairs.sum()
    return float(1.96 * spread)


# Sources are sampled so that sources times degree sum is about this: 10 s on one core
BETWEENNESS_WORK = 1 << 30
_FEWEST_SOURCES = 32
_BATCHES = 16  # fixed, so that sums do not depend on the number of threads
_SAMPLE_SEED = 0
_DAMPING = 0.85
_PAGERANK_STEPS = 100


class Betweenness(NamedTuple):
    """Share of the shortest paths through a node: the largest, and the inequality."""

    largest: float  # of all pairs of other nodes, the share whose shortest paths pass
    gini: float
    sources: int  # nodes from which paths were followed; all nodes if exact


def betweenness(
    graph: Graph, engine: Engine | None = None, *, work: int = BETWEENNESS_WORK
) -> Betweenness:
    """Measure betweenness from all nodes, or from a sample of sources in large graphs.

    >>> betweenness(Graph.from_edges([0, 0, 0], [1, 2, 3]))
    Betweenness(largest=1.0, gini=0.75, sources=4)
    """
    sources = max(work // max(len(graph.indices), 1), _FEWEST_SOURCES)
    values, used = betweenness_of_nodes(graph, sources, engine)
    return Betweenness(float(values.max(initial=0.0)), gini(values), used)


def betweenness_of_nodes(
    graph: Graph, sources: int, engine: Engine | None = None
) -> tuple[np.ndarray, int]:
    """Return the betweenness of every node (0 to 1) and the number of sources used."""
    n = graph.n_nodes
    sources = min(sources, n)
    chosen = as_generator(_SAMPLE_SEED).permutation(n)[:sources]

    def batch(starts: np.ndarray) -> np.ndarray:
        return np.asarray(dependencies(graph.indptr, graph.indices, starts))

    parts = (engine or LocalEngine(1)).map(batch, np.array_split(chosen, _BATCHES))
    pairs = sources / max(n, 1) * max((n - 1) * (n - 2), 1)
    return np.sum(parts, axis=0) / max(pairs, 1.0), sources


def pagerank(graph: Graph) -> np.ndarray:
    """Return PageRank with damping 0.85; a node without edges passes its rank to everybody.

    >>> pagerank(Graph.from_edges([0], [1])).tolist()
    [0.5, 0.5]
    """
    n = max(graph.n_nodes, 1)
    degrees = graph.degrees
    matrix = graph.csr
    matrix.data = np.ones(len(graph.indices))
    rank = np.full(graph.n_nodes, 1 / n)
    for _ in range(_PAGERANK_STEPS):
        passed = np.divide(rank, degrees, out=np.zeros(graph.n_nodes), where=degrees > 0)
        stuck = rank[degrees == 0].sum()
        rank_before, rank = rank, _DAMPING * (matrix @ passed + stuck / n) + (1 - _DAMPING) / n
        if np.abs(rank - rank_before).sum() < 1e-10:
            break
    return np.asarray(rank)


def gini(values: np.ndarray) -> float:
    """Return the Gini coefficient: 0 if all values are equal, near 1 if one node has everything.

    >>> gini(np.array([1.0, 1.0, 1.0])), gini(np.array([0.0, 0.0, 0.0, 1.0]))
    (0.0, 0.75)
    """
    n, total = len(values), float(values.sum())
    if not n or total <= 0:
        return 0.0
    ranks = np.arange(1, n + 1)
    return float(2 * (ranks * np.sort(values)).sum() / (n * total) - (n + 1) / n)
