"""The default model: new degrees per class, stubs joined on a ring, then edges rewired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.calibration import RingSettings, calibrate
from coterie.anonymize.draw.classes import (
    ClassCells,
    Classes,
    block_matrix,
    divide_by_degree,
    divide_into_classes,
    limit_cells,
    merge_small_blocks,
    occupied_cells,
    separate_small_components,
)
from coterie.anonymize.draw.degrees import deal_within_classes, quantiles_by_class, redraw_degrees
from coterie.anonymize.draw.reconnection import reconnect
from coterie.anonymize.draw.rewiring import RewiringTargets, rewire, rewiring_targets
from coterie.anonymize.draw.wiring import Wired, wire
from coterie.anonymize.utility.measures import assortativity, largest_component
from coterie.anonymize.utility.paths import path_lengths
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.anonymize import wiring as kernel
from coterie.kernels.graphs.triangles import triangles

_BLOCK_CUT = 4.0  # blocks of a disassortative graph are divided where degrees grow this much
_CALIBRATION_SOURCES = 2048


@dataclass(frozen=True)
class Steps:
    """The steps of the `dcsbm` release, each of which can be switched off.

    Switching off a step is meant for experiments; it lowers the utility of the release. The
    privacy assessment runs in any case.

    Parameters
    ----------
    cut_blocks : bool, default=True
        Divide blocks by degree if the original is disassortative (hubs connected to nodes of low
        degree).
    redraw_degrees : bool, default=True
        Draw new degrees from the smoothed degree distribution of each class. If False, the
        original degrees are shuffled within each class.
    ring : bool, default=True
        Join edge ends that are near each other on a ring, which creates triangles and long
        paths. If False, partners are random members of their blocks.
    calibrate : bool, default=True
        Choose the settings of the ring so that assortativity and path length match the original.
    rewire : bool, default=True
        Swap edges until clustering and assortativity match the original.
    reconnect : bool, default=True
        Reconnect components that rewiring split off the largest one.

    See Also
    --------
    Anonymizer : Uses the steps.

    Examples
    --------
    >>> import coterie as ct
    >>> steps = ct.Steps(rewire=False)
    >>> ct.Anonymizer(20, steps=steps).steps.rewire
    False
    """

    cut_blocks: bool = True
    redraw_degrees: bool = True
    ring: bool = True
    calibrate: bool = True
    rewire: bool = True
    reconnect: bool = True


@dataclass(frozen=True, eq=False)
class StubModel:
    """Everything that a draw uses of the original: classes, degrees per class, block edges and
    the rewiring targets.

    All that it contains about a person is the class. Which node of the class in the release stands
    for the person is therefore random, for every attacker.
    """

    classes: Classes
    quantiles: np.ndarray  # int64[n]: degrees class by class, sorted within each
    block_edges: np.ndarray  # int64[k, k]: edges per block pair, inside a block twice
    targets: RewiringTargets
    largest_component: float  # share of the nodes
    limit: float  # maximum share of the pairs of a cell that are connected
    steps: Steps = field(default_factory=Steps)
    ring_settings: RingSettings = field(default_factory=RingSettings)

    @classmethod
    def fit(
        cls,
        graph: Graph,
        labels: np.ndarray,
        *,
        min_size: int,
        limit: float,
        path_length: float,
        rng: Generator,
        steps: Steps | None = None,
        engine: Engine | None = None,
        callback: Callback = silent,
    ) -> StubModel:
        """Compute classes and targets from the original, and calibrate the ring to them."""
        steps = steps or Steps()
        callback(Progress("classes", 0))
        correlation = assortativity(graph)
        classes = release_classes(graph, labels, min_size, limit, cut=steps.cut_blocks)
        targets = rewiring_targets(
            graph.degrees, triangles(graph.indptr, graph.indices), correlation
        )
        model = cls(
            classes,
            quantiles_by_class(graph.degrees, classes),
            block_matrix(graph, classes.block),
            targets,
            largest_component(graph),
            limit,
            steps,
        )
        if not (steps.calibrate and steps.ring):
            return model
        degrees = model._new_degrees(rng)

        def wired(ring_settings: RingSettings) -> Graph:
            callback(Progress("calibrating", 0, note=f"noise {ring_settings.noise:.2g}"))
            edges, _ = replace(model, ring_settings=ring_settings)._wire(degrees, rng)
            return _as_graph(edges, graph.n_nodes)

        ring_settings = calibrate(
            wired,
            assortativity=correlation,
            path_length=path_length,
            measure_assortativity=assortativity,
            measure_path_length=lambda g: (
                path_lengths(g, engine, sources=_CALIBRATION_SOURCES).mean
            ),
        )
        return replace(model, ring_settings=ring_settings)

    def cells(self, graph: Graph) -> ClassCells:
        """Return the cells with an original edge, and the probability of an edge in each."""
        return occupied_cells(graph, self.classes)

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """Draw a graph; all that node v of it shares with the original v is the class."""
        edges, cells = self._wire(self._new_degrees(rng), rng)
        if self.steps.rewire:
            edges = rewire(edges, self.classes.block, cells, self.targets, rng)
        if self.steps.reconnect:
            edges = reconnect(edges, self.classes.block, cells, self.largest_component, rng)
        return _as_graph(edges, len(self.quantiles))

    def _new_degrees(self, rng: Generator) -> np.ndarray:
        degrees = self.quantiles
        if self.steps.redraw_degrees:
            degrees = redraw_degrees(degrees, self.classes, rng)
        return deal_within_classes(degrees, self.classes, rng)

    def _wire(self, degrees: np.ndarray, rng: Generator) -> tuple[Wired, kernel.WiringCells]:
        return wire(
            self.classes,
            degrees,
            self.block_edges,
            noise=self.ring_settings.noise if self.steps.ring else np.inf,
            epsilon=self.ring_settings.epsilon if self.steps.ring else 1.0,
            limit=self.limit,
            rng=rng,
        )


def release_classes(
    graph: Graph, labels: np.ndarray, min_size: int, limit: float, *, cut: bool = True
) -> Classes:
    """Adapt blocks to a release and divide them into classes; A1 and A2 hold by construction."""
    blocks = separate_small_components(graph, labels, 2 * min_size)
    blocks = merge_small_blocks(graph, blocks, 2 * min_size)
    if cut and assortativity(graph) < 0:
        blocks = divide_by_degree(graph, blocks, 2 * min_size, _BLOCK_CUT)
    return limit_cells(graph, divide_into_classes(graph, blocks, min_size), limit, min_size)


def _as_graph(edges: Wired, n_nodes: int) -> Graph:
    indptr, indices = edges.rows(n_nodes)
    return Graph(indptr, indices, np.arange(n_nodes))
