"""Random perturbation: delete edges, or delete and add the same number."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.data import Graph


def naive(graph: Graph, rng: Generator) -> Graph:
    """Return the graph unchanged: only the names are removed."""
    return graph


def delete_edges(graph: Graph, rng: Generator, share: float = 0.1) -> Graph:
    """Delete a share of the edges.

    >>> square = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> delete_edges(square, np.random.default_rng(0), share=1.0)
    Graph(4 nodes, 0 edges)
    """
    source, target = graph.edges()
    keep = rng.random(len(source)) >= share
    return Graph.from_edges(source[keep], target[keep], n_nodes=graph.n_nodes)


def replace_edges(graph: Graph, rng: Generator, share: float = 0.1) -> Graph:
    """Delete a share of the edges and add the same number of random edges."""
    source, target = delete_edges(graph, rng, share).edges()
    missing = graph.n_edges - len(source)
    extra = rng.integers(graph.n_nodes, size=(2, missing))
    joined = np.concatenate([source, extra[0]]), np.concatenate([target, extra[1]])
    return Graph.from_edges(*joined, n_nodes=graph.n_nodes)
