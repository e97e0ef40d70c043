"""Connected blocks, and the sentences that say what blocks are."""

from __future__ import annotations

import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference as ref
from tests.support.hard_models import hard_model

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.models.hard import connected
from coterie.models.hard.connected import (
    _Merger,
    connect,
    connected_parts,
    disconnected_blocks,
)
from coterie.models.hard.explanation import inside_edges


def random_graph(n: int, m: int, seed: int, objective: str) -> ct.Graph:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, n, (2, m))
    pairs = np.unique(np.sort([source, target], axis=0)[:, source != target], axis=1)
    if objective == "directed":
        return ct.Graph.from_edges(source, target, n_nodes=n, directed=True)
    weights = rng.integers(1, 5, pairs.shape[1]) if objective == "weighted" else None
    return ct.Graph.from_edges(*pairs, weights=weights, n_nodes=n)


@pytest.mark.parametrize(
    ("n", "m", "objective"),
    [(1, 1, "simple"), (40, 30, "directed"), (60, 50, "simple"), (90, 300, "simple")],
)
def test_small_and_large_graphs_have_the_same_parts(n, m, objective, monkeypatch) -> None:
    graph = random_graph(n, m, 3, objective)
    labels = np.random.default_rng(4).integers(0, 4, n)
    small = connected_parts(graph, labels)
    monkeypatch.setattr(connected, "_FEW_EDGES", -1)  # SciPy
    large = connected_parts(graph, labels)
    assert small.dtype == large.dtype and small.tolist() == large.tolist()


def entropy(objective: str, graph: ct.Graph, labels: np.ndarray) -> float:
    k = int(labels.max()) + 1
    ends = [side.tolist() for side in graph.edges()]
    if objective == "weighted":
        edges = list(zip(*ends, graph.edge_weights().tolist(), strict=True))
        return ref.entropy_weighted(edges, labels.tolist(), k)
    by_name = {
        "simple": ref.entropy_simple,
        "directed": ref.entropy_directed,
        "degree-corrected": ref.entropy_degree_corrected,
    }
    return by_name[objective](list(zip(*ends, strict=True)), labels.tolist(), k)


def are_connected(graph: ct.Graph, labels: np.ndarray) -> bool:
    G = nx.Graph(graph.to_networkx())
    return all(
        nx.is_connected(G.subgraph(np.flatnonzero(labels == b).tolist())) for b in np.unique(labels)
    )


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["simple", "degree-corrected", "directed", "weighted"]), st.integers(0, 10_000)
)
def test_cost_of_a_merge_is_the_change_of_the_entropy(objective: str, seed: int) -> None:
    """Also after an earlier merge has changed the statistics."""
    rng = np.random.default_rng(seed)
    graph = random_graph(10, 25, seed, objective)
    labels = np.unique(rng.integers(0, 5, 10), return_inverse=True)[1]
    merger = _Merger(objective, graph, labels)
    for _ in range(2):
        pairs = [(r, s) for r, row in enumerate(merger.cells) for s in row if r < s]
        if not pairs:
            return
        r, s = pairs[int(rng.integers(len(pairs)))]
        merged = np.where(labels == s, r, labels)
        change = entropy(objective, graph, merged) - entropy(objective, graph, labels)
        assert merger.cost(r, s) == pytest.approx(change, abs=1e-8)
        merger.merge(r, s)
        labels = merged


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_blocks_are_connected_and_as_many_as_requested(seed: int, k: int) -> None:
    graph = random_graph(14, 16, seed, "simple")
    start = np.random.default_rng(seed).integers(0, k, 14)
    labels = connect("degree-corrected", graph, start, k)
    assert are_connected(graph, labels)
    assert disconnected_blocks(graph, labels) == 0
    components = nx.number_connected_components(graph.to_networkx())
    before = len(np.unique(start)) - disconnected_blocks(graph, start)
    assert len(np.unique(labels)) <= max(k, components)
    assert len(np.unique(labels)) >= min(before, k)


def test_disconnected_blocks_are_counted() -> None:
    path = ct.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    assert disconnected_blocks(path, np.array([0, 0, 1, 1, 0])) == 1
    assert disconnected_blocks(path, np.array([0, 1, 0, 1, 0])) == 2
    assert disconnected_blocks(path, np.array([0, 0, 0, 1, 1])) == 0


