"""The measures of `coterie compare --full`: what a release is not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coterie.anonymize.figures import FURTHER_MEASURES, FigureRow, Private
from coterie.anonymize.utility.graphlets import Graphlets, count_graphlets
from coterie.anonymize.utility.measures import (
    Comparison,
    Measures,
    compare,
    eigenvalue_tolerance,
    extreme_eigenvalues,
)
from coterie.anonymize.utility.paths import (
    BETWEENNESS_WORK,
    Betweenness,
    betweenness,
    gini,
    pagerank,
)
from coterie.anonymize.utility.resilience import (
    CutPoints,
    EpidemicSize,
    Robustness,
    cut_points,
    epidemic_sizes,
    epidemic_threshold,
    robustness,
)
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.graphs.triangles import core_numbers

_EFFECTIVE = 0.9  # share of the connected pairs within the effective diameter
_RESTARTS, _LARGE_BASIS = 100, 80  # of the search for an eigenvalue


class Cores(NamedTuple):
    """The core decomposition. The k-core is what remains if nodes of degree < k are removed."""

    mean: float  # core number of a node
    innermost: int  # the largest core number
    innermost_nodes: int  # nodes with this core number
    nodes_by_core: list[int]  # nodes with core number 0, 1, 2 …


@dataclass(frozen=True, repr=False)
class FullMeasures(Private):
    """Further measures of one graph."""

    graphlets: Graphlets
    cores: Cores
    betweenness: Betweenness
    pagerank_gini: float
    robustness: Robustness
    epidemic: list[EpidemicSize]
    cut_points: CutPoints
    degree_second_moment: float
    pendants: int  # nodes with one edge
    effective_diameter: float  # 90 % of the connected pairs are at most this far apart
    largest_eigenvalue: float
    smallest_eigenvalue: float


@dataclass(frozen=True, repr=False)
class FullComparison(Private):
    """All measures of two graphs."""

    basic: Comparison
    original: FullMeasures
    published: FullMeasures


def full_rows(original: FullMeasures, published: list[FullMeasures]) -> list[FigureRow]:
    """List the further measures of the original next to those of the published graphs."""
    rows = []
    for figure in FURTHER_MEASURES:
        before, after = figure.of(original), _mean([figure.of(m) for m in published])
        rows.append(FigureRow(figure, before, after, figure.keeps(before, after)))
    return rows


def _mean(values: list[float]) -> float:
    """Return the mean; a single count stays an integer."""
    return values[0] if len(values) == 1 else float(np.mean(values))


def measure_fully(
    graph: Graph,
    measures: Measures,
    threshold: float,
    engine: Engine | None = None,
    *,
    betweenness_work: int = BETWEENNESS_WORK,
    callback: Callback = silent,
) -> FullMeasures:
    """Take the further measures of a graph.

    `threshold` is the original's epidemic threshold, `betweenness_work` the number of edge visits
    after which betweenness is sampled.
    """
    steps = 4
    callback(Progress("graphlets", 0, steps))
    graphlets = count_graphlets(graph, engine)
    callback(Progress("betweenness", 1, steps))
    centrality = betweenness(graph, engine, work=betweenness_work)
    callback(Progress("robustness", 2, steps))
    curve = robustness(graph, engine)
    callback(Progress("epidemics", 3, steps))
    epidemic = epidemic_sizes(graph, threshold, engine)
    degrees = graph.degrees.astype(np.float64)
    return FullMeasures(
        graphlets=graphlets,
        cores=cores(graph),
        betweenness=centrality,
        pagerank_gini=gini(pagerank(graph)),
        robustness=curve,
        epidemic=epidemic,
        cut_points=cut_points(graph),
        degree_second_moment=float((degrees**2).mean()) if len(degrees) else 0.0,
        pendants=int((degrees == 1).sum()),
        effective_diameter=effective_diameter(measures.distances),
        largest_eigenvalue=measures.spectrum[0] if measures.spectrum else 0.0,
        smallest_eigenvalue=smallest_eigenvalue(graph),
    )


def compare_fully(
    original: Graph,
    published: Graph,
    engine: Engine | None = None,
    *,
    identity: np.ndarray | None = None,
    callback: Callback = silent,
) -> FullComparison:
    """Measure two graphs fully; with `identity` (who is who) communities are compared too."""
    callback(Progress("paths and communities", 0, 1))
    basic = compare(original, published, engine, identity=identity)
    threshold = epidemic_threshold(original)
    first, second = (
        measure_fully(graph, measures, threshold, engine, callback=callback)
        for graph, measures in ((original, basic.original), (published, basic.published))
    )
    return FullComparison(basic, first, second)


def cores(graph: Graph) -> Cores:
    """Return the sizes of the cores.

    >>> cores(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    Cores(mean=1.75, innermost=2, innermost_nodes=3, nodes_by_core=[0, 1, 3])
    """
    numbers = core_numbers(graph.indptr, graph.indices)
    sizes = np.bincount(numbers, minlength=1)
    mean = float(numbers.mean()) if len(numbers) else 0.0
    return Cores(mean, len(sizes) - 1, int(sizes[-1]), sizes.tolist())


def effective_diameter(distances: list[int]) -> float:
    """Return the distance within which 90 % of the connected pairs are, interpolated.

    >>> effective_diameter([10, 80, 10])
    2.0
    """
    reached = np.cumsum([0, *distances])
    wanted = _EFFECTIVE * reached[-1]
    return float(np.interp(wanted, reached, np.arange(len(reached)))) if reached[-1] else 0.0


def smallest_eigenvalue(graph: Graph) -> float:
    """Return the smallest eigenvalue of the adjacency matrix (0 without edges).

    >>> round(smallest_eigenvalue(Graph.from_edges([0], [1])), 6)
    -1.0
    """
    if not graph.n_edges:
        return 0.0
    if graph.n_nodes <= 40:
        return float(np.linalg.eigvalsh(graph.csr.toarray())[0])
    start = np.random.default_rng(0).standard_normal(graph.n_nodes)
    # Long paths have eigenvalues so close together that the usual precision would take hours.
    first = (20, min(eigenvalue_tolerance(graph), 1e-3))
    attempts = [first, (min(_LARGE_BASIS, graph.n_nodes), 1e-2)]
    values = extreme_eigenvalues(graph, 1, "SA", start, _RESTARTS, attempts)
    return float(values[0]) if len(values) else float("nan")
