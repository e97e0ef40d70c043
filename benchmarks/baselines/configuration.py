"""The configuration model: degrees are kept, all edges are random."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.wiring import wire
from coterie.data import Graph


def configuration(graph: Graph, rng: Generator) -> Graph:
    """Randomise the edges and keep the degrees; no self-loops or repeated edges.

    >>> ring = Graph.from_edges(np.arange(9), (np.arange(9) + 1) % 9)
    >>> configuration(ring, np.random.default_rng(0)).degrees.tolist()
    [2, 2, 2, 2, 2, 2, 2, 2, 2]
    """
    return random_graph_of_degrees(graph.degrees, rng)


def random_graph_of_degrees(degrees: np.ndarray, rng: Generator) -> Graph:
    """Draw a graph with these degrees, whose sum is even; a few edges may find no place."""
    one = np.zeros(len(degrees), np.int32)
    edges, _ = wire(
        Classes(one, one),
        degrees,
        np.array([[int(degrees.sum())]]),
        noise=np.inf,
        epsilon=1.0,
        limit=1.0,
        rng=rng,
    )
    return Graph.from_edges(edges.source, edges.target, n_nodes=len(degrees))
