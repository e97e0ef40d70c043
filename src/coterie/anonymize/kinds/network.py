"""A network with everything that is known about it, and its skeleton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.data import Graph
from coterie.data.node_table import NodeTable


@dataclass(frozen=True, eq=False)
class Network:
    """A graph, possibly directed or weighted, and the attributes of its nodes."""

    graph: Graph
    attributes: NodeTable | None = None
    codes: np.ndarray | None = None  # int32[n, columns]: what a drawn table was made from

    def renumbered(self, identity: np.ndarray) -> Network:
        """Return the network with node v under the number identity[v]."""
        graph, n = self.graph, self.graph.n_nodes
        source, target = graph.edges()
        renumbered = Graph.from_edges(
            identity[source],
            identity[target],
            n_nodes=n,
            weights=None if graph.weights is None else graph.edge_weights(),
            directed=graph.directed,
        )
        node = np.argsort(identity)
        return Network(
            renumbered,
            None if self.attributes is None else self.attributes.reordered(node),
            None if self.codes is None else self.codes[node],
        )


def skeleton_of(graph: Graph) -> Graph:
    """Return who is connected to whom, without directions and weights; the ids stay.

    >>> skeleton_of(Graph.from_edges([0, 1], [1, 0], directed=True))
    Graph(2 nodes, 1 edges)
    """
    if not graph.directed and graph.weights is None:
        return graph
    source, target = graph.edges()
    plain = Graph.from_edges(source, target, n_nodes=graph.n_nodes)
    return Graph(plain.indptr, plain.indices, graph.ids)
