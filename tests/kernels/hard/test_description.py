"""Description length and its changes: against plain loops, and against graph-tool if installed."""

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
    log_choose,
    partitions_into_at_most,
)
from tests.support.merge_change import merge_change

from coterie.data import Graph
from coterie.data.generators import degree_corrected_sbm
from coterie.kernels.hard import description as kernels
from coterie.kernels.hard import description_costs as costs
from coterie.kernels.hard import description_moves as moves
from coterie.kernels.hard import description_state as parts
from coterie.kernels.hard.log_counts import EXACT, count_tables, log_partitions
from coterie.models.hard.description.state import KINDS, multigraph, start_state

MODELS = list(KINDS)


@st.composite
def graphs_with_labels(draw, most=12):
    n = draw(st.integers(1, most))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return n, edges, labels


def _state(n, edges, labels, model):
    ends = np.array(edges, np.int64).reshape(-1, 2)
    graph = Graph.from_edges(ends[:, 0], ends[:, 1], n_nodes=n)
    return start_state(KINDS[model], multigraph(graph.indptr, graph.indices), np.array(labels))


@pytest.mark.parametrize("model", MODELS)
@given(case=graphs_with_labels())
@settings(max_examples=60, deadline=None)
def test_length_is_that_of_the_plain_formulas(model, case):
    n, edges, labels = case
    found = _state(n, edges, labels, model).length()
    assert math.isclose(found, description_length(edges, labels, model), abs_tol=1e-8)


