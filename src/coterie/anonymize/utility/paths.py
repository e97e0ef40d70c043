"""Path lengths: exact up to a size, from a sample of source nodes above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.base.randomness import as_generator
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.graphs.paths import SOURCES, distance_counts

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
