"""Components that were split off are connected again."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.sparse.csgraph import connected_components

from coterie.anonymize.draw.reconnection import reconnect, reconnect_within_blocks
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


def _parts(graph: Graph, block: np.ndarray) -> list[int]:
    """Return into how many parts the edges inside a block divide its nodes, per block."""
    whole = nx.Graph(zip(*(ends.tolist() for ends in graph.edges()), strict=True))
    whole.add_nodes_from(range(graph.n_nodes))
    return [
        nx.number_connected_components(whole.subgraph(np.flatnonzero(block == b).tolist()))
        for b in range(int(block.max()) + 1)
    ]


def _neighbours_per_block(graph: Graph, block: np.ndarray) -> np.ndarray:
    counts = np.zeros((graph.n_nodes, int(block.max()) + 1), int)
    for u, v in zip(*graph.edges(), strict=True):
        counts[u, block[v]] += 1
        counts[v, block[u]] += 1
    return counts


def _cliques_and_links(seed: int) -> tuple[Graph, np.ndarray]:
    """Four blocks of 30 people: cliques of five that nothing connects, and links across blocks."""
    rng = default_rng(seed)
    block = np.repeat(np.arange(4), 30).astype(np.int32)
    cliques = [(5 * c + a, 5 * c + b) for c in range(24) for a in range(5) for b in range(a)]
    links = rng.integers(0, 120, (60, 2))
    links = links[block[links[:, 0]] != block[links[:, 1]]]
    graph = nx.Graph(cliques)
    graph.add_edges_from(links.tolist())
    return Graph.from_edges(*np.array(graph.edges).T, n_nodes=120), block


@pytest.mark.parametrize("seed", range(5))
def test_the_parts_of_a_block_are_connected_and_nobody_gets_neighbours_in_other_blocks(
    seed: int,
) -> None:
    graph, block = _cliques_and_links(seed)
    assert _parts(graph, block) == [6, 6, 6, 6]
    cells = kernel.WiringCells(np.full(120, -1, np.int32), *np.zeros((2, 0, 0), np.int32))
    edges = reconnect_within_blocks(Wired(*graph.edges(), 0), block, cells, default_rng(seed))
    after = Graph.from_edges(edges.source, edges.target, n_nodes=120)
    assert after.n_edges == graph.n_edges and after.cleaned == (0, 0, 0)
    assert _parts(after, block) == [1, 1, 1, 1]
    before = _neighbours_per_block(graph, block)
    assert (_neighbours_per_block(after, block) == before).all()


@given(st.integers(0, 2**32), st.integers(5, 40))
@settings(max_examples=40)
def test_no_part_of_a_block_is_left_over_while_an_edge_lies_on_a_cycle(
    seed: int, n_edges: int
) -> None:
    """Parts that stay apart have no cycle in their block, or are single people."""
    rng = default_rng(seed)
    block = (np.arange(24) // 12).astype(np.int32)
    pairs = {(int(min(p)), int(max(p))) for p in rng.integers(0, 24, (n_edges, 2)) if p[0] != p[1]}
    graph = Graph.from_edges(*np.array(sorted(pairs)).reshape(-1, 2).T, n_nodes=24)
    cells = kernel.WiringCells(np.full(24, -1, np.int32), *np.zeros((2, 0, 0), np.int32))
    edges = reconnect_within_blocks(Wired(*graph.edges(), 0), block, cells, rng)
    after = Graph.from_edges(edges.source, edges.target, n_nodes=24)
    assert after.n_edges == graph.n_edges
    assert (_neighbours_per_block(after, block) == _neighbours_per_block(graph, block)).all()
    whole = nx.Graph(zip(*(ends.tolist() for ends in after.edges()), strict=True))
    for b in range(2):
        inside = whole.subgraph([v for v in whole if block[v] == b])
        parts = [c for c in nx.connected_components(inside) if len(c) > 1]
        cycles = inside.number_of_edges() - sum(len(c) - 1 for c in parts)
        assert len(parts) <= 1 or cycles == 0


def test_edges_in_few_triangles_are_swapped_to_connect_a_block() -> None:
    """Two cliques of six with a tail each: their tails are used, and a triangle at most is lost."""
    two = nx.disjoint_union(nx.lollipop_graph(6, 3), nx.lollipop_graph(6, 3))
    two.add_edges_from([(8, 6), (17, 15)])  # the tails are triangles, which lie on a cycle
    graph = Graph.from_edges(*np.array(two.edges).T, n_nodes=18)
    block = np.zeros(18, np.int32)
    cells = kernel.WiringCells(np.full(18, -1, np.int32), *np.zeros((2, 0, 0), np.int32))
    for seed in range(5):
        edges = reconnect_within_blocks(Wired(*graph.edges(), 0), block, cells, default_rng(seed))
        after = nx.Graph(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
        assert nx.is_connected(after)
        lost = sum(nx.triangles(two).values()) - sum(nx.triangles(after).values())
        assert lost // 3 <= 1
