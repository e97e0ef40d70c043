"""Kernels behind the private sketch, compared with plain versions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import largest_common_weight, place_in_stream
from tests.support.privacy_checks import SmallGraph, small_graphs

from coterie.data import Graph
from coterie.kernels.anonymize.private_counts import (
    LARGEST_COUNT,
    largest_common_sum,
    place_nodes,
)


@given(small_graphs(), st.data())
def test_nodes_are_placed_as_by_the_plain_version(graph: SmallGraph, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 4))
    order = data.draw(st.permutations(range(graph.n)))
    row = st.lists(st.integers(0, 3), min_size=k, max_size=k)
    noise = data.draw(st.lists(row, min_size=graph.n, max_size=graph.n))
    quarters = st.lists(st.integers(2, 40), min_size=graph.n, max_size=graph.n)
    expected = np.array(data.draw(quarters)) / 4
    network = graph.graph()
    labels, sums = np.full(graph.n, -1, np.int32), np.zeros(k)
    # in two calls, as the noise is drawn in parts
    for part in (slice(0, graph.n // 2), slice(graph.n // 2, None)):
        place_nodes(
            network.indptr,
            network.indices,
            np.array(order[part], np.int64),
            np.array(noise[part], np.int64).reshape(-1, k),
            expected,
            float(expected.sum()),
            labels,
            sums,
        )
    assert labels.tolist() == place_in_stream(graph.edges, order, noise, expected.tolist())


def test_a_neighbour_decides_nothing_where_the_noise_of_two_blocks_is_at_its_limit() -> None:
    """The proof divides one probability of a choice by the other: none may be 0 alone."""
    noise = np.array([[0, 5], [LARGEST_COUNT, LARGEST_COUNT]], np.int64)
    chosen = []
    for edges in (([], []), ([0], [1])):
        graph = Graph.from_edges(*edges, n_nodes=2)
        labels, sums = np.full(2, -1, np.int32), np.zeros(2)
        place_nodes(
            graph.indptr, graph.indices, np.arange(2), noise, np.zeros(2), 1.0, labels, sums
        )
        chosen.append(labels.tolist())
    assert chosen == [[1, 0], [1, 0]]


@given(small_graphs(), st.data())
def test_largest_sum_over_common_neighbours_is_that_of_all_pairs(
    graph: SmallGraph, data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(0, 9), min_size=graph.n, max_size=graph.n))
    floor = data.draw(st.integers(0, 12))
    network = graph.graph()
    found = largest_common_sum(network.indptr, network.indices, np.array(weights, np.int64), floor)
    assert found == max(floor, largest_common_weight(graph.edges, graph.n, weights))
