"""Independent communities: our method next to igraph's, modularity and agreement."""

from __future__ import annotations

import subprocess
import sys

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import normalized_mutual_info_score
from tests import reference

from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.utility.communities import (
    community_agreement,
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


def test_planted_communities_are_found(planted: tuple[Graph, np.ndarray]) -> None:
    graph, blocks = planted
    labels = find_communities(graph, np.random.default_rng(1))
    assert community_agreement(labels, blocks) > 0.98
    sizes = np.bincount(labels)
    assert (np.diff(sizes) <= 0).all()


def test_same_seed_same_communities() -> None:
    edges = np.array(nx.powerlaw_cluster_graph(400, 3, 0.3, seed=2).edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1])
    first, again, other = (
        find_communities(graph, np.random.default_rng(seed)) for seed in (3, 3, 4)
    )
    assert (first == again).all() and (first != other).any()


def test_our_method_is_as_good_as_igraph() -> None:
    for seed in range(3):
        edges = np.array(nx.powerlaw_cluster_graph(500, 3, 0.5, seed=seed).edges)
        graph = Graph.from_edges(edges[:, 0], edges[:, 1])
        other = igraph.Graph(n=graph.n_nodes, edges=np.stack(graph.edges(), axis=1))
        leiden = other.community_leiden("modularity", n_iterations=10).modularity
        own = modularity(graph, find_communities(graph, np.random.default_rng(0)))
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
    labels = find_communities(published, np.random.default_rng(1))
    assert foreign_modularity(graph, labels, identity) == pytest.approx(
        modularity(published, labels)
    )
    scrambled = np.random.default_rng(2).permutation(identity)
    assert abs(foreign_modularity(graph, labels, scrambled)) < 0.05
    assert len(blocks) == len(labels)


def test_communities_do_not_depend_on_igraph() -> None:
    script = (
        "import sys\n"
        "if {hidden}: sys.modules['igraph'] = None\n"
        "import numpy as np\n"
        "from coterie.anonymize.utility.communities import find_communities\n"
        "from coterie.data.demo_data import social_network\n"
        "found = find_communities(social_network()[0], np.random.default_rng(0))\n"
        "print(found.tolist())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script.format(hidden=hidden)],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hidden in (True, False)
    }
    assert len(found) == 1 and len(found.pop()) > 300


def test_graphs_without_edges() -> None:
    rng = np.random.default_rng(0)
    empty = Graph.from_edges([], [], n_nodes=3)
    assert sorted(find_communities(empty, rng).tolist()) == [0, 1, 2]
    assert len(find_communities(Graph.from_edges([], [], n_nodes=0), rng)) == 0


def test_directed_graphs_are_refused() -> None:
    directed = Graph.from_edges([0], [1], directed=True)
    with pytest.raises(InputError, match="undirected"):
        find_communities(directed, np.random.default_rng(0))
