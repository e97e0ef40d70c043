"""Merges and checked moves against the plain loops of reference.py, for every block objective."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.data import Graph, Ratings
from coterie.engine import LocalEngine
from coterie.kernels.hard.agglomerate import (
    NEVER,
    cheapest_partners,
    choose_merges,
    group_by_slot,
    merge_cost,
    spread_row,
)
from coterie.kernels.hard.sparse_rows import SparseRows, contract, contract_rows, members_of
from coterie.models.hard.costs import make_objective
from coterie.models.hard.search.checked_moves import settle

GRAPHS = ("simple", "degree-corrected", "directed", "weighted")
RATINGS = ("ratings", "likes", "binomial")


def random_graph(kind: str, seed: int, n: int = 14) -> tuple[Graph, object]:
    """(graph, its reference entropy as a function of (labels, k))"""
    rng = np.random.default_rng(seed)
    pairs = [
        (u, v)
        for u in range(n)
        for v in range(n)
        if (u < v or (kind == "directed" and u != v)) and rng.random() < 0.3
    ]
    u = [a for a, _ in pairs]
    v = [b for _, b in pairs]
    if kind == "weighted":
        weights = rng.integers(1, 5, len(pairs)).astype(float)
        graph = Graph.from_edges(u, v, weights=weights, n_nodes=n)
        triples = list(zip(u, v, weights, strict=True))
        return graph, lambda z, k: reference.entropy_weighted(triples, z, k)
    graph = Graph.from_edges(u, v, n_nodes=n, directed=kind == "directed")
    entropy = {
        "simple": reference.entropy_simple,
        "degree-corrected": reference.entropy_degree_corrected,
        "directed": reference.entropy_directed,
    }[kind]
    return graph, lambda z, k: entropy(pairs, z, k)


def random_ratings(kind: str, seed: int) -> tuple[Ratings, object]:
    """(ratings, reference entropy as a function of (row labels, col labels, k, l))"""
    rng = np.random.default_rng(seed)
    triples = [
        (u, v, (u + v) % 3 if u == v else int(rng.integers(3)))
        for u in range(9)
        for v in range(7)
        if rng.random() < 0.6 or v == u % 7
    ]
    ratings = Ratings.from_arrays(*zip(*triples, strict=True))
    if kind == "likes":
        likes = [(u, v) for u, v, _ in triples]
        return ratings, lambda a, b, k, q: reference.entropy_likes(likes, a, b, k, q)
    entropy = reference.entropy_ratings if kind == "ratings" else reference.entropy_binomial
    return ratings, lambda a, b, k, q: entropy(triples, a, b, k, q, 3)


def cost_of_merge(model, rows, others, r: int, t: int) -> float:
    row = np.zeros(len(model.signs) * len(others))
    spread_row(rows, r, row)
    return merge_cost(model, rows, others, row, r, t)


@pytest.mark.parametrize("kind", GRAPHS)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 14))
@settings(max_examples=15, deadline=None)
def test_merge_cost_of_graph_blocks(kind, seed, k):
    graph, entropy = random_graph(kind, seed)
    labels = np.random.default_rng(seed).integers(0, k, graph.n_nodes).astype(np.int32)
    objective = make_objective(kind, graph)
    rows = contract(objective.model, objective.sides[0], labels, k, labels, k)
    for r in range(k):
        for t in range(k):
            if r != t:
                ours = cost_of_merge(objective.model, rows, rows.sizes, r, t)
                slow = reference.merge_cost(lambda z: entropy(z, k), labels, r, t)
                assert ours == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize("kind", RATINGS)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 7), q=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_merge_cost_of_user_groups_and_item_groups(kind, seed, k, q):
    ratings, entropy = random_ratings(kind, seed)
    rng = np.random.default_rng(seed)
    z = (
        rng.integers(0, k, ratings.n_users).astype(np.int32),
        rng.integers(0, q, ratings.n_items).astype(np.int32),
    )
    objective = make_objective(kind, ratings)
    users = contract(objective.model, objective.sides[0], z[0], k, z[1], q)
    items = contract(objective.model, objective.sides[1], z[1], q, z[0], k)
    for r in range(k - 1):
        ours = cost_of_merge(objective.model, users, items.sizes, r, r + 1)
        slow = reference.merge_cost(lambda a: entropy(a, z[1], k, q), z[0], r, r + 1)
        assert ours == pytest.approx(slow, abs=1e-9)
    for r in range(q - 1):
        ours = cost_of_merge(objective.model, items, users.sizes, r, r + 1)
        slow = reference.merge_cost(lambda b: entropy(z[0], b, k, q), z[1], r, r + 1)
        assert ours == pytest.approx(slow, abs=1e-9)


def test_sparse_rows_equal_the_block_matrix():
    graph, _ = random_graph("simple", 3)
    labels = np.random.default_rng(3).integers(0, 4, graph.n_nodes).astype(np.int32)
    objective = make_objective("simple", graph)
    rows = contract(objective.model, objective.sides[0], labels, 4, labels, 4)
    dense = np.zeros((4, 4))
    for r in range(4):
        here = slice(rows.indptr[r], rows.indptr[r + 1])
        dense[r, rows.slots[here]] = rows.values[here]
    pairs = list(zip(*(end.tolist() for end in graph.edges()), strict=True))
    assert (dense == reference.block_edges(pairs, labels, 4)).all()
    assert (rows.total == np.bincount(labels, graph.degrees, 4)).all()


def assert_same_rows(ours: SparseRows, expected: SparseRows) -> None:
    for name, a, b in zip(SparseRows._fields, ours, expected, strict=True):
        assert np.array_equal(a, b), name


@pytest.mark.parametrize("kind", GRAPHS)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 14), merged=st.integers(1, 14))
@settings(max_examples=15, deadline=None)
def test_rows_of_merged_blocks_equal_those_counted_from_the_graph(kind, seed, k, merged):
    graph, _ = random_graph(kind, seed)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, graph.n_nodes).astype(np.int32)
    into = rng.integers(0, merged, k).astype(np.int32)
    objective = make_objective(kind, graph)
    model, side = objective.model, objective.sides[0]
    rows = contract(model, side, labels, k, labels, k, False)
    assert len(rows.roots) == 0
    after = into[labels]
    assert_same_rows(
        contract_rows(model, rows, into, merged, into, merged),
        contract(model, side, after, merged, after, merged),
    )


@pytest.mark.parametrize("kind", RATINGS)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 7), q=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_rows_of_merged_users_and_items_equal_those_counted_from_the_ratings(kind, seed, k, q):
    ratings, _ = random_ratings(kind, seed)
    rng = np.random.default_rng(seed)
    users = rng.integers(0, k, ratings.n_users).astype(np.int32)
    items = rng.integers(0, q, ratings.n_items).astype(np.int32)
    into = rng.integers(0, 3, k).astype(np.int32)
    objective = make_objective(kind, ratings)
    model, sides = objective.model, objective.sides
    of_users = contract(model, sides[0], users, k, items, q)
    of_items = contract(model, sides[1], items, q, users, k)
    assert_same_rows(
        contract_rows(model, of_users, into, 3, np.arange(q, dtype=np.int32), q),
        contract(model, sides[0], into[users], 3, items, q),
    )
    assert_same_rows(
        contract_rows(model, of_items, np.arange(q, dtype=np.int32), q, into, 3),
        contract(model, sides[1], items, q, into[users], 3),
    )


def test_edge_of_weight_zero_adds_no_slot():
    graph = Graph.from_edges([0, 1], [1, 2], weights=[0.0, 2.0], n_nodes=3)
    objective = make_objective("weighted", graph)
    labels = np.arange(3, dtype=np.int32)
    rows = contract(objective.model, objective.sides[0], labels, 3, labels, 3)
    assert rows.slots.tolist() == [2, 1]


def test_members_are_grouped_by_block():
    start, nodes = members_of(np.array([1, 0, 1, 3], np.int32), 4)
    assert start.tolist() == [0, 1, 3, 3, 4]
    assert nodes.tolist() == [1, 0, 2, 3]


def test_equal_nodes_are_cheapest_partners_and_cost_nothing():
    """Nodes 2..5 hang on both of 0 and 1: any two of them are interchangeable."""
    graph = Graph.from_edges([0] * 4 + [1] * 4, [2, 3, 4, 5] * 2, n_nodes=6)
    objective = make_objective("simple", graph)
    labels = np.arange(6, dtype=np.int32)
    rows = contract(objective.model, objective.sides[0], labels, 6, labels, 6)
    found, costs = np.empty((6, 2), np.int64), np.empty((6, 2))
    cheapest_partners(objective.model, rows, rows, np.uint64(0), 0, 6, 192, found, costs)
    assert set(found[2]) < {3, 4, 5}
    assert found[0, 0] == 1
    assert np.allclose(costs[2:], 0.0)


def test_isolated_node_has_a_partner():
    graph = Graph.from_edges([0, 1], [1, 2], n_nodes=5)
    objective = make_objective("simple", graph)
    labels = np.arange(5, dtype=np.int32)
    rows = contract(objective.model, objective.sides[0], labels, 5, labels, 5)
    found, costs = np.empty((5, 1), np.int64), np.empty((5, 1))
    cheapest_partners(objective.model, rows, rows, np.uint64(0), 0, 5, 192, found, costs)
    assert found[3, 0] == 4
    assert found[4, 0] == 3
    assert (costs < NEVER).all()


def test_chosen_merges_are_disjoint_and_cheapest_unless_free():
    found = np.array([[1], [0], [1], [4], [3]])
    costs = np.array([[1.0], [1.0], [2.0], [9.0], [9.0]])
    order = np.argsort(costs, axis=None, kind="stable")
    into, made = choose_merges(found, costs, order, 5, 5.0, 2)
    assert into.tolist() == [0, 0, 2, 3, 4]
    assert made == 1
    into, made = choose_merges(found, costs, order, 5, 10.0, 2)
    assert into.tolist() == [0, 0, 2, 3, 3]
    into, made = choose_merges(found, costs, order, 5, 10.0, 3)  # groups of up to three
    assert into.tolist() == [0, 0, 0, 3, 3]
    assert made == 3
    into, made = choose_merges(found, 0 * costs, order, 5, 0.0, 2)
    assert into.tolist() == [0, 0, 0, 3, 3]
    assert made == 3


@pytest.mark.parametrize("kind", GRAPHS)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_settled_graphs_are_locally_optimal_with_exact_gains(kind, seed, k):
    graph, entropy = random_graph(kind, seed, n=11)
    objective = make_objective(kind, graph)
    rng = np.random.default_rng(seed)
    state = objective.start((rng.integers(0, k, graph.n_nodes),), (k,))
    before = objective.entropy(state)
    outcome = settle(objective, state, rng, LocalEngine(1))
    after = entropy(state.labels[0], k)
    assert outcome.locally_optimal
    assert before - outcome.gained == pytest.approx(after, abs=1e-9)
    assert reference.is_locally_optimal(lambda z: entropy(z, k), state.labels[0], k)


@pytest.mark.parametrize("kind", RATINGS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_settled_ratings_are_locally_optimal_on_both_sides(kind, seed):
    ratings, entropy = random_ratings(kind, seed)
    objective = make_objective(kind, ratings)
    rng = np.random.default_rng(seed)
    z = (rng.integers(0, 3, ratings.n_users), rng.integers(0, 2, ratings.n_items))
    state = objective.start(z, (3, 2))
    settle(objective, state, rng, LocalEngine(1))
    a, b = state.labels
    assert reference.is_locally_optimal(lambda z: entropy(z, b, 3, 2), a, 3)
    assert reference.is_locally_optimal(lambda z: entropy(a, z, 3, 2), b, 2)


def test_blocks_are_grouped_by_the_representative_they_share():
    """Nodes 2..4 hang on 0, nodes 5..7 on 1; node 8 is isolated."""
    graph = Graph.from_edges([0] * 3 + [1] * 3, [2, 3, 4, 5, 6, 7], n_nodes=9)
    objective = make_objective("simple", graph)
    labels = np.arange(9, dtype=np.int32)
    rows = contract(objective.model, objective.sides[0], labels, 9, labels, 9)
    representative = np.arange(9) < 2
    order = np.arange(9)
    into = group_by_slot(objective.model, rows, rows, order, representative, 9)
    assert into.tolist() == [0, 1, 2, 2, 2, 5, 5, 5, 8]
    into = group_by_slot(objective.model, rows, rows, order[::-1].copy(), representative, 2)
    assert into.tolist() == [0, 1, 2, 4, 4, 5, 7, 7, 8]  # two of each three, the last ones first


def test_the_slot_that_says_most_is_chosen():
    """Node 3 has two edges to the block of 0 and 1, and one to that of 2, which has no other."""
    graph = Graph.from_edges([0, 1, 2, 0, 1, 0, 1], [3, 3, 3, 4, 4, 5, 5], n_nodes=6)
    objective = make_objective("simple", graph)
    labels = np.array([0, 0, 1, 2, 3, 4], np.int32)
    rows = contract(objective.model, objective.sides[0], labels, 5, labels, 5)
    assert np.log(14 / (3 * 1)) > 2 * np.log(2 * 14 / (3 * 6))
    representative = np.array([True, True, False, False, False])
    into = group_by_slot(objective.model, rows, rows, np.arange(5), representative, 5)
    assert into.tolist() == [0, 1, 2, 3, 3]
    representative[1] = False
    into = group_by_slot(objective.model, rows, rows, np.arange(5), representative, 5)
    assert into.tolist() == [0, 1, 2, 2, 2]
