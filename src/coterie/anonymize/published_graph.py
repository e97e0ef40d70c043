"""A graph under new random ids, and the private map from people to the new ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.data import Graph


class PublishedGraph(NamedTuple):
    """A graph to publish or to attack, and who is who in it."""

    graph: Graph
    identity: np.ndarray  # int32[n]: the published node of each original node


def assign_new_ids(graph: Graph, rng: Generator, sides: np.ndarray | None = None) -> PublishedGraph:
    """Renumber the nodes at random; of two sides, the first one gets the lower numbers.

    >>> published = assign_new_ids(Graph.from_edges([0], [1]), np.random.default_rng(0))
    >>> published.graph.n_edges, sorted(published.identity.tolist())
    (1, [0, 1])
    """
    if sides is None:
        identity = rng.permutation(graph.n_nodes).astype(np.int32)
    else:
        identity = np.empty(graph.n_nodes, np.int32)
        identity[np.lexsort((rng.random(graph.n_nodes), sides))] = np.arange(graph.n_nodes)
    source, target = graph.edges()
    renumbered = Graph.from_edges(identity[source], identity[target], n_nodes=graph.n_nodes)
    return PublishedGraph(renumbered, identity)


def per_published_node(values: np.ndarray, identity: np.ndarray) -> np.ndarray:
    """Rearrange one value per original node into one value per published node.

    >>> per_published_node(np.array([5, 6, 7]), np.array([2, 0, 1]))
    array([6, 7, 5])
    """
    rearranged = np.empty(len(identity), values.dtype)
    rearranged[identity] = values
    return rearranged
