"""The blocks of a release divide communities, and the draw keeps communities."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.draw.clustering import (
    _allocate_blocks,
    cluster_for_release,
    communities_of_size,
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
    own = find_communities(friends, default_rng(3), "own")
    released = find_communities(drawn, default_rng(3), "own")
    assert modularity(friends, released) >= 0.85 * modularity(friends, own)
    assert community_agreement(own, released) >= 0.75
