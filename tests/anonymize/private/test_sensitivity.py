"""How much one edge changes each exact answer, by brute force: every pair of nodes is flipped.

The parameters of an answer (lengths, labels, bins) come from earlier noisy answers; they are the
same for both neighbours, and are drawn here at random.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import damped_weight, largest_common_weight, neighbours
from tests.support.privacy_checks import (
    SHAPES,
    SmallGraph,
    clique,
    largest_change,
    small_graphs,
    star,
    two_hubs,
)

from coterie.anonymize.private import exact_counts
from coterie.data import Graph

DAMPING = (2, 3, 6, 24, 48)


def assert_counts(graph: SmallGraph, length: int, count: int) -> None:
    """Check the first four answers on every neighbour of a graph."""
    length = min(length, graph.n - 1)
    assert largest_change(exact_counts.edge_count, graph) == 1
    assert largest_change(exact_counts.degrees, graph) == 2
    assert largest_change(lambda g: exact_counts.degree_counts(g, length), graph) <= 2
    assert largest_change(lambda g: exact_counts.largest_degrees(g, count), graph) <= 2


@given(small_graphs(8), st.integers(0, 8), st.integers(1, 8))
def test_counts_change_by_one_or_two(graph: SmallGraph, length: int, count: int) -> None:
    assert_counts(graph, length, count)


@pytest.mark.parametrize("graph", SHAPES)
def test_counts_of_extreme_shapes_change_by_one_or_two(graph: SmallGraph) -> None:
    assert_counts(graph, 4, 3)


def test_bound_of_the_degree_answers_is_reached() -> None:
    empty = SmallGraph(5, frozenset())
    assert largest_change(lambda g: exact_counts.degree_counts(g, 4), empty) == 2
    assert largest_change(lambda g: exact_counts.largest_degrees(g, 5), empty) == 2


@given(small_graphs(), st.data())
def test_edges_between_known_parts_change_by_one(graph: SmallGraph, data: st.DataObject) -> None:
    n_parts = data.draw(st.integers(1, 4))
    parts = np.array(
        data.draw(st.lists(st.integers(0, n_parts - 1), min_size=graph.n, max_size=graph.n)),
        np.int32,
    )
    assert largest_change(lambda g: exact_counts.edges_between(g, parts, n_parts), graph) == 1


def earlier_neighbours(graph: Graph, order: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return the table of counts behind the stream, for labels that are already known."""
    rank = np.empty(graph.n_nodes, np.int64)
    rank[order] = np.arange(graph.n_nodes)
    table = np.zeros((graph.n_nodes, k), np.int64)
    for u, w in zip(*graph.edges(), strict=True):
        first, second = (u, w) if rank[u] < rank[w] else (w, u)
        table[second, labels[first]] += 1
    return table


@given(small_graphs(), st.data())
def test_an_edge_is_in_one_count_of_the_stream(graph: SmallGraph, data: st.DataObject) -> None:
    k = 3
    labels = np.array(
        data.draw(st.lists(st.integers(0, k - 1), min_size=graph.n, max_size=graph.n))
    )
    order = np.array(data.draw(st.permutations(range(graph.n))))
    assert largest_change(lambda g: earlier_neighbours(g, order, labels, k), graph) == 1


@given(small_graphs(8), st.integers(0, 3), st.sampled_from(DAMPING))
def test_ladders_satisfy_both_conditions(graph: SmallGraph, floor: int, damping: int) -> None:
    assert_conditions(graph, lambda g: exact_counts.triangle_ladder(g, triangles(g), floor))
    assert_conditions(
        graph, lambda g: exact_counts.clustering_ladder(g, triangles(g), damping, floor)
    )


@pytest.mark.parametrize("graph", [star(8), clique(7), two_hubs(9), *SHAPES[-3:]])
def test_ladders_of_extreme_shapes_satisfy_both_conditions(graph: SmallGraph) -> None:
    assert_conditions(graph, lambda g: exact_counts.triangle_ladder(g, triangles(g), 0))
    for damping in DAMPING:
        assert_conditions(
            graph, lambda g, d=damping: exact_counts.clustering_ladder(g, triangles(g), d, 0)
        )


