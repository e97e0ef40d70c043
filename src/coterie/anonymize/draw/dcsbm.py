"""The default release: degrees redrawn within classes, ends joined on a ring, then rewired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.calibration import Dials, calibrate
from coterie.anonymize.draw.classes import (
    ClassCells,
    Classes,
    block_matrix,
    classes_of,
    cut_blocks,
    limit_cells,
    merge_small_blocks,
    occupied_cells,
    set_small_components_apart,
)
from coterie.anonymize.draw.degrees import deal_within_classes, quantiles_by_class, redraw_degrees
from coterie.anonymize.draw.reconnection import reconnect
from coterie.anonymize.draw.rewiring import RewiringTargets, rewire, shape_of
from coterie.anonymize.draw.wiring import Wired, wire
from coterie.anonymize.utility.measures import assortativity, largest_component
from coterie.anonymize.utility.paths import path_lengths
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.anonymize import wiring as kernel
from coterie.kernels.graphs.triangles import triangles

_BLOCK_CUT = 4.0  # a block of a disassortative graph is cut where degrees grow by this factor
_CALIBRATION_SOURCES = 2048


@dataclass(frozen=True)
class Steps:
    """The steps of the release, each of which can be switched off (docs/anonymity.md)."""

    cut_blocks: bool = True  # by degree, where the original is disassortative
    redraw_degrees: bool = True
    ring: bool = True  # else ends are joined anywhere in their blocks
    calibrate: bool = True
    rewire: bool = True
    reconnect: bool = True  # join again what rewiring cut off the largest component


@dataclass(frozen=True, eq=False)
class StubModel:
    """All that a draw uses of the original: classes, their degrees, block edges, its shape.

    Nothing else of a person than the class is in it. So who of a class is which of its nodes in
    the release is a matter of chance alone, for every attacker (docs/anonymity.md, "The ceiling").
    """

    classes: Classes
    quantiles: np.ndarray  # int64[n]: degrees class after class, rising in each
    block_edges: np.ndarray  # int64[k, k]: e_rs
    shape: RewiringTargets
    largest_component: float  # share of the nodes
    limit: float
    steps: Steps = field(default_factory=Steps)
    dials: Dials = field(default_factory=Dials)

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
        """Blocks, classes and goals of the original, and the dials turned to them."""
        steps = steps or Steps()
        callback(Progress("classes", 0))
        correlation = assortativity(graph)
        classes = release_classes(graph, labels, min_size, limit, cut=steps.cut_blocks)
        shape = shape_of(graph.degrees, triangles(graph.indptr, graph.indices), correlation)
        model = cls(
            classes,
            quantiles_by_class(graph.degrees, classes),
            block_matrix(graph, classes.block),
            shape,
            largest_component(graph),
            limit,
            steps,
        )
        if not (steps.calibrate and steps.ring):
            return model
        degrees = model._new_degrees(rng)

        def wired(dials: Dials) -> Graph:
            callback(Progress("calibrating", 0, note=f"noise {dials.noise:.2g}"))
            edges, _ = replace(model, dials=dials)._wire(degrees, rng)
            return _as_graph(edges, graph.n_nodes)

        dials = calibrate(
            wired,
            assortativity=correlation,
            path_length=path_length,
            measure_assortativity=assortativity,
            measure_path_length=lambda g: (
                path_lengths(g, engine, sources=_CALIBRATION_SOURCES).mean
            ),
        )
        return replace(model, dials=dials)

    def cells(self, graph: Graph) -> ClassCells:
        """The cells that hold an original edge, and p_AB of each."""
        return occupied_cells(graph, self.classes)

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """A new graph; node v of it has v's class, and nothing else of v."""
        edges, cells = self._wire(self._new_degrees(rng), rng)
        if self.steps.rewire:
            edges = rewire(edges, self.classes.block, cells, self.shape, rng)
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
            noise=self.dials.noise if self.steps.ring else np.inf,
            epsilon=self.dials.epsilon if self.steps.ring else 1.0,
            limit=self.limit,
            rng=rng,
        )


def release_classes(
    graph: Graph, labels: np.ndarray, min_size: int, limit: float, *, cut: bool = True
) -> Classes:
    """Blocks made fit for a release, and their classes: A1 and A2 hold by construction."""
    blocks = set_small_components_apart(graph, labels, 2 * min_size)
    blocks = merge_small_blocks(graph, blocks, 2 * min_size)
    if cut and assortativity(graph) < 0:
        blocks = cut_blocks(graph, blocks, 2 * min_size, _BLOCK_CUT)
    return limit_cells(graph, classes_of(graph, blocks, min_size), limit, min_size)


def _as_graph(edges: Wired, n_nodes: int) -> Graph:
    indptr, indices = edges.rows(n_nodes)
    return Graph(indptr, indices, np.arange(n_nodes))
