"""Networks with two kinds of nodes, such as people and items: edges join the two sides only."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from scipy.sparse.csgraph import breadth_first_order, connected_components

from coterie.anonymize.draw.class_limits import limit_cells
from coterie.anonymize.draw.classes import (
    ClassCells,
    Classes,
    block_matrix,
    divide_into_classes,
    entropy_of_merging,
    occupied_cells,
)
from coterie.anonymize.draw.degrees import (
    DegreeGroups,
    deal_within_classes,
    group_degrees,
    redraw_degrees,
)
from coterie.anonymize.draw.wiring import wire
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.engine import Engine
from coterie.kernels.graphs.graphlets import count_butterflies
from coterie.models.hard.label_tools import renumber

_BISECTIONS = 8


@dataclass(frozen=True, eq=False)
class BipartiteModel:
    """Everything that a draw uses of a network with two sides: classes, degrees, block edges.

    Each block is on one side, and only blocks of different sides have edges between them. The
    share of edges that join any two members, and not those that are near each other in a random
    order of both blocks, decides the number of butterflies.
    """

    classes: Classes
    sides: np.ndarray  # bool[n]
    degree_groups: DegreeGroups
    block_edges: np.ndarray
    limit: float
    anywhere: float = 1.0  # share of the edges that ignore the order

    @classmethod
    def fit(
        cls,
        graph: Graph,
        labels: np.ndarray,
        sides: np.ndarray,
        *,
        min_size: int,
        limit: float,
        rng: Generator,
    ) -> BipartiteModel:
        """Compute classes and degrees, and calibrate to the butterflies of the original."""
        classes = bipartite_classes(graph, labels, sides, min_size, limit)
        model = cls(
            classes,
            sides,
            group_degrees(graph.degrees, classes, min_size),
            block_matrix(graph, classes.block),
            limit,
        )
        wanted = butterflies(graph, sides)
        low, high = 0.0, 1.0  # fewer edges anywhere, more butterflies
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            trial = replace(model, anywhere=middle)
            if butterflies(trial.draw(rng), sides) > wanted:
                low = middle
            else:
                high = middle
        return replace(model, anywhere=(low + high) / 2)

    def cells(self, graph: Graph) -> ClassCells:
        """Return the cells with an original edge, and the probability of an edge in each."""
        return occupied_cells(graph, self.classes)

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """Draw a graph; all that node v of it shares with the original v is the class."""
        degrees = deal_within_classes(redraw_degrees(self.degree_groups, rng), self.classes, rng)
        edges, _ = wire(
            self.classes,
            degrees,
            self.block_edges,
            noise=np.inf,
            epsilon=self.anywhere,
            limit=self.limit,
            rng=rng,
        )
        graph = edges.graph(len(degrees))
        source, target = graph.edges()
        if (self.sides[source] == self.sides[target]).any():
            raise AssertionError("a drawn edge is inside a side")
        return graph


def find_sides(graph: Graph) -> np.ndarray:
    """Return the side of every node (bool): a colouring in which every edge joins two sides.

    The first node of each component is on side False. Raises InputError if there is none.

    >>> find_sides(Graph.from_edges([0, 1], [1, 2]))
    array([False,  True, False])
    """
    sides = np.zeros(graph.n_nodes, bool)
    n_components, component = connected_components(graph.csr, directed=False)
    first = np.full(n_components, graph.n_nodes, np.int64)
    np.minimum.at(first, component, np.arange(graph.n_nodes))
    for start in first[np.diff(graph.indptr)[first] > 0]:
        order, parent = breadth_first_order(graph.csr, start, directed=False)
        for v in order[1:]:
            sides[v] = not sides[parent[v]]
    check_sides(graph, sides)
    return sides


def check_sides(graph: Graph, sides: np.ndarray) -> None:
    """Raise InputError if an edge is inside a side."""
    if len(sides) != graph.n_nodes:
        raise InputError(f"{len(sides)} sides for {graph.n_nodes} nodes")
    source, target = graph.edges()
    inside = np.flatnonzero(sides[source] == sides[target])
    if len(inside):
        a, b = graph.ids[source[inside[0]]], graph.ids[target[inside[0]]]
        raise InputError(
            f"the network does not have two sides: {len(inside):,} edges are inside a side, for "
            f"example {a} to {b}",
            remedy="release it as a simple network; if both columns number their nodes from the "
            "same number, give them different ids, such as u1 and i1",
        )


def bipartite_classes(
    graph: Graph, labels: np.ndarray, sides: np.ndarray, min_size: int, limit: float
) -> Classes:
    """Divide blocks by side and degree; classes and blocks never contain both sides."""
    blocks = renumber(renumber(labels).astype(np.int64) * 2 + sides)
    blocks = _merge_small_on_a_side(graph, blocks, sides, 2 * min_size)
    classes = divide_into_classes(graph, blocks, min_size)
    limited = limit_cells(graph, classes, limit, min_size)
    if _pure(limited.block, sides) and _pure(limited.label, sides):
        return limited
    # People of the other side would be added to dense circles: the policy decides instead.
    return classes


def butterflies(graph: Graph, sides: np.ndarray) -> int:
    """Return the number of cycles of four nodes, two of each side."""
    cost = [(graph.degrees[sides == side].astype(float) ** 2).sum() for side in (True, False)]
    # Walks through the neighbours: the cheaper side to start from is opposite the smaller cost.
    first = np.flatnonzero(sides == (cost[0] > cost[1]))
    return int(count_butterflies(graph.indptr, graph.indices, first))


def _merge_small_on_a_side(
    graph: Graph, labels: np.ndarray, sides: np.ndarray, minimum: int
) -> np.ndarray:
    """Merge the smallest block into another of its side until every block has `minimum` nodes."""
    labels = renumber(labels)
    while True:
        sizes = np.bincount(labels)
        side = np.zeros(len(sizes), bool)
        side[labels] = sides
        edges = block_matrix(graph, labels).astype(np.float64)
        mergeable = [
            r
            for r in np.argsort(sizes, kind="stable")
            if sizes[r] < minimum and (side == side[r]).sum() > 1
        ]
        if not mergeable:
            return labels
        small = mergeable[0]
        rise = np.where(side == side[small], entropy_of_merging(edges, small), np.inf)
        labels = renumber(np.where(labels == small, int(rise.argmin()), labels))


def _pure(labels: np.ndarray, sides: np.ndarray) -> bool:
    mixed = np.bincount(labels, sides) / np.maximum(np.bincount(labels), 1)
    return bool(np.isin(mixed, (0.0, 1.0)).all())
