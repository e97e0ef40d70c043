"""Description length with directions and weights: against plain loops, and against graph-tool."""

from __future__ import annotations

import json
import math
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import (
    description_length,
    directed_description_length,
    weighted_description_length,
)
from tests.support.merge_change import merge_change

from coterie.data import Graph
from coterie.kernels.hard import description as kernels
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard.description_state import NEVER
from coterie.kernels.hard.description_sweeps import Reach, join_bounds, sweep
from coterie.kernels.hard.sparse_rows import members_of
from coterie.models.hard.description.directed_weighted import cell_data
from coterie.models.hard.description.state import start_state

# objective, model of weights
CASES = [
    ("directed", "counts"),
    ("directed-degree-corrected", "counts"),
    ("simple", "counts"),
    ("degree-corrected", "counts"),
    ("simple", "normal"),
    ("degree-corrected", "normal"),
    ("directed", "normal"),
    ("simple", "exponential"),
    ("directed", "exponential"),
    ("simple", "lognormal"),
]


@st.composite
def graphs_with_labels(draw, objective, weights, most=9):
    n = draw(st.integers(1, most))
    directed = objective.startswith("directed")
    pairs = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else v < u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    low = -8 if weights == "normal" else 1
    value = st.integers(low, 40).map(lambda x: x / 4)
    values = draw(st.lists(value, min_size=len(edges), max_size=len(edges)))
    if len(set(values)) < 2:
        values = [float(i + 1) for i in range(len(edges))]
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return n, [(u, v, x) for (u, v), x in zip(edges, values, strict=True)], labels


def make(case, objective, weights):
    n, edges, labels = case
    ends = np.array([(u, v) for u, v, _ in edges], np.int64).reshape(-1, 2)
    graph = Graph.from_edges(
        ends[:, 0],
        ends[:, 1],
        weights=np.array([x for _, _, x in edges]) if weights != "counts" else None,
        n_nodes=n,
        directed=objective.startswith("directed"),
    )
    data = cell_data(graph, objective, weights)
    return data, start_state(data.kind, data.graph, np.array(labels))


def plain(edges, labels, objective, weights):
    if weights != "counts" and len(edges) > 1:
        return weighted_description_length(edges, labels, weights, objective)
    pairs = [(u, v) for u, v, _ in edges]
    if objective.startswith("directed"):
        return directed_description_length(pairs, labels, objective != "directed")
    return description_length(pairs, labels, objective)


@pytest.mark.parametrize(("objective", "weights"), CASES)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_length_and_its_changes_are_those_of_the_plain_formulas(objective, weights, data):
    case = data.draw(graphs_with_labels(objective, weights))
    n, edges, _ = case
    if weights != "counts" and len(edges) == 1:
        return  # one weight has no spread
    given_data, state = make(case, objective, weights)
    blocks = state.blocks

    def length():
        return state.length() + given_data.kind.weights.constant

    expected = plain(edges, case[2], objective, weights)
    assert math.isclose(length(), expected, abs_tol=1e-7)
    for _ in range(4):
        v = data.draw(st.integers(0, n - 1))
        b = data.draw(st.integers(0, len(blocks.sizes) - 1))
        if b == blocks.labels[v]:
            continue
        before = length()
        change = kernels.move_change(*state.arguments, v, b)
        kernels.move_node(*state.arguments, v, b)
        assert math.isclose(before + change, length(), abs_tol=1e-7)
        now = plain(edges, blocks.labels.tolist(), objective, weights)
        assert math.isclose(length(), now, abs_tol=1e-7)
    fresh = start_state(given_data.kind, given_data.graph, blocks.labels)
    assert math.isclose(fresh.length(), state.length(), abs_tol=1e-7)
    occupied = np.flatnonzero(blocks.sizes)
    if len(occupied) > 1:
        r, s = data.draw(st.permutations(occupied.tolist()))[:2]
        change = merge_change(state.model, blocks, state.upper, state.scratch, r, s)
        joined = [s if z == r else z for z in blocks.labels.tolist()]
        after = plain(edges, joined, objective, weights)
        assert math.isclose(length() + change, after, abs_tol=1e-7)


@pytest.mark.parametrize(("objective", "weights"), CASES)
def test_sweeps_and_merges_change_the_length_by_what_they_say(objective, weights):
    rng = np.random.default_rng(1)
    n = 80
    pairs = rng.integers(0, n, (400, 2))
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    graph = Graph.from_edges(
        pairs[:, 0],
        pairs[:, 1],
        weights=rng.gamma(2.0, size=len(pairs)) if weights != "counts" else None,
        n_nodes=n,
        directed=objective.startswith("directed"),
    )
    data = cell_data(graph, objective, weights)
    state = start_state(data.kind, data.graph, rng.integers(0, 20, n))
    before, order = state.length(), np.arange(n)
    reach = Reach(10, 5, 12, 1, 1 << 40)
    active = np.zeros(n, np.uint8)
    moved, change = sweep(*state.arguments, order, np.uint64(3), reach, join_bounds(0), active)
    assert moved > 0 and change < 0
    assert math.isclose(before + change, state.length(), rel_tol=1e-10)
    K = len(state.blocks.sizes)
    partner, cost = np.full(K, -1, np.int64), np.full(K, NEVER)
    start, nodes = members_of(state.blocks.labels, K)
    which = np.flatnonzero(state.blocks.sizes)
    moves.find_merges(*state.arguments, start, nodes, which, np.uint64(5), 16, partner, cost)
    before = state.length()
    made, change = moves.merge_blocks(
        state.model,
        state.blocks,
        state.upper,
        state.scratch,
        start,
        nodes,
        np.argsort(cost, kind="stable"),
        partner,
        3,
        NEVER,
    )
    assert made == 3
    assert math.isclose(before + change, state.length(), rel_tol=1e-10)
    again = start_state(data.kind, data.graph, state.blocks.labels)
    assert math.isclose(again.length(), state.length(), rel_tol=1e-10)


GRAPH_TOOL = """
import json, sys
import graph_tool.all as gt
edges, labels, corrected = json.loads(sys.stdin.read())
g = gt.Graph(directed=True)
g.add_vertex(len(labels))
g.add_edge_list(edges)
b = g.new_vp("int", vals=labels)
state = gt.BlockState(g, b=b, deg_corr=corrected)
print(state.entropy())
"""


@pytest.mark.skipif(shutil.which("/usr/bin/python3") is None, reason="no system Python")
def test_directed_length_is_that_of_graph_tool():
    found = subprocess.run(
        ["/usr/bin/python3", "-c", "import graph_tool"], capture_output=True, check=False
    )
    if found.returncode:
        pytest.skip("graph-tool is not installed")
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 30, (150, 2)), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    labels = np.sort(rng.integers(0, 4, 30))
    graph = Graph.from_edges(pairs[:, 0], pairs[:, 1], n_nodes=30, directed=True)
    own = cell_data(graph, "directed").length(labels)
    done = subprocess.run(
        ["/usr/bin/python3", "-c", GRAPH_TOOL],
        input=json.dumps([pairs.tolist(), labels.tolist(), False]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert math.isclose(own, float(done.stdout), abs_tol=1e-6)
