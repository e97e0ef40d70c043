"""The blocks of a release divide communities, and the draw keeps communities."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.draw.clustering import (
    _allocate_blocks,
    cluster_for_release,
    communities_of_size,
    default_n_blocks,
)
from coterie.anonymize.draw.dcsbm import StubModel
from coterie.anonymize.utility.communities import (
    community_agreement,
    find_communities,
    modularity,
)
from coterie.data import Graph


def circles_of_friends(seed: int = 0, n: int = 900, communities: int = 9) -> Graph:
    """Return a graph of small circles, most of them inside one community."""
    rng = default_rng(seed)
    community = np.arange(n) % communities
    ends = []
    for _ in range(520):
        inside = np.flatnonzero(community == rng.integers(communities))
        pool = inside if rng.random() < 0.85 else np.arange(n)
        circle = rng.choice(pool, rng.integers(4, 8), replace=False)
        ends.append(np.array([(u, v) for u in circle for v in circle if u < v]))
    source, target = np.concatenate(ends).T
    return Graph.from_edges(source, target, n_nodes=n)


@pytest.fixture(scope="module")
def friends() -> Graph:
    return circles_of_friends()


@pytest.fixture(scope="module")
def blocks(friends: Graph) -> np.ndarray:
    return cluster_for_release(friends, 15, degree_corrected=True, min_block_size=10)


def test_communities_have_the_size_and_the_number_asked_for(friends: Graph) -> None:
    for minimum, most in ((20, 30), (200, 30), (20, 3)):
        found = communities_of_size(friends, minimum, most, default_rng(0))
        assert np.bincount(found).min() >= minimum
        assert found.max() + 1 <= most


def test_communities_without_edges_between_them_can_be_merged() -> None:
    pairs = np.arange(0, 40, 2)
    found = communities_of_size(Graph.from_edges(pairs, pairs + 1), 4, 100, default_rng(0))
    assert np.bincount(found).min() >= 4


def test_every_community_has_a_block_and_no_block_is_too_small() -> None:
    parts = _allocate_blocks(np.array([1000, 100, 30]), 12, 20)
    assert parts.sum() == 12 and parts.tolist()[2] == 1
    assert _allocate_blocks(np.array([50, 30]), 12, 20).tolist() == [2, 1]


def test_by_default_every_community_that_is_large_enough_gets_a_block() -> None:
    """Sixty groups of 25 people: one block per hundred people would join three or four of them."""
    rng = default_rng(0)
    group = np.arange(1500) // 25
    u, v = np.triu_indices(1500, 1)
    kept = rng.random(len(u)) < np.where(group[u] == group[v], 0.7, 0.0002)
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=1500)
    assert default_n_blocks(graph) == 60
    assert default_n_blocks(graph, min_class_size=30) < 30
    labels = cluster_for_release(graph, 60, degree_corrected=True, min_block_size=10)
    assert all(len(np.unique(labels[group == g])) == 1 for g in range(60))


def test_there_are_as_many_blocks_as_asked_for(blocks: np.ndarray) -> None:
    assert len(np.unique(blocks)) == 15
    assert np.bincount(blocks).min() >= 20


def test_blocks_divide_communities(friends: Graph, blocks: np.ndarray) -> None:
    communities = communities_of_size(friends, 20, 15, default_rng(0))
    assert len(np.unique(communities.astype(np.int64) * 100 + blocks)) == 15


def test_communities_of_the_release_are_communities_of_the_original(
    friends: Graph, blocks: np.ndarray
) -> None:
    model = StubModel.fit(friends, blocks, min_size=10, limit=0.85)
    drawn = model.draw(default_rng(2))
    own = find_communities(friends, default_rng(3))
    released = find_communities(drawn, default_rng(3))
    assert modularity(friends, released) >= 0.85 * modularity(friends, own)
    assert community_agreement(own, released) >= 0.75
