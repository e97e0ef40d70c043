"""Edges to rows, against plain dictionaries and networkx."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data import adjacency_builder as build_module
from coterie.data.adjacency_builder import WeightConflictError, build_rows, cut_edges

edge_lists = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40)
    )
)


def plain_build(edges, directed):
    """(edges of the graph, loops, repeats, pairs both ways) by counting in dictionaries."""
    loops = sum(s == t for s, t in edges)
    one_way = Counter((s, t) for s, t in edges if s != t)
    repeats = sum(count - 1 for count in one_way.values())
    if directed:
        return set(one_way), loops, repeats, 0
    pairs = {(min(e), max(e)) for e in one_way}
    return pairs, loops, repeats, len(one_way) - len(pairs)


def ends(edges):
    return np.array(edges, np.int64).reshape(-1, 2).T


@settings(deadline=None, max_examples=150)
@given(edge_lists, st.booleans(), st.booleans(), st.integers(1, 7), st.integers(1, 8))
def test_rows_equal_those_of_a_plain_loop(case, directed, wide, part, bucket):
    n, edges = case
    source, target = ends(edges)
    parts = [(source[i : i + part], target[i : i + part]) for i in range(0, len(edges), part)]
    before = build_module._BUCKET
    build_module._BUCKET = bucket  # many small buckets
    try:
        rows = build_rows(parts, None, n, directed, wide=wide)
    finally:
        build_module._BUCKET = before
    expected, loops, repeats, reciprocal = plain_build(edges, directed)
    assert rows.cleaned == (loops, repeats, reciprocal)
    graph = Graph(rows.indptr, rows.indices, np.arange(n), None, directed)
    assert set(zip(*(end.tolist() for end in graph.edges()), strict=True)) == expected
    assert graph.n_edges == len(expected)
    assert rows.indices.dtype == (np.int64 if wide else np.int32)
    for v in range(n):
        row = rows.indices[rows.indptr[v] : rows.indptr[v + 1]]
        assert (np.diff(row) > 0).all()


@settings(deadline=None, max_examples=60)
@given(edge_lists)
def test_weights_of_repeated_edges_are_added(case):
    n, edges = case
    source, target = ends(edges)
    weights = np.arange(1.0, len(edges) + 1)
    graph = Graph.from_edges(source, target, weights=weights, n_nodes=n, directed=True)
    expected = Counter()
    for (s, t), w in zip(edges, weights, strict=True):
        if s != t:
            expected[s, t] += w
    pairs = zip(*(end.tolist() for end in graph.edges()), strict=True)
    assert dict(zip(pairs, graph.edge_weights(), strict=True)) == dict(expected)


def test_rows_do_not_depend_on_threads_or_parts():
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 5000, (2, 200_000), dtype=np.int32)
    one = build_rows(cut_edges(source, target), None, 5000, False, threads=1)
    two = build_rows([(source, target)], None, 5000, False, threads=2)
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)
    network = nx.Graph(zip(source.tolist(), target.tolist(), strict=True))
    network.remove_edges_from(nx.selfloop_edges(network))
    assert len(one.indices) == 2 * network.number_of_edges()


def test_directions_with_equal_weights_are_merged():
    graph = Graph.from_edges([0, 1, 0], [1, 0, 2], weights=[2, 2, 5])
    assert graph.edge_weights().tolist() == [2, 5]
    assert graph.cleaned.reciprocal == 1


def test_conflicting_weights_of_a_pair_are_rejected():
    with pytest.raises(WeightConflictError, match="0 and 2") as caught:
        Graph.from_edges([0, 1, 1], [1, 2, 0], weights=[2, 1, 3])
    assert caught.value.rows == (0, 2)
    assert caught.value.weights == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [5], {"n_nodes": 3}), "node number 5"),
        (([-1], [0], {}), "node number -1"),
        (([0], [1, 2], {}), "1 sources and 2 targets"),
        (([0.5], [1], {}), "decimal"),
        (([0], [1], {"weights": [np.nan]}), "weight nan"),
        (([0], [1], {"weights": [float("nan")]}), "nan"),
        (([0], [1], {"weights": [1, 2]}), "1 edges and 2 weights"),
        (([0], [1], {"ids": ["a", "a"]}), "is used 2 times"),
        (([0], [1], {"ids": ["a", "b"], "n_nodes": 3}), "2 ids"),
        ((["a"], ["b"], {"n_nodes": 2}), "given by names"),
        ((["a"], [None], {}), "missing"),
    ],
)
def test_invalid_edges_are_rejected(arguments, message):
    source, target, options = arguments
    with pytest.raises(InputError, match=message):
        Graph.from_edges(source, target, **options)


def test_empty_graphs_are_built():
    assert Graph.from_edges([], []).n_nodes == 0
    graph = Graph.from_edges([], [], n_nodes=3)
    assert (graph.n_nodes, graph.n_edges, graph.degrees.tolist()) == (3, 0, [0, 0, 0])
    only_loops = Graph.from_edges([1, 1], [1, 1])
    assert (only_loops.n_nodes, only_loops.n_edges, only_loops.cleaned.self_loops) == (2, 0, 2)


def test_reversed_graph_has_reversed_edges_and_weights():
    graph = Graph.from_edges([0, 2, 1], [1, 1, 3], weights=[1, 2, 3], directed=True)
    turned = graph.reversed()
    assert (turned.csr != graph.csr.T).nnz == 0
    assert turned.reversed().weights.tolist() == graph.weights.tolist()
    undirected = Graph.from_edges([0], [1])
    assert undirected.reversed() is undirected


def test_hub_larger_than_a_bucket_is_built():
    leaves = np.arange(1, 100_000)
    graph = Graph.from_edges(np.zeros(len(leaves), np.int64), leaves)
    assert graph.degrees[0] == len(leaves)
    assert graph.indices[: len(leaves)].tolist() == leaves.tolist()
