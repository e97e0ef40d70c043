"""A soft fit that starts from a hard clustering."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct
from coterie.base.errors import InputError
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.data.writers import write_graph
from coterie.engine.sharded_data import open_shards
from coterie.engine.sharding import shard_graph


def test_hard_start_ends_below_the_hard_clustering_and_a_random_start() -> None:
    """Many groups: a random start is stuck far above the hard clustering."""
    graph, labels = planted_partition(300, 20, mean_degree=10, mixing=0.1, rng=0)
    soft = ct.MMSBM(20, init="hard", max_iter=100).fit(graph)
    random = ct.MMSBM(20, max_iter=100).fit(graph)
    hard = ct.GeneralizedKMeans(20).fit(graph)
    assert soft.hard_entropy_ == pytest.approx(hard.entropy_, rel=0.01)
    assert soft.entropy_ < soft.hard_entropy_ < random.entropy_
    assert random.hard_entropy_ is None
    main = soft.memberships_.argmax(axis=1)
    same = main[:, None] == main
    assert (same == (labels[:, None] == labels)).mean() > 0.99


def test_entropy_of_one_hot_memberships_is_that_of_the_hard_model() -> None:
    """So the two entropies that are compared belong to one model."""
    graph, _ = planted_partition(60, 3, mean_degree=8, mixing=0.1, rng=1)
    hard = ct.GeneralizedKMeans(3).fit(graph)
    p = np.clip(np.asarray(hard.block_probabilities_), 1e-300, 1 - 1e-16)
    one_hot = np.eye(3)[hard.labels_]
    pair = one_hot @ p @ one_hot.T
    present = graph.to_numpy() > 0
    u, v = np.triu_indices(60, 1)
    likelihood = np.where(present[u, v], np.log(pair[u, v]), np.log1p(-pair[u, v])).sum()
    assert hard.entropy_ == pytest.approx(-likelihood)


def test_hard_start_of_ratings_directed_graphs_and_more_groups_than_nodes() -> None:
    ratings, _ = mmsbm_ratings(60, 40, 1_000, (2, 3), rng=0)
    soft = ct.MMSBM((2, 3), init="hard", max_iter=60).fit(ratings)
    assert soft.entropy_ < soft.hard_entropy_
    with_negatives = ct.MMSBM(2, init="hard", max_iter=5, negatives_per_rating=1.0).fit(ratings)
    assert with_negatives.hard_entropy_ is None  # not the same observations
    directed = ct.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], directed=True)
    assert ct.MCMMSBM(2, init="hard", max_iter=3).fit(directed).memberships_.shape == (4, 2)
    with pytest.warns(ct.AssumptionWarning, match="groups"):
        ct.MMSBM(6, init="hard", max_iter=3).fit(directed)


def test_hard_start_of_shards_is_refused(tmp_path) -> None:
    graph, _ = planted_partition(40, 2, mean_degree=6, rng=0)
    write_graph(graph, tmp_path / "graph.csv")
    shard_graph(tmp_path / "graph.csv", tmp_path / "shards", shards=2)
    with pytest.raises(InputError, match="does not support shards"):
        ct.MMSBM(2, init="hard").fit(open_shards(tmp_path / "shards"))
