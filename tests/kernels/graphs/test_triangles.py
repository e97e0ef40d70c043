"""Triangles per edge, compared with networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from coterie.data import Graph
from coterie.kernels.graphs.triangles import edge_triangles


@pytest.mark.parametrize("network", [nx.gnp_random_graph(40, 0.3, seed=1), nx.path_graph(5)])
def test_triangles_of_each_edge_are_the_common_neighbours_of_its_ends(network: nx.Graph) -> None:
    graph = Graph.from_edges(*np.array(network.edges).T)
    source, target = graph.edges()
    found = edge_triangles(graph.indptr, graph.indices, source, target)
    pairs = zip(source.tolist(), target.tolist(), strict=True)
    assert found.tolist() == [len(list(nx.common_neighbors(network, u, v))) for u, v in pairs]
