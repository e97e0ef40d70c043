"""A network with everything that is known about it, its skeleton, and its published table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.anonymize.published_graph import PublishedGraph
from coterie.data import Graph
from coterie.data.node_table import NodeTable

SIDE_NAMES = ("first", "second")

PublishedColumns = dict[str, np.ndarray]


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


def sides_of_nodes(sides: np.ndarray, identity: np.ndarray) -> np.ndarray:
    """Return the side of every published node (bool), given those of the people."""
    there = np.empty(len(sides), bool)
    there[identity] = sides
    return there


def published_node_tables(
    networks: list[Network], releases: list[PublishedGraph], sides: np.ndarray | None
) -> list[PublishedColumns]:
    """Return one table per draw: node, side and attributes; empty if there is nothing to say."""
    tables = []
    for network, (_, identity) in zip(networks, releases, strict=True):
        table: PublishedColumns = {}
        if sides is not None:
            there = sides_of_nodes(sides, identity)
            table["side"] = np.array(SIDE_NAMES, object)[there.astype(np.int64)]
        if network.attributes is not None:
            table |= network.attributes.to_columns()
        if table:
            tables.append({"node": np.arange(network.graph.n_nodes), **table})
    return tables
