"""Sweeps over all blocks by bounds, and moves of pieces: against the plain versions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import description_length

from coterie.data import Graph
from coterie.data.generators import degree_corrected_sbm
from coterie.kernels.hard import description_costs as costs
from coterie.kernels.hard import description_state as parts
from coterie.kernels.hard import description_sweeps as sweeps
from coterie.kernels.hard.description_moves import connected_piece, move_pieces
from coterie.models.hard.description.state import KINDS, multigraph, start_state

EVERY = 1 << 40
MODELS = ["simple", "degree-corrected"]


def _state(graph, labels, model):
    return start_state(KINDS[model], multigraph(graph.indptr, graph.indices), labels)


@pytest.mark.parametrize("new_blocks", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_a_sweep_by_bounds_makes_the_moves_of_an_exhaustive_one(model, new_blocks):
    graph, truth = degree_corrected_sbm(400, 20, mean_degree=9, rng=3)
    random = np.random.default_rng(4)
    labels = np.where(random.random(400) < 0.4, random.integers(0, 20, 400), truth)
    order = random.permutation(400)
    plain, fast = _state(graph, labels, model), _state(graph, labels, model)
    active, marked = np.zeros(400, np.uint8), np.zeros(400, np.uint8)
    key, reach = np.uint64(1), sweeps.Reach(1, 1, EVERY, 0, EVERY if new_blocks else 0)
    none, bounds = sweeps.join_bounds(0), sweeps.join_bounds(len(fast.blocks.sizes))
    expected = sweeps.sweep(*plain.arguments, order, key, reach, none, active)
    found = sweeps.sweep(*fast.arguments, order, key, reach, bounds, marked)
    assert found[0] == expected[0] > 20
    assert math.isclose(found[1], expected[1], rel_tol=1e-12)
    assert (fast.labels == plain.labels).all()
    assert (active == marked).all()
    v = int(order[0])
    part = parts.node_part(fast.graph, fast.labels, v, fast.scratch)
    few = sweeps.list_bounded(
        fast.model, fast.blocks, bounds, fast.scratch, part, fast.labels[v], 0.0
    )
    assert 1 <= few < fast.n_blocks / 2  # most blocks are ruled out


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_bounds_are_below_the_cost_of_joining(model, seed):
    random = np.random.default_rng(seed)
    n = 40
    ends = random.integers(0, n, (random.integers(1, 160), 2))
    graph = Graph.from_edges(ends[:, 0], ends[:, 1], n_nodes=n)
    state = _state(graph, random.integers(0, 6, n), model)
    bounds = sweeps.join_bounds(len(state.blocks.sizes))
    sweeps.fill_bounds(state.model, state.blocks, bounds)
    for v in range(n):
        part = parts.node_part(state.graph, state.labels, v, state.scratch)
        a = int(state.labels[v])
        if part.m > 0:
            sweeps.bound_joins(state.model, state.blocks, bounds, state.scratch, part)
            B = state.n_blocks - (state.blocks.sizes[a] == 1)
            for b in np.flatnonzero(state.blocks.sizes):
                if b == a:
                    continue
                cost = costs.join_cost(state.model, state.blocks, state.scratch, part, a, b)
                assert bounds.bound[b] + state.model.structure[B] <= cost + sweeps.SLACK
        parts.forget(state.scratch, part.m)


@pytest.mark.parametrize("model", list(KINDS))
@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_moved_pieces_change_the_length_by_what_they_say(model, seed):
    random = np.random.default_rng(seed)
    n = 30
    ends = random.integers(0, n, (random.integers(5, 40), 2))
    graph = Graph.from_edges(ends[:, 0], ends[:, 1], n_nodes=n)
    state = _state(graph, random.integers(0, 3, n), model)
    before = state.length()
    order = np.flatnonzero(state.blocks.sizes)
    moved, change = move_pieces(*state.arguments, order, np.uint64(seed), 8)
    assert change <= 0.0
    assert (change < 0.0) == (moved > 0)
    assert math.isclose(before + change, state.length(), abs_tol=1e-8)
    edges = list(zip(*(end.tolist() for end in graph.edges()), strict=True))
    plain = description_length(edges, state.labels.tolist(), model)
    assert math.isclose(state.length(), plain, abs_tol=1e-8)


def test_a_component_in_the_wrong_block_moves_as_a_whole():
    """Two kinds of components, cliques and stars; one clique is among the stars."""
    edges, truth = [], []
    for i in range(40):
        first = len(truth)
        truth += [i % 2] * 6
        if i % 2 == 0:
            edges += [(first + u, first + v) for u in range(6) for v in range(u)]
        else:
            edges += [(first, first + u) for u in range(1, 6)]
    ends, labels = np.array(edges), np.array(truth, np.int32)
    labels[:6] = 1
    graph = Graph.from_edges(ends[:, 0], ends[:, 1])
    state = _state(graph, labels, "simple")
    moved, change = move_pieces(*state.arguments, np.arange(2), np.uint64(0), 64)
    assert moved >= 1
    assert change < -1.0
    assert all(len(set(component)) == 1 for component in state.labels.reshape(40, 6).tolist())
    stars = {int(state.labels[first]) for first in range(6, 240, 12)}
    assert int(state.labels[0]) not in stars


def test_a_connected_piece_stays_inside_its_block():
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 4])
    labels = np.array([0, 0, 1, 0, 0], np.int32)
    seen, queue = np.zeros(5, np.uint8), np.zeros(5, np.int64)
    count = connected_piece(multigraph(graph.indptr, graph.indices), labels, 0, seen, queue)
    assert count == 2
    assert sorted(queue[:2].tolist()) == [0, 1]