@pytest.mark.parametrize("n_blocks", [4, "auto"])
def test_connected_models_have_connected_blocks(n_blocks) -> None:
    """Two stars: the simple model has a block of hubs and one of leaves, both disconnected."""
    G = nx.disjoint_union(nx.star_graph(12), nx.star_graph(12))
    G.add_edge(0, 13)
    model = hard_model(n_blocks, connected=True).fit(G)
    assert are_connected(model.graph_, model.labels_)
    assert model.block_edges_.shape[0] >= model.n_blocks_
    assert model.block_edges_[np.triu_indices(len(model.block_edges_))].sum() == 25
    if n_blocks == 4:
        assert model.n_blocks_ == 4


def test_connected_auto_keeps_planted_communities() -> None:
    G = nx.planted_partition_graph(4, 25, 0.5, 0.02, seed=1)
    plain = ct.BlockModel("simple").fit(G)
    model = ct.BlockModel("simple", connected=True).fit(G)
    assert plain.n_blocks_ == model.n_blocks_ == 4
    assert {frozenset(c) for c in plain.communities()} == {
        frozenset(c) for c in model.communities()
    }


def test_connected_is_for_graphs_without_a_minimum_size() -> None:
    ratings = ct.Ratings.from_arrays([0, 1], [0, 1], [1, 2])
    with pytest.raises(InputError, match="need a graph in memory"):
        ct.GeneralizedKMeans(1, objective="ratings", connected=True).fit(ratings)
    with pytest.raises(InputError, match="minimum size"):
        ct.GeneralizedKMeans(1, connected=True, min_block_size=2).fit(nx.path_graph(4))


def test_share_of_inside_edges_by_chance_is_that_of_modularity() -> None:
    G = nx.karate_club_graph()
    labels = np.array([G.nodes[v]["club"] == "Officer" for v in G]).astype(int)
    found = inside_edges(ct.Graph.from_networkx(G), labels)
    parts = [set(np.flatnonzero(labels == b).tolist()) for b in (0, 1)]
    assert found.modularity == pytest.approx(nx.community.modularity(G, parts, weight=None))
    D = nx.gnp_random_graph(20, 0.2, seed=1, directed=True)
    labels = np.arange(20) % 2
    parts = [set(range(0, 20, 2)), set(range(1, 20, 2))]
    found = inside_edges(ct.Graph.from_networkx(D), labels)
    assert found.modularity == pytest.approx(nx.community.modularity(D, parts))


def test_karate_club_is_explained() -> None:
    """The graph that newcomers try first: one block, roles and communities, each in words."""
    G = nx.karate_club_graph()
    with pytest.warns(AssumptionWarning, match="No grouping describes this network better than"):
        one = ct.BlockModel("degree-corrected").fit(G)
    assert one.n_blocks_ == 1
    (sentence,) = one.explain()
    assert (
        "degrees alone" in sentence
        and "`GeneralizedKMeans(2)`" in sentence
        and "communities" in sentence
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssumptionWarning)
        roles = ct.GeneralizedKMeans(4).fit(G)
        two = ct.GeneralizedKMeans(2, objective="degree-corrected").fit(G)
    assert roles.explain()[0].startswith("These blocks are roles, not communities")
    assert two.explain() == [
        "These blocks are communities: 87 % of the edges are inside blocks, where chance would "
        "give 50 %."
    ]
    assert "These blocks are roles, not communities" in roles.report()
    assert ct.GeneralizedKMeans(1).fit(G).explain() == []  # one block was requested


def test_blocks_with_most_edges_outside_are_not_called_communities() -> None:
    """Ten groups, of which each is denser inside, but has most edges with the nine others."""
    G = nx.planted_partition_graph(10, 30, 0.5, 0.09, seed=1)
    model = ct.GeneralizedKMeans(10, objective="degree-corrected").fit(G)
    sentence = model.explain()[0]
    inside = inside_edges(model.graph_, model.labels_)
    assert inside.modularity > 0.1 and inside.share < 0.5
    assert "these are not communities" in sentence
    assert f"{100 * inside.share:.0f} % of the edges are inside blocks" in sentence
