"""Networks with two sides: never an edge inside a side, degrees and butterflies kept."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.draw.bipartite import (
    BipartiteModel,
    bipartite_classes,
    butterflies,
    check_sides,
    find_sides,
)
from coterie.anonymize.features.comparison import compare_networks
from coterie.anonymize.features.network import Network
from coterie.base.errors import InputError
from coterie.data import Graph


@pytest.fixture(scope="module")
def network() -> tuple[Graph, np.ndarray, np.ndarray]:
    """People and items in eight communities: graph, sides, communities."""
    rng = default_rng(1)
    people, items = 600, 240
    community = np.r_[rng.integers(0, 8, people), rng.integers(0, 8, items)]
    share = rng.pareto(2, people + items) + 0.3
    u = rng.choice(people, 30_000, p=share[:people] / share[:people].sum())
    v = people + rng.choice(items, 30_000, p=share[people:] / share[people:].sum())
    kept = rng.random(30_000) < np.where(community[u] == community[v], 0.6, 0.04)
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=people + items)
    return graph, np.arange(people + items) >= people, community


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_butterflies_equal_the_reference(seed: int) -> None:
    edges = [(int(a), int(b)) for a, b in nx.bipartite.gnmk_random_graph(6, 5, 18, seed=seed).edges]
    graph = Graph.from_edges(*np.array(edges).T, n_nodes=11)
    sides = np.arange(11) >= 6
    assert butterflies(graph, sides) == reference.butterflies(edges, set(range(6)))
    assert butterflies(graph, ~sides) == reference.butterflies(edges, set(range(6)))


def test_draws_keep_sides_degrees_and_butterflies(network) -> None:
    graph, sides, community = network
    rng = default_rng(0)
    model = BipartiteModel.fit(graph, community, sides, min_size=10, limit=0.85, rng=rng)
    drawn = [model.draw(rng) for _ in range(3)]
    for new in drawn:
        check_sides(new, sides)
        assert abs(new.n_edges / graph.n_edges - 1) < 0.01
    found = compare_networks((Network(graph), sides), [(Network(g), sides) for g in drawn])
    assert abs(found.measures[0].error) < 0.25
    assert found.distances[0].value < 0.04
    assert found.distances[1].value < 0.12  # 15 items per class: degrees are smoothed


def test_classes_are_on_one_side_and_large_enough(network) -> None:
    graph, sides, community = network
    classes = bipartite_classes(graph, community, sides, 10, 0.85)
    for labels in (classes.label, classes.block):
        for r in np.unique(labels):
            assert len(np.unique(sides[labels == r])) == 1
    assert np.bincount(classes.label).min() >= 10


def test_sides_follow_from_the_edges(network) -> None:
    graph, _, _ = network
    found = find_sides(graph)
    source, target = graph.edges()
    assert (found[source] != found[target]).all()


def test_an_edge_inside_a_side_is_an_error_with_both_ids() -> None:
    triangle = Graph.from_edges(["a", "b", "c"], ["b", "c", "a"])
    with pytest.raises(InputError, match="does not have two sides: 1 edges are inside a side"):
        find_sides(triangle)