@pytest.mark.parametrize("model", MODELS)
@given(case=graphs_with_labels(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_moves_and_merges_change_the_length_by_what_they_say(model, case, data):
    n, edges, labels = case
    state = _state(n, edges, labels, model)
    for _ in range(5):
        v = data.draw(st.integers(0, n - 1))
        b = data.draw(st.integers(0, len(state.blocks.sizes) - 1))
        if b == state.labels[v]:
            continue
        before = state.length()
        change = kernels.move_change(*state.arguments, v, b)
        kernels.move_node(*state.arguments, v, b)
        assert math.isclose(before + change, state.length(), abs_tol=1e-8)
        plain = description_length(edges, state.labels.tolist(), model)
        assert math.isclose(state.length(), plain, abs_tol=1e-8)
    occupied = np.flatnonzero(state.blocks.sizes)
    if len(occupied) > 1:
        r, s = data.draw(st.permutations(occupied.tolist()))[:2]
        change = merge_change(state.model, state.blocks, state.upper, state.scratch, r, s)
        joined = [s if z == r else z for z in state.labels.tolist()]
        after = description_length(edges, joined, model)
        assert math.isclose(state.length() + change, after, abs_tol=1e-8)


@pytest.mark.parametrize("model", MODELS)
@given(case=graphs_with_labels())
@settings(max_examples=60, deadline=None)
def test_costs_of_several_blocks_at_once_are_those_of_one_at_a_time(model, case):
    n, edges, labels = case
    state = _state(n, edges, labels, model)
    description, graph, blocks, _, scratch = state.arguments
    everything = np.arange(len(blocks.sizes))
    for v in range(n):
        a = int(state.labels[v])
        part = parts.node_part(graph, state.labels, v, scratch)
        order = [a, *everything[everything != a].tolist()]
        plain = [costs.join_cost(description, blocks, scratch, part, a, b) for b in order]
        scratch.candidates[: len(order)] = order
        costs.node_costs(description, blocks, scratch, part, a, len(order))
        np.testing.assert_allclose(scratch.costs[: len(order)], plain, atol=1e-9)
        parts.forget(scratch, part.m)
    occupied = np.flatnonzero(blocks.sizes)
    for r in occupied.tolist():
        part = parts.block_part(blocks, r, scratch)
        order = [r, *occupied[occupied != r].tolist()]
        plain = [costs.join_cost(description, blocks, scratch, part, r, b) for b in order]
        scratch.candidates[: len(order)] = order
        costs.block_costs(description, blocks, scratch, part, r, len(order))
        np.testing.assert_array_equal(scratch.costs[: len(order)], plain)
        parts.forget(scratch, part.m)


@pytest.mark.parametrize("model", MODELS)
def test_splits_and_divisions_change_the_length_by_what_they_say(model):
    graph, _ = degree_corrected_sbm(300, 4, mean_degree=8, rng=3)
    rng = np.random.default_rng(0)
    state = start_state(
        KINDS[model], multigraph(graph.indptr, graph.indices), rng.integers(0, 3, 300)
    )
    key = np.uint64(7)
    for _ in range(3):
        before = state.length()
        occupied = np.flatnonzero(state.blocks.sizes)
        _, change = moves.split_all(*state.arguments, occupied, key, 3, 4)
        assert change <= 0.0
        assert math.isclose(before + change, state.length(), abs_tol=1e-6)
        partner = np.full(len(state.blocks.sizes), -1)
        occupied = np.flatnonzero(state.blocks.sizes)
        partner[occupied] = np.roll(occupied, 1)
        before = state.length()
        _, change = moves.resplit_pairs(*state.arguments, occupied, partner, key, 3, 4)
        assert change <= 0.0
        assert math.isclose(before + change, state.length(), abs_tol=1e-6)
    fresh = start_state(KINDS[model], state.graph, state.labels)
    assert math.isclose(fresh.length(), state.length(), abs_tol=1e-6)


@pytest.mark.parametrize(("n", "k"), [(5, 2), (30, 30), (200, 7), (EXACT, 50)])
def test_small_partition_numbers_are_exact(n, k):
    expected = math.log(partitions_into_at_most(n, k))
    assert math.isclose(log_partitions(count_tables(), n, k), expected, rel_tol=1e-9)


@pytest.mark.parametrize("k", [1, 3, 8, 20, 100, 1000])
def test_large_partition_numbers_are_close(k):
    expected = math.log(partitions_into_at_most(2000, k))
    assert abs(log_partitions(count_tables(), 2000, k) - expected) < 0.04


def test_one_more_block_costs_what_the_formula_says():
    state = _state(6, [(0, 1), (2, 3)], [0, 0, 1, 1, 2, 2], "simple")
    difference = log_choose(5, 2) + log_choose(7, 2) - log_choose(5, 1) - log_choose(4, 2)
    assert math.isclose(state.model.structure[3] - state.model.structure[2], difference)


GRAPH_TOOL = """
import json, sys, warnings
warnings.simplefilter("ignore")
import graph_tool.all as gt
case = json.load(sys.stdin)
g = gt.Graph(directed=False)
g.add_vertex(case["n"])
g.add_edge_list(case["edges"])
b = g.new_vp("int", vals=case["labels"])
simple = gt.BlockState(g, b=b, deg_corr=False).entropy()
corrected = gt.BlockState(g, b=b, deg_corr=True).entropy(degree_dl=False)
print(json.dumps([simple, corrected]))
"""


def _has_graph_tool() -> bool:
    python = shutil.which("python3", path="/usr/bin")
    return python is not None and (
        subprocess.run([python, "-c", "import graph_tool"], capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not _has_graph_tool(), reason="graph-tool is not installed in /usr/bin/python3")
def test_lengths_are_those_of_graph_tool():
    graph, _ = degree_corrected_sbm(200, 4, mean_degree=6, rng=1)
    labels = np.random.default_rng(0).integers(0, 5, 200).tolist()
    edges = np.stack(graph.edges(), axis=1).tolist()
    case = json.dumps({"n": 200, "edges": edges, "labels": labels})
    done = subprocess.run(
        ["/usr/bin/python3", "-c", GRAPH_TOOL], input=case, capture_output=True, text=True
    )
    simple, corrected = json.loads(done.stdout.splitlines()[-1])
    assert math.isclose(_state(200, edges, labels, "simple").length(), simple, rel_tol=1e-10)
    # Without the degree sequence: graph-tool 2.45 counts too few partitions of small integers.
    degree = np.bincount(np.array(edges).ravel(), minlength=200)
    ours = _state(200, edges, labels, "degree-corrected").length()
    for r in range(5):
        block = degree[np.array(labels) == r].tolist()
        ours -= math.log(partitions_into_at_most(sum(block), len(block)))
        ours -= math.lgamma(len(block) + 1)
        ours += sum(math.lgamma(block.count(d) + 1) for d in set(block))
    assert math.isclose(ours, corrected, rel_tol=1e-10)
