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
    one = np.zeros(graph.n_nodes, np.int32)
    edges, _ = wire(
        Classes(one, one),
        graph.degrees,
        np.array([[2 * graph.n_edges]]),
        noise=np.inf,
        epsilon=1.0,
        limit=1.0,
        rng=rng,
    )
    return Graph.from_edges(edges.source, edges.target, n_nodes=graph.n_nodes)