def assert_capped(graph: SmallGraph, highest: int, cap: int) -> None:
    """Check the bound of a capped sum on every neighbour, and its value by the definition."""
    bound = exact_counts.capped_sensitivity(cap)
    assert largest_change(lambda g: exact_counts.capped_clustering(g, highest, cap), graph) <= bound
    unit, near = exact_counts.clustering_unit(graph.n), neighbours(graph.edges, graph.n)
    total = 0
    for u, w in graph.edges:
        counted = [
            len(near[z]) for z in near[u] & near[w] if not highest or len(near[z]) <= highest
        ]
        total += min(cap * unit, sum(unit // (d * (d - 1) // 2) for d in counted))
    found = exact_counts.capped_clustering(graph.graph(), highest, cap)
    assert found.tolist() == [5 * total // unit]


@given(small_graphs(8), st.sampled_from([0, 2, 3, 5]), st.integers(1, 4))
def test_capped_sums_change_by_the_cap_and_one_at_each_end(
    graph: SmallGraph, highest: int, cap: int
) -> None:
    assert_capped(graph, highest, cap)


@pytest.mark.parametrize("graph", [star(8), clique(7), two_hubs(9), *SHAPES[-3:]])
def test_capped_sums_of_extreme_shapes(graph: SmallGraph) -> None:
    for highest in (0, 5):
        for cap in (1, 2, 32):
            assert_capped(graph, highest, cap)


def test_most_of_the_bound_of_a_capped_sum_is_reached_and_a_mutant_would_exceed_it() -> None:
    """Two hubs with two shared neighbours: their edge carries 2, and each end gains 2/3."""
    found = largest_change(lambda g: exact_counts.capped_clustering(g, 0, 2), two_hubs(4))
    assert 16 <= found <= 17 <= exact_counts.capped_sensitivity(2) == 20
    assert found > exact_counts.CAPPED_UNIT * 2  # a bound without the ends is too small
    free = largest_change(lambda g: exact_counts.capped_clustering(g, 0, 1000), two_hubs(9))
    assert free > 20  # without a cap there is no bound


def assert_conditions(graph: SmallGraph, ladder) -> None:
    """Check (a) the change is within the width, and (b) the width moves by at most a step."""
    here = ladder(graph.graph())
    for other in graph.flipped():
        there = ladder(other.graph())
        assert abs(here.value - there.value) <= min(here.width, there.width)
        assert abs(here.width - there.width) <= here.step == there.step


def triangles(graph: Graph) -> np.ndarray:
    return exact_counts.node_triangles(graph)


def test_both_conditions_of_the_triangle_ladder_are_reached() -> None:
    here = exact_counts.triangle_ladder(two_hubs(8).graph(), triangles(two_hubs(8).graph()), 0)
    joined = SmallGraph(8, two_hubs(8).edges | {(0, 1)}).graph()
    assert exact_counts.triangle_ladder(joined, triangles(joined), 0).value - here.value == 6
    fewer = SmallGraph(8, two_hubs(8).edges - {(0, 7)}).graph()
    assert here.width - exact_counts.triangle_ladder(fewer, triangles(fewer), 0).width == 1


@given(small_graphs(), st.sampled_from(DAMPING), st.integers(0, 4))
def test_exact_values_and_widths_follow_their_definition(
    graph: SmallGraph, damping: int, floor: int
) -> None:
    n, edges = graph.n, graph.edges
    near = neighbours(edges, n)
    unit = exact_counts.clustering_unit(n)
    weight = [damped_weight(len(near[v]), damping, unit) for v in range(n)]
    at_node = [sum(u in near[w] for w in near[v] for u in near[v] if u < w) for v in range(n)]
    network = graph.graph()
    np.testing.assert_array_equal(triangles(network), at_node)

    count = exact_counts.triangle_ladder(network, triangles(network), floor)
    assert count.value == sum(at_node) // 3
    assert count.width == max(floor, largest_common_weight(edges, n, [1] * n))

    total = exact_counts.clustering_ladder(network, triangles(network), damping, floor)
    own, step = exact_counts.clustering_constants(n, damping)
    top = damped_weight(0, damping, unit)
    assert total.value == sum(t * w for t, w in zip(at_node, weight, strict=True))
    assert total.width == max(floor * top, largest_common_weight(edges, n, weight)) + 2 * own
    assert total.step == step


@pytest.mark.parametrize("damping", DAMPING)
@pytest.mark.parametrize("n", [2, 3, 7, 30, 200])
def test_constants_of_the_clustering_sums_follow_their_definition(n: int, damping: int) -> None:
    unit = exact_counts.clustering_unit(n)
    weight = [damped_weight(d, damping, unit) for d in range(n)]
    own = max(
        max(d * weight[d + 1], (weight[d] - weight[d + 1]) * (d * (d - 1) // 2))
        for d in range(n - 1)
    )
    drop = max(weight[d] - weight[d + 1] for d in range(n - 1))
    assert exact_counts.clustering_constants(n, damping) == (own, max(weight[0], 2 * drop))


def test_a_fine_unit_keeps_the_change_at_the_ends_small() -> None:
    """With a unit of 2^20, rounding would triple the change that an edge may make at its ends."""
    own, _ = exact_counts.clustering_constants(20_000, 6)
    assert own == pytest.approx(exact_counts.clustering_unit(20_000) / 3, rel=1e-3)


@pytest.mark.parametrize("n", [2, 10, 2**20, 2**21, 2**31 - 1])
def test_clustering_sums_fit_into_64_bits(n: int) -> None:
    assert n * exact_counts.clustering_unit(n) < 2**62
