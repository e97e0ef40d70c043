"""Components that were split off are connected again."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng
from scipy.sparse.csgraph import connected_components

from coterie.anonymize.draw.reconnection import reconnect
from coterie.anonymize.draw.wiring import Wired
from coterie.anonymize.utility.measures import largest_component
from coterie.data import Graph
from coterie.kernels.anonymize import wiring as kernel


@pytest.mark.parametrize("seed", range(3))
def test_components_are_connected_even_if_every_edge_is_a_bridge(seed: int) -> None:
    """A forest is connected by swapping edges on cycles with any edge of another component."""
    rng = default_rng(seed)
    tree = np.array(nx.barabasi_albert_graph(300, 1, seed=seed).edges)
    ends = rng.permutation(tree.ravel()).reshape(-1, 2)  # the same degrees, random partners
    graph = Graph.from_edges(*ends[ends[:, 0] != ends[:, 1]].T, n_nodes=300)
    source, target = graph.edges()
    block = np.zeros(300, np.int32)
    before = largest_component(graph)
    cells = kernel.WiringCells(np.full(300, -1, np.int32), *np.zeros((2, 0, 0), np.int32))
    edges = reconnect(Wired(source, target, 0), block, cells, 0.98, rng)
    after = Graph.from_edges(edges.source, edges.target, n_nodes=300)
    assert np.array_equal(after.degrees, graph.degrees)
    assert before < 0.9 and largest_component(after) > before + 0.05
    components = connected_components(after.csr, directed=False)[0]
    spare = graph.n_edges - 300 + components  # edges on cycles that are left
    assert largest_component(after) >= 0.98 or spare == 0
