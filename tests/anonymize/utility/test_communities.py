"""Independent communities: igraph's and our own, their modularity and their agreement."""

from __future__ import annotations

import random

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score
from tests import reference

from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.utility import communities
from coterie.anonymize.utility.communities import (
    community_agreement,
    community_method,
    find_communities,
    foreign_modularity,
    modularity,
)
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.generators import planted_partition


@pytest.fixture(scope="module")
def planted() -> tuple[Graph, np.ndarray]:
    return planted_partition(600, 6, p_in=0.2, p_out=0.01, rng=0)


@pytest.mark.parametrize("method", ["leiden", "own"])
def test_both_methods_find_planted_communities(
    planted: tuple[Graph, np.ndarray], method: str
) -> None:
    graph, blocks = planted
    labels = find_communities(graph, np.random.default_rng(1), method)
    assert community_agreement(labels, blocks) > 0.98
    sizes = np.bincount(labels)
    assert (np.diff(sizes) <= 0).all()


@pytest.mark.parametrize("method", ["leiden", "own"])
def test_same_seed_same_communities(method: str) -> None:
    edges = np.array(nx.powerlaw_cluster_graph(400, 3, 0.3, seed=2).edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1])
    first, again, other = (
        find_communities(graph, np.random.default_rng(seed), method) for seed in (3, 3, 4)
    )
    assert (first == again).all() and (first != other).any()


def test_our_method_is_as_good_as_igraph() -> None:
    for seed in range(3):
        edges = np.array(nx.powerlaw_cluster_graph(500, 3, 0.5, seed=seed).edges)
        graph = Graph.from_edges(edges[:, 0], edges[:, 1])
        own, leiden = (
            modularity(graph, find_communities(graph, np.random.default_rng(0), method))
            for method in ("own", "leiden")
        )
        assert own > leiden - 0.015


def test_modularity_equals_igraph(planted: tuple[Graph, np.ndarray]) -> None:
    graph, blocks = planted
    other = igraph.Graph(n=600, edges=np.stack(graph.edges(), axis=1))
    assert modularity(graph, blocks) == pytest.approx(other.modularity(blocks.tolist()))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30))
def test_agreement_equals_the_reference_and_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    a, b = (list(column) for column in zip(*pairs, strict=True))
    found = community_agreement(np.array(a), np.array(b))
    assert found == pytest.approx(reference.normalized_mutual_information(a, b), abs=1e-9)
    assert found == pytest.approx(normalized_mutual_info_score(a, b), abs=1e-9)


def test_foreign_modularity_follows_the_identity_map(planted: tuple[Graph, np.ndarray]) -> None:
    graph, blocks = planted
    published, identity = assign_new_ids(graph, np.random.default_rng(1))
    labels = find_communities(published, np.random.default_rng(1), "own")
    assert foreign_modularity(graph, labels, identity) == pytest.approx(
        modularity(published, labels)
    )
    scrambled = np.random.default_rng(2).permutation(identity)
    assert abs(foreign_modularity(graph, labels, scrambled)) < 0.05
    assert len(blocks) == len(labels)


def test_method_without_igraph_and_for_large_graphs(
    planted: tuple[Graph, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, _ = planted
    assert community_method(graph) == "leiden"
    monkeypatch.setattr(communities, "LEIDEN_EDGES", 10)
    assert community_method(graph) == "own"
    monkeypatch.setattr(communities, "LEIDEN_EDGES", 10**9)
    monkeypatch.setattr(communities, "find_spec", lambda name: None)
    assert community_method(graph) == "own"
    with pytest.raises(InputError, match="louvain"):
        community_method(graph, "louvain")


def test_igraph_uses_the_global_generator_again(planted: tuple[Graph, np.ndarray]) -> None:
    graph, _ = planted
    draws = []
    for _ in range(2):
        find_communities(graph, np.random.default_rng(0), "leiden")
        random.seed(7)
        draws.append(igraph.Graph.Erdos_Renyi(20, m=30).get_edgelist())
    assert draws[0] == draws[1]


@pytest.mark.parametrize("method", ["leiden", "own"])
def test_graphs_without_edges(method: str) -> None:
    rng = np.random.default_rng(0)
    empty = Graph.from_edges([], [], n_nodes=3)
    assert sorted(find_communities(empty, rng, method).tolist()) == [0, 1, 2]
    assert len(find_communities(Graph.from_edges([], [], n_nodes=0), rng, method)) == 0


def test_directed_graphs_are_refused() -> None:
    directed = Graph.from_edges([0], [1], directed=True)
    with pytest.raises(InputError, match="undirected"):
        find_communities(directed, np.random.default_rng(0))
