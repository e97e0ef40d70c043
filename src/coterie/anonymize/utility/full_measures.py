"""The measures of `coterie compare --full`: what a release is not fitted to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from coterie.anonymize.utility.centrality import (
    BETWEENNESS_WORK,
    Betweenness,
    betweenness,
    gini,
    pagerank,
)
from coterie.anonymize.utility.graphlets import Graphlets, count_graphlets
from coterie.anonymize.utility.measures import (
    Comparison,
    Measures,
    compare,
    eigenvalue_tolerance,
)
from coterie.anonymize.utility.resilience import (
    MULTIPLES,
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


@dataclass(frozen=True)
class FullMeasures:
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


@dataclass(frozen=True)
class FullComparison:
    """All measures of two graphs."""

    basic: Comparison
    original: FullMeasures
    published: FullMeasures


class FurtherMeasure(NamedTuple):
    """One number of the further measures, and the difference that counts as preserved."""

    name: str
    value: Callable[[FullMeasures], float]
    tolerance: float = 0.1  # relative
    # False for figures that one or few people determine, and for figures of the release that
    # depend on the original: a reader could compute them for every guess about the original.
    public: bool = True
    headline: bool = False  # named at the top of a report if not preserved


FURTHER_MEASURES = (
    FurtherMeasure("open triples", lambda m: m.graphlets.open_triples),
    FurtherMeasure("triangles", lambda m: m.graphlets.triangles),
    FurtherMeasure("paths of 4 nodes", lambda m: m.graphlets.four_paths),
    FurtherMeasure("stars of 4 nodes", lambda m: m.graphlets.four_stars, public=False),
    FurtherMeasure("squares without a diagonal", lambda m: m.graphlets.four_cycles),
    FurtherMeasure("triangles with a tail", lambda m: m.graphlets.tailed_triangles),
    FurtherMeasure("diamonds (squares with one diagonal)", lambda m: m.graphlets.diamonds),
    FurtherMeasure("4-cliques", lambda m: m.graphlets.four_cliques, headline=True),
    FurtherMeasure(
        "squares, with or without diagonals", lambda m: m.graphlets.squares, headline=True
    ),
    FurtherMeasure("mean core number", lambda m: m.cores.mean),
    FurtherMeasure("innermost core", lambda m: m.cores.innermost),
    FurtherMeasure(
        "nodes in the innermost core",
        lambda m: m.cores.innermost_nodes,
        tolerance=0.2,
        headline=True,
    ),
    FurtherMeasure("largest betweenness", lambda m: m.betweenness.largest, public=False),
    FurtherMeasure("betweenness, Gini", lambda m: m.betweenness.gini),
    FurtherMeasure("PageRank, Gini", lambda m: m.pagerank_gini),
    FurtherMeasure("degree, second moment", lambda m: m.degree_second_moment, public=False),
    FurtherMeasure("nodes with one edge", lambda m: m.pendants),
    FurtherMeasure("effective diameter (90 %)", lambda m: m.effective_diameter),
    FurtherMeasure("largest eigenvalue", lambda m: m.largest_eigenvalue, public=False),
    FurtherMeasure("smallest eigenvalue", lambda m: m.smallest_eigenvalue, public=False),
    FurtherMeasure("articulation points", lambda m: m.cut_points.articulation_points),
    FurtherMeasure("bridges", lambda m: m.cut_points.bridges),
    FurtherMeasure("robustness, random failure", lambda m: m.robustness.random_mean),
    FurtherMeasure("robustness, largest degrees first", lambda m: m.robustness.targeted_mean),
    *(
        FurtherMeasure(
            f"epidemic size at {multiple:g} × threshold",
            lambda m, place=place: m.epidemic[place].share,  # type: ignore[misc]
            public=False,  # measured at the threshold of the original
        )
        for place, multiple in enumerate(MULTIPLES)
    ),
)


class FullRow(NamedTuple):
    """One measure of the original and of a published graph (or the mean over several)."""

    measure: FurtherMeasure
    original: float
    published: float

    @property
    def error(self) -> float | None:
        """Relative difference from the original; None if the original is 0."""
        return (self.published - self.original) / abs(self.original) if self.original else None

    @property
    def kept(self) -> bool:
        """Whether the difference is within the tolerance."""
        allowed = self.measure.tolerance * abs(self.original)
        return abs(self.published - self.original) <= allowed + 1e-9


def full_rows(original: FullMeasures, published: list[FullMeasures]) -> list[FullRow]:
    """List the further measures of the original next to those of the published graphs."""
    return [
        FullRow(measure, measure.value(original), _mean([measure.value(m) for m in published]))
        for measure in FURTHER_MEASURES
    ]


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
    for basis, tolerance in (first, (min(_LARGE_BASIS, graph.n_nodes), 1e-2)):
        try:
            values = eigsh(
                graph.csr,
                1,
                which="SA",
                v0=start,
                ncv=basis,
                maxiter=_RESTARTS,
                tol=tolerance,
                return_eigenvectors=False,
            )
            break
        except ArpackNoConvergence as stopped:
            values = stopped.eigenvalues
    return float(values[0]) if len(values) else float("nan")
