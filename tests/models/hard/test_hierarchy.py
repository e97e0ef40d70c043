"""`hierarchy`: rows of blocks of blocks down to a maximum size."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx
import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coterie as ct
from coterie.base.errors import InputError

GOLDEN = Path(__file__).parent / "files" / "hierarchy.csv"


def checked(graph: networkx.Graph, max_size: int) -> list:
    """Return the rows, after checking that they are a hierarchy of all nodes."""
    rows = ct.hierarchy(graph, max_size)
    nodes, place = {}, {}
    for row in rows:
        nodes.setdefault(row.block, set()).add(row.node)
        assert place.setdefault(row.block, (row.level, row.parent)) == (row.level, row.parent)
    assert all(count == 1 for count in Counter((r.node, r.level) for r in rows).values())
    assert sorted(nodes) == list(range(len(nodes)))
    children = {}
    for block, (level, parent) in place.items():
        assert (parent == -1) == (level == 0)
        if parent >= 0:
            assert place[parent][0] == level - 1
            children.setdefault(parent, []).append(block)
    for parent, blocks in children.items():
        assert len(blocks) > 1
        assert set.union(*(nodes[b] for b in blocks)) == nodes[parent]
        assert sum(len(nodes[b]) for b in blocks) == len(nodes[parent])
    assert {row.node for row in rows if row.level == 0} == set(graph)
    assert all(len(nodes[b]) <= max_size for b in nodes if b not in children)
    return rows


@pytest.mark.parametrize(
    "graph",
    [
        networkx.star_graph(150),
        networkx.complete_graph(60),
        networkx.empty_graph(70),
        networkx.connected_caveman_graph(8, 10),
        networkx.path_graph(2),
    ],
    ids=["star", "complete", "empty", "cliques", "edge"],
)
def test_every_smallest_block_fits(graph: networkx.Graph) -> None:
    rows = checked(graph, 25)
    assert rows == ct.hierarchy(graph, 25)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 24), st.integers(0, 60), st.integers(1, 9), st.integers(0, 99))
def test_any_graph_is_divided(n: int, m: int, max_size: int, seed: int) -> None:
    checked(networkx.gnm_random_graph(n, m, seed=seed), max_size)


def test_golden_file() -> None:
    """Users store these rows: they may change with a note in the changelog only."""
    rows = checked(networkx.les_miserables_graph(), 10)
    expected = pandas.read_csv(GOLDEN)
    pandas.testing.assert_frame_equal(pandas.DataFrame(rows), expected)


def test_every_form_of_edges() -> None:
    graph = networkx.connected_caveman_graph(4, 6)
    pairs = [(u + 100_000_000, v + 100_000_000) for u, v in graph.edges]
    rows = ct.hierarchy(pairs, 6)
    assert {row.node for row in rows} == {v + 100_000_000 for v in graph}
    frame = pandas.DataFrame(pairs, columns=["source", "target"])
    network = networkx.Graph()
    network.add_nodes_from(sorted({row.node for row in rows}))
    network.add_edges_from(pairs)
    directed = networkx.DiGraph(network)
    for form in (np.array(pairs), frame, network, directed, ct.Graph.from_pandas(frame)):
        assert ct.hierarchy(form, 6) == rows
    plain = [(row.node - 100_000_000, *row[1:]) for row in rows]
    matrix = networkx.to_scipy_sparse_array(graph)
    for form in (matrix, ct.Graph.from_scipy(matrix).to_igraph()):
        assert [tuple(row) for row in ct.hierarchy(form, 6)] == plain
    assert ct.hierarchy([], 6) == []


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ([(0, 1, 2.5)], {}, "not pairs"),
        (np.eye(3), {}, "not pairs"),
        (5, {}, "not pairs"),
        ([(0, None)], {}, "missing"),
        ([(0, 1)], {"max_size": 0}, "max_size"),
        ([(0, 1)], {"max_size": 2.5}, "max_size"),
    ],
)
def test_bad_input(edges: object, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ct.hierarchy(edges, **options)
