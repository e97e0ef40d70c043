"""The default model: new degrees per class, stubs joined in cliques per block, then rewiring."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.class_limits import limit_cells, merge_dense_cores
from coterie.anonymize.draw.classes import (
    ClassCells,
    Classes,
    block_matrix,
    divide_by_degree,
    divide_into_classes,
    merge_small_blocks,
    occupied_cells,
    separate_small_components,
)
from coterie.anonymize.draw.clique_wiring import wire_cliques
from coterie.anonymize.draw.degrees import (
    DegreeGroups,
    deal_within_classes,
    group_degrees,
    mean_degrees,
    redraw_degrees,
)
from coterie.anonymize.draw.reconnection import reconnect, reconnect_within_blocks
from coterie.anonymize.draw.rewiring import (
    RewiringTargets,
    communities_of_blocks,
    rewire_within_communities,
    rewiring_targets,
)
from coterie.anonymize.draw.wiring import Wired
from coterie.anonymize.utility.measures import assortativity, largest_component
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.anonymize import wiring as kernel
from coterie.kernels.graphs.triangles import triangles

_BLOCK_CUT = 4.0  # blocks of a disassortative graph are divided where degrees grow this much


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
        Draw new degrees from the smoothed degree distribution of each class. If False, everybody
        gets the mean degree of a group of at least `min_class_size` people of the class.
    cliques : bool, default=True
        Join edge ends of a block in groups of people who all know each other, which creates
        triangles. If False, partners are random members of the block.
    rewire : bool, default=True
        Swap edges until clustering and assortativity match the original.
    reconnect : bool, default=True
        Connect the members of each block with each other, and reconnect components that
        rewiring split off the largest one.

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
    cliques: bool = True
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
    degree_groups: DegreeGroups  # mean degrees of groups of at least `min_class_size` people
    block_edges: np.ndarray  # int64[k, k]: edges per block pair, inside a block twice
    targets: RewiringTargets
    largest_component: float  # share of the nodes
    limit: float  # maximum share of the pairs of a cell that are connected
    steps: Steps = field(default_factory=Steps)

    @classmethod
    def fit(
        cls,
        graph: Graph,
        labels: np.ndarray,
        *,
        min_size: int,
        limit: float,
        steps: Steps | None = None,
        core_share: float = np.inf,
        merge_cores: bool = False,
        callback: Callback = silent,
    ) -> StubModel:
        """Compute classes and targets from the original."""
        steps = steps or Steps()
        callback(Progress("classes", 0))
        correlation = assortativity(graph)
        classes = release_classes(
            graph,
            labels,
            min_size,
            limit,
            cut=steps.cut_blocks,
            core_share=core_share,
            merge_cores=merge_cores,
        )
        targets = rewiring_targets(
            graph.degrees, triangles(graph.indptr, graph.indices), correlation
        )
        return cls(
            classes,
            group_degrees(graph.degrees, classes, min_size),
            block_matrix(graph, classes.block),
            targets,
            largest_component(graph),
            limit,
            steps,
        )

    def cells(self, graph: Graph) -> ClassCells:
        """Return the cells with an original edge, and the probability of an edge in each."""
        return occupied_cells(graph, self.classes)

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """Draw a graph; all that node v of it shares with the original v is the class."""
        edges, cells = self._wire(self._new_degrees(rng), rng)
        if self.steps.reconnect:
            edges = reconnect_within_blocks(edges, self.classes.block, cells, rng)
        if self.steps.rewire:
            community = communities_of_blocks(self.block_edges)[self.classes.block]
            edges = rewire_within_communities(
                edges,
                self.classes.block,
                community,
                cells,
                self.targets,
                self.block_edges,
                rng,
            )
        if self.steps.reconnect:
            edges = reconnect(edges, self.classes.block, cells, self.largest_component, rng)
        return edges.graph(len(self.classes.block))

    def _new_degrees(self, rng: Generator) -> np.ndarray:
        draw = redraw_degrees if self.steps.redraw_degrees else mean_degrees
        degrees = draw(self.degree_groups, rng)
        return deal_within_classes(degrees, self.classes, rng)

    def _wire(self, degrees: np.ndarray, rng: Generator) -> tuple[Wired, kernel.WiringCells]:
        return wire_cliques(
            self.classes,
            degrees,
            self.block_edges,
            self.targets,
            limit=self.limit,
            rng=rng,
            cliques=self.steps.cliques,
            # Contacts of hubs that are connected with leaves do not know each other.
            together=self.steps.cliques and self.targets.assortativity >= 0,
        )


def release_classes(
    graph: Graph,
    labels: np.ndarray,
    min_size: int,
    limit: float,
    *,
    cut: bool = True,
    core_share: float = np.inf,
    merge_cores: bool = False,
) -> Classes:
    """Adapt blocks to a release and divide them into classes; A1 and A2 hold by construction.

    The densest cores of blocks are diluted too if they have at least `core_share` of all edges.
    With `merge_cores`, their blocks are merged with others instead.
    """
    blocks = separate_small_components(graph, labels, 2 * min_size)
    blocks = merge_small_blocks(graph, blocks, 2 * min_size)
    if cut and assortativity(graph) < 0:
        blocks = divide_by_degree(graph, blocks, 2 * min_size, _BLOCK_CUT)
    if merge_cores:
        blocks = merge_dense_cores(graph, blocks, limit, min_size, core_share)
        core_share = np.inf
    classes = divide_into_classes(graph, blocks, min_size)
    return limit_cells(graph, classes, limit, min_size, core_share=core_share)
