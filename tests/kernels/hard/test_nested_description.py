"""Hierarchies: their length and its changes against plain loops."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import nested_description_length
from tests.support.merge_change import merge_change

from coterie.data import Graph
from coterie.data.generators import degree_corrected_sbm
from coterie.kernels.hard import description as kernels
from coterie.kernels.hard import description_costs as costs
from coterie.kernels.hard import description_levels as above
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard import description_state as parts
from coterie.kernels.hard import description_sweeps as sweeps
from coterie.models.hard.description.nested import nested_length
from coterie.models.hard.description.state import (
    KINDS,
    LEVEL,
    block_multigraph,
    levels_above,
    multigraph,
    start_state,
)
from coterie.models.hard.label_tools import renumber

KIND = KINDS["degree-corrected"]


@st.composite
def hierarchies(draw):
    n = draw(st.integers(2, 12))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    levels, size = [], n
    for most in (5, 3, 2):
        labels = draw(st.lists(st.integers(0, most - 1), min_size=size, max_size=size))
        levels.append(renumber(np.array(labels)))
        size = int(levels[-1].max()) + 1
    return n, edges, levels


def _graph(n, edges):
    ends = np.array(edges, np.int64).reshape(-1, 2)
    graph = Graph.from_edges(ends[:, 0], ends[:, 1], n_nodes=n)
    return multigraph(graph.indptr, graph.indices)


def _state(graph, levels):
    flat = start_state(KIND, graph, levels[0], prior="none")
    B = flat.n_blocks
    return start_state(
        KIND, graph, levels[0], prior=levels_above(flat.blocks.cells[:B, :B], levels[1:])
    )


def _levels(state, above):
    """The hierarchy of a state after moves, without empty blocks."""
    occupied = np.flatnonzero(state.blocks.sizes > 0)
    return [renumber(state.labels), state.upper.parents[0, occupied], *above]


@given(case=hierarchies())
@settings(max_examples=80, deadline=None)
def test_length_is_that_of_the_plain_formulas(case):
    n, edges, levels = case
    plain = nested_description_length(edges, [z.tolist() for z in levels])
    assert math.isclose(nested_length(KIND, _graph(n, edges), levels), plain, abs_tol=1e-8)


@given(case=hierarchies(), data=st.data())
@settings(max_examples=80, deadline=None)
def test_moves_change_the_length_by_what_they_say(case, data):
    n, edges, levels = case
    state = _state(_graph(n, edges), levels)
    for _ in range(6):
        v = data.draw(st.integers(0, n - 1))
        b = data.draw(st.integers(0, len(state.blocks.sizes) - 1))
        if b == state.labels[v]:
            continue
        before = state.length()
        change = kernels.move_change(*state.arguments, v, b)
        if change >= parts.NEVER / 2:
            group = state.upper.parents[0, state.labels[v]]
            assert state.upper.sizes[0, group] == 1  # the move would empty the group
            continue
        kernels.move_node(*state.arguments, v, b)
        assert math.isclose(before + change, state.length(), abs_tol=1e-8)
        plain = nested_description_length(edges, [z.tolist() for z in _levels(state, levels[2:])])
        assert math.isclose(state.length(), plain, abs_tol=1e-8)
    assert not state.upper.sums.any()


@given(case=hierarchies())
@settings(max_examples=80, deadline=None)
def test_relief_bounds_what_the_levels_above_gain(case):
    n, edges, levels = case
    state = _state(_graph(n, edges), levels)
    model, graph, blocks, upper, scratch = state.arguments
    for v in range(n):
        a = int(state.labels[v])
        part = parts.node_part(graph, state.labels, v, scratch)
        if blocks.sizes[a] > 1:
            relief = above.upper_relief(model, blocks, upper, scratch, part, a)
            for b in np.flatnonzero(blocks.sizes > 0):
                change = above.upper_change(model, blocks, upper, scratch, part, a, b)
                assert change >= -relief - 1e-9
        parts.forget(scratch, part.m)
    assert not state.upper.sums.any()


@given(case=hierarchies())
@settings(max_examples=60, deadline=None)
def test_change_of_a_group_is_that_of_each_of_its_blocks(case):
    n, edges, levels = case
    state = _state(_graph(n, edges), levels)
    model, graph, blocks, upper, scratch = state.arguments
    for v in range(n):
        a = int(state.labels[v])
        part = parts.node_part(graph, state.labels, v, scratch)
        above.next_part(upper)
        for b in range(len(blocks.sizes)):
            plain = above.upper_change(model, blocks, upper, scratch, part, a, b)
            found = above.group_change(model, blocks, upper, scratch, part, a, b)
            assert math.isclose(found, plain, abs_tol=1e-9)
        parts.forget(scratch, part.m)


@given(case=hierarchies(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_costs_of_a_dense_level_by_rises_are_those_of_plain_sums(case, data):
    """The blocks of the nodes as a multigraph with loops, grouped; moves in between."""
    n, edges, levels = case
    flat = start_state(KIND, _graph(n, edges), levels[0], prior="none")
    B = flat.n_blocks
    graph = block_multigraph(flat.blocks.cells[:B, :B])
    state = start_state(LEVEL, graph, levels[1], prior="flat")
    model, _, blocks, _, scratch = state.arguments
    costs.fill_rises(model, blocks, scratch)
    for _ in range(4):
        for v in range(B):
            a = int(state.labels[v])
            part = parts.node_part(graph, state.labels, v, scratch)
            for b in range(len(blocks.sizes)):
                plain = costs.join_cost(model, blocks, scratch, part, a, b)
                found = costs.node_cost(model, blocks, scratch, part, a, b)
                assert math.isclose(found, plain, abs_tol=1e-8)
            parts.forget(scratch, part.m)
        v = data.draw(st.integers(0, B - 1))
        a, b = int(state.labels[v]), data.draw(st.integers(0, len(blocks.sizes) - 1))
        if a != b:
            costs.count_rises(model, blocks, scratch, a, b, -1.0)
            kernels.move_node(*state.arguments, v, b)
            costs.count_rises(model, blocks, scratch, a, b, 1.0)
            kept = scratch.rises.copy()
            costs.fill_rises(model, blocks, scratch)
            np.testing.assert_allclose(kept, scratch.rises, atol=1e-8)


def test_marks_of_changes_are_nodes_that_moved_their_neighbours_and_blocks_that_changed():
    graph = _graph(6, [(0, 1), (1, 2), (3, 4)])
    before = np.array([0, 0, 1, 1, 2, 2], np.int32)
    after = np.array([1, 0, 1, 1, 2, 2], np.int32)
    active = np.zeros(6, np.uint8)
    sweeps.mark_changed(graph, before, after, np.array([False, False, True]), active)
    assert active.tolist() == [1, 1, 0, 0, 1, 1]


def test_merges_and_splits_change_the_length_by_what_they_say():
    graph, _ = degree_corrected_sbm(300, 6, mean_degree=10, rng=2)
    rng = np.random.default_rng(1)
    levels = [
        rng.integers(0, 12, 300).astype(np.int32),
        (np.arange(12) // 3).astype(np.int32),
        (np.arange(4) // 2).astype(np.int32),
        np.zeros(2, np.int32),
    ]
    state = _state(multigraph(graph.indptr, graph.indices), levels)
    before = state.length()
    occupied = np.flatnonzero(state.blocks.sizes)
    _, change = moves.split_all(*state.arguments, occupied, np.uint64(3), 3, 4)
    assert math.isclose(before + change, state.length(), abs_tol=1e-6)
    for r, s in ((0, 1), (2, 5), (4, 11)):
        before = state.length()
        change = merge_change(state.model, state.blocks, state.upper, state.scratch, r, s)
        for v in np.flatnonzero(state.labels == r):
            kernels.move_node(*state.arguments, int(v), s)
        assert math.isclose(before + change, state.length(), abs_tol=1e-6)


def test_graph_of_blocks_keeps_edges_and_loops():
    cells = np.array([[2, 3, 0], [3, 0, 1], [0, 1, 4]])
    graph = block_multigraph(cells)
    assert graph.degrees.tolist() == [7, 4, 9]
    assert graph.loops.tolist() == [2, 0, 4]
    assert graph.weights.sum() == 8
