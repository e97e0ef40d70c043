"""Graphlets: how often every connected pattern of three and four nodes occurs, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.graphs.graphlets import count_cliques, count_squares
from coterie.kernels.graphs.triangles import forward_rows


class Graphlets(NamedTuple):
    """Numbers of connected induced subgraphs with three and four nodes, and of all squares.

    Induced: the nodes have exactly the edges of the pattern among them.
    """

    open_triples: int  # two edges that share a node
    triangles: int
    four_paths: int
    four_stars: int
    four_cycles: int  # squares without a diagonal
    tailed_triangles: int  # a triangle and one more edge
    diamonds: int  # squares with one diagonal
    four_cliques: int  # squares with both diagonals
    squares: int  # cycles of four nodes, with or without diagonals


def count_graphlets(graph: Graph, engine: Engine | None = None) -> Graphlets:
    """Count all connected patterns of three and four nodes.

    Cliques and cycles are counted one by one; the other patterns follow from them, from degrees
    and from triangles per edge.

    >>> house = Graph.from_edges([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 4, 4])
    >>> count_graphlets(house)
    Graphlets(open_triples=6, triangles=1, four_paths=2, four_stars=0, four_cycles=1, \
tailed_triangles=2, diamonds=0, four_cliques=0, squares=1)
    """
    run = engine or LocalEngine(1)
    degrees = graph.degrees
    forward_ptr, forward = forward_rows(graph.indptr, graph.indices)

    def cliques(first: int, last: int) -> tuple[int, np.ndarray]:
        edge_triangles = np.zeros(len(forward), np.int32)
        found = count_cliques(forward_ptr, forward, first, last, edge_triangles)
        return int(found), edge_triangles

    def squares_of(first: int, last: int) -> int:
        return int(count_squares(graph.indptr, graph.indices, first, last))

    parts = run.map(cliques, *_ranges(forward_ptr, run.threads))
    four_cliques = sum(found for found, _ in parts)
    on_edge = np.sum([triangles for _, triangles in parts], axis=0, dtype=np.int64)
    squares = sum(run.map(squares_of, *_ranges(graph.indptr, run.threads)))

    source = np.repeat(np.arange(graph.n_nodes), np.diff(forward_ptr))
    triangles = int(on_edge.sum()) // 3
    at_node = np.bincount(source, on_edge, graph.n_nodes) + np.bincount(
        forward, on_edge, graph.n_nodes
    )
    # Patterns that may have more edges among their nodes
    wedges = int((degrees * (degrees - 1) // 2).sum())
    stars = _three_of_each(degrees)
    paths = int(((degrees[source] - 1) * (degrees[forward] - 1)).sum()) - 3 * triangles
    tailed = int((at_node / 2 * (degrees - 2)).sum())
    diamonds = int((on_edge * (on_edge - 1) // 2).sum())
    # Subtract those that have more
    induced_diamonds = diamonds - 6 * four_cliques
    induced_cycles = squares - induced_diamonds - 3 * four_cliques
    induced_tailed = tailed - 4 * induced_diamonds - 12 * four_cliques
    return Graphlets(
        open_triples=wedges - 3 * triangles,
        triangles=triangles,
        four_paths=paths
        - 4 * induced_cycles
        - 2 * induced_tailed
        - 6 * induced_diamonds
        - 12 * four_cliques,
        four_stars=stars - induced_tailed - 2 * induced_diamonds - 4 * four_cliques,
        four_cycles=induced_cycles,
        tailed_triangles=induced_tailed,
        diamonds=induced_diamonds,
        four_cliques=four_cliques,
        squares=squares,
    )


def _three_of_each(degrees: np.ndarray) -> int:
    """Return the sum of d (d - 1) (d - 2) / 6, without overflow."""
    values, counts = np.unique(degrees, return_counts=True)
    return sum(
        d * (d - 1) * (d - 2) // 6 * count
        for d, count in zip(values.tolist(), counts.tolist(), strict=True)
    )


def _ranges(row_starts: np.ndarray, pieces: int) -> tuple[list[int], list[int]]:
    """Divide the nodes into ranges with about equally many entries.

    The counts are integers, so the number of pieces cannot change a result.
    """
    places = np.linspace(0, row_starts[-1], pieces + 1)
    cuts = np.searchsorted(row_starts, places)
    cuts[0], cuts[-1] = 0, len(row_starts) - 1
    return cuts[:-1].tolist(), cuts[1:].tolist()
