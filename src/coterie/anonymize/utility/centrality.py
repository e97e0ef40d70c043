"""Betweenness and PageRank, and how unequally they are distributed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.base.randomness import as_generator
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.graphs.paths import dependencies

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
