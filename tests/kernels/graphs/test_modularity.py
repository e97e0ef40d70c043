"""Communities of high modularity: exact sums, no move that would help, connected communities."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.anonymize.draw.rewiring import communities_of_blocks
from coterie.data import Graph
from coterie.data.generators import planted_partition
from coterie.kernels.graphs.modularity import modular_communities, scaled_modularity

Edges = list[tuple[int, int]]


def _graph(edges: Edges, n: int) -> Graph:
    return Graph.from_edges([u for u, _ in edges], [v for _, v in edges], n_nodes=n)


@st.composite
def small_graphs(draw: st.DrawFn, most: int) -> tuple[Edges, int]:
    n = draw(st.integers(2, most))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1)), n


@settings(max_examples=40, deadline=None)
@given(small_graphs(7), st.integers(0, 3))
def test_close_to_the_best_of_all_divisions(case: tuple[Edges, int], key: int) -> None:
    edges, n = case
    graph = _graph(edges, n)
    labels = modular_communities(graph.indptr, graph.indices, np.uint64(key), 10)
    one = np.ones(len(graph.indices), np.int64)
    value = scaled_modularity(graph.indptr, graph.indices, one, graph.degrees, labels)
    exact = reference.modularity(edges, labels.tolist())
    assert value == pytest.approx(exact * (2 * len(edges)) ** 2)
    best = reference.best_modularity(edges, n)
    assert best - 0.07 <= exact <= best + 1e-12


@settings(max_examples=40, deadline=None)
@given(small_graphs(14), st.integers(0, 3))
def test_no_move_helps_and_communities_are_connected(case: tuple[Edges, int], key: int) -> None:
    edges, n = case
    graph = _graph(edges, n)
    labels = modular_communities(graph.indptr, graph.indices, np.uint64(key), 100).tolist()
    found = reference.modularity(edges, labels)
    for v in range(n):
        for other in range(max(labels) + 2):
            moved = [*labels[:v], other, *labels[v + 1 :]]
            assert reference.modularity(edges, moved) <= found + 1e-12
    for community in set(labels):
        inside = [v for v in range(n) if labels[v] == community]
        assert nx.is_connected(nx.Graph(_inner(edges, labels, community, inside)))


def _inner(edges: Edges, labels: list[int], community: int, inside: list[int]) -> nx.Graph:
    part = nx.Graph()
    part.add_nodes_from(inside)
    part.add_edges_from((u, v) for u, v in edges if labels[u] == labels[v] == community)
    return part


def test_planted_communities_are_found_exactly() -> None:
    graph, blocks = planted_partition(2000, 20, p_in=0.2, p_out=0.002, rng=0)
    labels = modular_communities(graph.indptr, graph.indices, np.uint64(5), 10)
    assert reference.normalized_mutual_information(labels.tolist(), blocks.tolist()) == (
        pytest.approx(1.0)
    )


def test_the_same_key_gives_the_same_communities() -> None:
    graph = _graph(list(nx.powerlaw_cluster_graph(500, 3, 0.3, seed=1).edges), 500)
    first, again, other = (
        modular_communities(graph.indptr, graph.indices, np.uint64(key), 10) for key in (1, 1, 2)
    )
    assert (first == again).all() and (first != other).any()


@settings(max_examples=40, deadline=None)
@given(small_graphs(7), st.integers(0, 2**31))
def test_no_block_would_be_better_in_another_community(case: tuple[Edges, int], seed: int) -> None:
    pairs, n = case
    rng = np.random.default_rng(seed)
    matrix = np.diag(2 * rng.integers(0, 6, n))
    for u, v in pairs:
        matrix[u, v] = matrix[v, u] = rng.integers(1, 5)
    labels = communities_of_blocks(matrix).tolist()
    rows = matrix.tolist()
    found = reference.modularity_of_blocks(rows, labels)
    assert found >= reference.modularity_of_blocks(rows, range(n)) - 1e-12
    for v in range(n):
        for other in range(max(labels) + 2):
            moved = [*labels[:v], other, *labels[v + 1 :]]
            assert reference.modularity_of_blocks(rows, moved) <= found + 1e-12
