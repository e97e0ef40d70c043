"""Weights of a release: distribution, strengths, and no rare large weight of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from coterie.anonymize.features.comparison import compare_networks
from coterie.anonymize.features.network import Network
from coterie.anonymize.features.weights import (
    WeightModel,
    _pool,
    strengths,
)
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.kernels.graphs.triangles import shared_weight


def test_draw_keeps_weights_and_strengths(planted, weighted: Graph) -> None:
    drawn = WeightModel.fit(weighted, planted.classes, 10).draw(planted.graph, default_rng(0))
    found = compare_networks((Network(weighted), None), [(Network(drawn), None)])
    assert (len(found.measures), len(found.distances)) == (3, 2)
    for m in found.measures:
        assert abs(m.error) < 0.12, m
    for d in found.distances:
        assert d.value < 0.06, d
    assert np.array_equal(drawn.indices, planted.graph.indices)
    weights = drawn.edge_weights()
    assert (weights >= 1).all() and (weights == np.rint(weights)).all()


def test_the_largest_weight_is_not_published(planted, weighted: Graph) -> None:
    """Ten times the largest weight, or not: the draws differ by the mean of its group only."""
    weights = weighted.edge_weights().copy()
    top = weights.argmax()
    weights[top] *= 10
    source, target = weighted.edges()
    huge = Graph.from_edges(source, target, n_nodes=weighted.n_nodes, weights=weights)
    drawn = WeightModel.fit(huge, planted.classes, 10).draw(planted.graph, default_rng(0))
    assert drawn.edge_weights().max() < weights[top] / 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(1, 12))
def test_groups_have_enough_edges_and_people_and_keep_the_sum(
    values: list[int], min_size: int
) -> None:
    weights = np.array(values, float)
    rng = default_rng(0)
    source, target = rng.integers(0, 40, (2, len(weights)))
    pool = _pool(weights, source, target, min_size)
    assert pool.size.sum() == len(weights)
    assert (pool.size * pool.mean).sum() == pytest.approx(weights.sum())
    if len(pool.size) > 1:
        assert pool.size.min() >= min_size
        order = np.argsort(weights, kind="stable")
        ends = np.cumsum(pool.size)
        for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
            people = {*source[order[start:end]], *target[order[start:end]]}
            assert len(people) >= min_size


def test_members_of_a_class_can_exchange_places(planted, permutation, weighted: Graph) -> None:
    source, target = weighted.edges()
    moved = Graph.from_edges(
        permutation[source],
        permutation[target],
        n_nodes=weighted.n_nodes,
        weights=weighted.edge_weights(),
    )
    drawn = [
        WeightModel.fit(graph, planted.classes, 10).draw(planted.graph, default_rng(2))
        for graph in (weighted, moved)
    ]
    assert np.array_equal(drawn[0].weights, drawn[1].weights)


@pytest.mark.parametrize("wrong", [0.0, np.nan])
def test_weights_that_are_not_positive_are_refused(planted, weighted: Graph, wrong: float) -> None:
    graph = Graph(
        weighted.indptr,
        weighted.indices,
        weighted.ids,
        np.where(np.arange(len(weighted.indices)) < 5, wrong, weighted.weights),
    )
    with pytest.raises(InputError, match="is not positive"):
        WeightModel.fit(graph, planted.classes, 10)


def test_strengths_and_common_neighbours_equal_dense_matrices(weighted: Graph) -> None:
    dense = weighted.csr.toarray()
    assert strengths(weighted) == pytest.approx(dense.sum(1))
    source, target = weighted.edges()
    plain = (dense > 0).astype(int)
    expected = (plain @ plain)[source, target]
    every_node = np.ones(weighted.n_nodes)
    found = shared_weight(weighted.indptr, weighted.indices, every_node, source, target)
    assert np.array_equal(found, expected)
