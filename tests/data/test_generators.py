"""Generators: seeded, and distributed as they say."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from coterie.base.errors import InputError
from coterie.data.demo_data import COMMUNITIES, movie_ratings, social_network
from coterie.data.generators import (
    degree_corrected_sbm,
    mmsbm_ratings,
    planted_partition,
    stochastic_block_model,
)


def cell_counts(graph, labels, k):
    source, target = graph.edges()
    counts = np.zeros((k, k), int)
    np.add.at(counts, (labels[source], labels[target]), 1)
    return counts if graph.directed else counts + counts.T - np.diag(counts.diagonal())


@pytest.mark.parametrize("directed", [False, True])
def test_number_of_edges_per_cell_is_binomial(directed):
    sizes, P = np.array([30, 20, 1, 0]), np.full((4, 4), 0.5)
    P[0, 0], P[1, 1], P[0, 1], P[1, 0] = 0.02, 1.0, 0.3, 0.3
    totals = np.zeros((4, 4))
    runs = 200
    for seed in range(runs):
        graph, labels = stochastic_block_model(sizes, P, directed=directed, rng=seed)
        assert graph.cleaned == (0, 0, 0)
        totals += cell_counts(graph, labels, 4)
    pairs = np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1) // (1 if directed else 2))
    for i in range(4):
        for j in range(4):
            test = stats.binomtest(int(totals[i, j]), max(int(pairs[i, j]) * runs, 1), P[i, j])
            assert pairs[i, j] == 0 or test.pvalue > 1e-4
            assert pairs[i, j] > 0 or totals[i, j] == 0


def test_pairs_of_a_cell_are_equally_likely():
    counts = np.zeros((6, 6))
    for seed in range(3000):
        graph, _ = stochastic_block_model([6], [[0.3]], shuffle=False, rng=seed)
        counts[graph.edges()] += 1
    upper = counts[np.triu_indices(6, 1)]
    assert stats.chisquare(upper).pvalue > 1e-4
    assert (np.tril(counts) == 0).all()


def test_cells_with_probability_one_and_zero():
    graph, _ = stochastic_block_model([5, 4], [[1, 0], [0, 1]], shuffle=False)
    assert nx.is_isomorphic(
        graph.to_networkx(), nx.disjoint_union(nx.complete_graph(5), nx.complete_graph(4))
    )
    directed, _ = stochastic_block_model([5], [[1]], directed=True)
    assert directed.n_edges == 20
    none, labels = stochastic_block_model([0, 3], np.zeros((2, 2)))
    assert (none.n_nodes, none.n_edges, labels.tolist()) == (3, 0, [1, 1, 1])


def test_planted_partition_has_the_requested_degree_and_mixing():
    graph, labels = planted_partition(20_000, 10, mean_degree=20, mixing=0.25, rng=3)
    source, target = graph.edges()
    assert graph.degrees.mean() == pytest.approx(20, rel=0.02)
    assert np.mean(labels[source] != labels[target]) == pytest.approx(0.25, abs=0.01)
    assert np.bincount(labels).tolist() == [2000] * 10
    uneven, labels = planted_partition(11, 3, p_in=1, p_out=0)
    assert sorted(np.bincount(labels)) == [3, 4, 4]
    assert uneven.n_edges == 3 + 6 + 6


def test_degree_corrected_degrees_are_heavy_tailed():
    graph, labels = degree_corrected_sbm(20_000, 10, mean_degree=15, mixing=0.2, rng=0)
    source, target = graph.edges()
    assert 12 < graph.degrees.mean() < 15.5
    assert graph.degrees.max() > 20 * graph.degrees.mean() > 20 * np.median(graph.degrees)
    assert np.mean(labels[source] != labels[target]) == pytest.approx(0.2 * 0.9, abs=0.02)
    capped, _ = degree_corrected_sbm(20_000, 10, mean_degree=15, max_degree=40, rng=0)
    assert capped.degrees.max() < 100


def test_ratings_follow_the_model():
    ratings, truth = mmsbm_ratings(400, 300, 20_000, (3, 2), values=(1, 2, 5), rng=1)
    assert (len(ratings), ratings.n_users, ratings.n_items) == (20_000, 400, 300)
    assert ratings.values.tolist() == [1, 2, 5]
    assert len(np.unique(ratings.users.astype(int) * 300 + ratings.items)) == 20_000
    p = np.einsum(
        "ei,ej,ijr->er",
        truth.user_memberships[ratings.users],
        truth.item_memberships[ratings.items],
        truth.theta,
    )
    z = (np.bincount(ratings.codes) - p.sum(0)) / np.sqrt((p * (1 - p)).sum(0))
    assert np.abs(z).max() < 4
    likelihood = np.log(p[np.arange(len(p)), ratings.codes]).mean()
    entropy = (p * np.log(np.maximum(p, 1e-300))).sum(1).mean()
    assert likelihood == pytest.approx(entropy, abs=0.05)


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: planted_partition(200, 4, mean_degree=8, rng=rng)[0].indices,
        lambda rng: degree_corrected_sbm(200, 4, mean_degree=8, rng=rng)[0].indices,
        lambda rng: mmsbm_ratings(50, 50, 500, (2, 2), rng=rng)[0].codes,
        lambda rng: social_network(rng=rng)[0].indices,
        lambda rng: movie_ratings(rng=rng)[0].codes,
    ],
)
def test_same_seed_gives_same_data(make):
    assert np.array_equal(make(0), make(0))
    assert np.array_equal(make(np.random.default_rng(0)), make(0))
    assert not np.array_equal(make(0), make(1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: planted_partition(10, 2, mean_degree=500), "between 0 and 1"),
        (lambda: planted_partition(10, 2, p_in=0.5), "p_out"),
        (lambda: planted_partition(10, 0), "block"),
        (lambda: stochastic_block_model([2, 2], [[0.1, 0.2], [0.3, 0.1]]), "symmetric"),
        (lambda: stochastic_block_model([2], [[0.1, 0.2]]), "shape"),
        (lambda: stochastic_block_model([-2], [[0.1]]), "negative block sizes"),
        (lambda: degree_corrected_sbm(10, 2, exponent=1.5), "exponent"),
        (lambda: mmsbm_ratings(3, 3, 9), "more than half"),
        (lambda: social_network(n_people=0), "not enough names"),
    ],
)
def test_impossible_parameters_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_social_network_resembles_a_real_network():
    graph, clubs = social_network()
    network = graph.to_networkx()
    assert graph.n_nodes == len(set(graph.ids)) == 300
    assert set(clubs) == set(range(len(COMMUNITIES)))
    assert nx.is_connected(network)
    assert nx.transitivity(network) > 0.2
    source, target = graph.edges()
    assert np.mean(clubs[source] == clubs[target]) > 0.8


def test_viewers_rate_their_genres_higher():
    ratings, genres = movie_ratings()
    assert set(ratings.item_ids) == set(genres)
    assert len(set(ratings.user_ids)) == 240
    assert ratings.duplicates == 0
    kinds = np.array([genres[title] for title in ratings.item_ids])[ratings.items]
    table = ratings.to_pandas().assign(genre=kinds)
    by_user = table.groupby(["user", "genre"])["rating"].mean().unstack()
    assert (by_user.max(axis=1) - by_user.min(axis=1)).mean() > 1
