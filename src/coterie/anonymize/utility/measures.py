"""Measures of one graph, and the comparison of two graphs (`coterie compare`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from coterie.anonymize.figures import Private
from coterie.anonymize.published_graph import PublishedGraph
from coterie.anonymize.utility.communities import modularity
from coterie.anonymize.utility.community_utility import (
    CommunityFigures,
    CommunityUtility,
    assess_communities,
    community_figures,
    independent_communities,
)
from coterie.anonymize.utility.paths import path_lengths
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.graphs.triangles import core_numbers, triangles

_SPECTRUM = 20
# Relative residual of the eigenvectors, by the number of edges up to which it is used. The largest
# eigenvalues converge first: on a planted graph with a million edges the first three had the same
# eight digits with all three residuals.
# The eigenvalues of a long path are so close together that they hardly converge: after this many
# restarts (other networks need one or two; fewer are tried in large graphs, where each takes a
# second) the largest residual is used.
_RESTARTS, _FEWEST_RESTARTS, _RESTART_WORK = 100, 10, 2_000_000
_RESIDUALS = ((250_000, 1e-6), (2_000_000, 1e-3), (math.inf, 1e-2))


class DegreeBin(NamedTuple):
    """Clustering of the nodes whose degree is at least `degree_from` and less than twice that."""

    degree_from: int
    nodes: int
    clustering: float  # mean local clustering


@dataclass(frozen=True, repr=False)
class ScalarMeasures(Private):
    """The measures of a graph that are one number each.

    Means over several draws are not integers, so counts are `float` here.
    """

    nodes: float
    edges: float
    average_path_length: float
    diameter: float  # the longest distance seen: exact if all paths were measured
    global_clustering: float
    average_local_clustering: float
    degree_mean: float
    degree_max: float
    assortativity: float
    isolates: float
    largest_component: float  # share of the nodes
    core_max: float
    modularity: float | None  # of the blocks, if there are blocks
    # Communities found without the blocks; None if they were not looked for
    community_modularity: float | None
    communities: float | None  # with at least two nodes
    communities_for_half: float | None  # how many of the largest contain half of all nodes
    largest_community: float | None  # share of the nodes


@dataclass(frozen=True, repr=False)
class Measures(ScalarMeasures):
    """All measures of one graph."""

    nodes: int
    edges: int
    diameter: int
    degree_max: int
    isolates: int
    core_max: int
    communities: int | None
    communities_for_half: int | None
    path_length_interval: tuple[float, float]  # 95 %; both ends are equal if exact
    spectrum: list[float] = field(default_factory=list)  # largest eigenvalues, falling
    distances: list[int] = field(default_factory=list)  # node pairs at distance 1, 2, …
    clustering_by_degree: list[DegreeBin] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Comparison(Private):
    """The measures of two graphs and the distance between their degree distributions."""

    original: Measures
    published: Measures
    degree_ks: float  # Kolmogorov-Smirnov distance
    communities: CommunityUtility | None = None  # compared, if it is known who is who


def measure(
    graph: Graph,
    engine: Engine | None = None,
    *,
    blocks: np.ndarray | None = None,
    eigenvalues: int = _SPECTRUM,
) -> Measures:
    """Measure a graph exactly; path lengths of large graphs are sampled, with an interval.

    Communities are not looked for; `with_communities` adds their figures.

    >>> m = measure(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> m.global_clustering, round(m.average_path_length, 3), m.diameter
    (0.6, 1.333, 2)
    """
    degrees, counts = graph.degrees, triangles(graph.indptr, graph.indices)
    paths = path_lengths(graph, engine)
    wedges = (degrees * (degrees - 1) // 2).sum()
    return Measures(
        nodes=graph.n_nodes,
        edges=graph.n_edges,
        average_path_length=paths.mean,
        path_length_interval=paths.interval,
        diameter=paths.longest,
        global_clustering=float(counts.sum() / wedges) if wedges else 0.0,
        average_local_clustering=_mean(local_clustering(degrees, counts)),
        degree_mean=_mean(degrees),
        degree_max=int(degrees.max(initial=0)),
        assortativity=assortativity(graph),
        isolates=int((degrees == 0).sum()),
        largest_component=largest_component(graph),
        core_max=int(core_numbers(graph.indptr, graph.indices).max(initial=0)),
        modularity=None if blocks is None else modularity(graph, blocks),
        community_modularity=None,
        communities=None,
        communities_for_half=None,
        largest_community=None,
        spectrum=spectrum(graph, eigenvalues) if eigenvalues else [],
        distances=paths.counts[1:].tolist(),
        clustering_by_degree=clustering_by_degree(degrees, counts),
    )


def with_communities(measures: Measures, figures: CommunityFigures) -> Measures:
    """Return the measures with the figures of independent communities."""
    return replace(measures, **figures._asdict())


def largest_component(graph: Graph) -> float:
    """Return the share of the nodes in the largest connected component; 0 without nodes."""
    piece = connected_components(graph.csr, directed=False)[1]
    return float(np.bincount(piece).max() / len(piece)) if len(piece) else 0.0


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else 0.0


def local_clustering(degrees: np.ndarray, triangle_counts: np.ndarray) -> np.ndarray:
    """Return, per node, the share of its pairs of neighbours that are connected (0 if none)."""
    pairs = degrees * (degrees - 1) / 2
    shares = np.zeros(len(pairs))
    np.divide(triangle_counts, pairs, out=shares, where=pairs > 0)
    return shares


def assortativity(graph: Graph) -> float:
    """Return the correlation of the degrees at the two ends of an edge; 0 if all are equal.

    >>> assortativity(Graph.from_edges([0, 0, 0], [1, 2, 3]))
    -1.0
    """
    degrees = graph.degrees.astype(np.float64)
    here, there = np.repeat(degrees, graph.degrees), degrees[graph.indices]
    if not len(here) or here.std() == 0:
        return 0.0
    centred = here - here.mean()
    return float(round((centred * (there - here.mean())).mean() / (centred**2).mean(), 12))


def spectrum(graph: Graph, count: int = _SPECTRUM) -> list[float]:
    """Return the largest eigenvalues of the adjacency matrix, largest first."""
    if graph.n_nodes <= 2 * count or not graph.n_edges:
        values = np.linalg.eigvalsh(graph.csr.toarray()) if graph.n_nodes else np.empty(0)
    else:
        start = np.ones(graph.n_nodes) / np.sqrt(graph.n_nodes)
        restarts = int(np.clip(_RESTART_WORK // graph.n_nodes, _FEWEST_RESTARTS, _RESTARTS))
        basis = min(4 * count, graph.n_nodes)  # large: those of random graphs are close together
        attempts = [(basis, eigenvalue_tolerance(graph)), (basis, _RESIDUALS[-1][1])]
        values = extreme_eigenvalues(graph, count, "LA", start, restarts, attempts)
    return [float(v) for v in np.sort(values)[::-1][:count]]


def extreme_eigenvalues(
    graph: Graph,
    count: int,
    which: str,
    start: np.ndarray,
    restarts: int,
    attempts: Sequence[tuple[int, float]],
) -> np.ndarray:
    """Return eigenvalues of one end of the spectrum; `attempts` are sizes of a basis and residuals.

    The first attempt that converges counts; if none does, what the last one found.
    """
    for basis, tolerance in attempts:
        try:
            values = eigsh(
                graph.csr,
                count,
                which=which,
                v0=start,
                ncv=basis,
                maxiter=restarts,
                tol=tolerance,
                return_eigenvectors=False,
            )
            break
        except ArpackNoConvergence as stopped:
            values = stopped.eigenvalues
    return np.asarray(values)


def eigenvalue_tolerance(graph: Graph) -> float:
    """Return the relative residual at which eigenvalues of a graph of this size are accepted."""
    return next(tolerance for most, tolerance in _RESIDUALS if graph.n_edges <= most)


def clustering_by_degree(degrees: np.ndarray, triangle_counts: np.ndarray) -> list[DegreeBin]:
    """Return the mean local clustering per degree bin (2-3, 4-7, 8-15, …)."""
    local = local_clustering(degrees, triangle_counts)
    bins = np.floor(np.log2(np.maximum(degrees, 1))).astype(np.int64)
    return [
        DegreeBin(int(2**b), int((bins == b).sum()), float(local[bins == b].mean()))
        for b in np.unique(bins[degrees >= 2])
    ]


def degree_ks(first: Graph, second: Graph) -> float:
    """Return the Kolmogorov-Smirnov distance of the two degree distributions.

    >>> degree_ks(Graph.from_edges([0], [1]), Graph.from_edges([0], [1], n_nodes=4))
    0.5
    """
    return ks_distance(first.degrees, second.degrees)


def ks_distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Kolmogorov-Smirnov distance: the largest difference of distribution functions."""
    at = np.unique(np.concatenate([one, other]))
    shares = [
        np.searchsorted(np.sort(values), at, side="right") / max(len(values), 1)
        for values in (one, other)
    ]
    return float(np.abs(shares[0] - shares[1]).max(initial=0.0))


def compare(
    original: Graph,
    published: Graph,
    engine: Engine | None = None,
    *,
    identity: np.ndarray | None = None,
) -> Comparison:
    """Measure two graphs and the distance between their degree distributions.

    With `identity` (the published node of each original node) their communities are compared too.
    """
    communities = None
    if identity is None:
        graphs = [original, published]
        found = (engine or LocalEngine(1)).map(independent_communities, graphs)
        figures = [community_figures(g, labels) for g, labels in zip(graphs, found, strict=True)]
    else:
        communities = assess_communities(original, [PublishedGraph(published, identity)], engine)
        figures = [communities.original, communities.draws[0].figures]
    return Comparison(
        with_communities(measure(original, engine), figures[0]),
        with_communities(measure(published, engine), figures[1]),
        degree_ks(original, published),
        communities,
    )
