"""Numbered pairs, hash tables of pairs, drawing cells, and building sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data import Graph
from coterie.kernels.anonymize.cell_draw import draw_cells
from coterie.kernels.graphs.pairs import (
    contains,
    insert,
    new_table,
    pair_key,
    pair_within,
    remove_with,
    rows_from_pairs,
)


@pytest.mark.parametrize("n", range(2, 24))
def test_pairs_are_numbered_without_gaps(n: int) -> None:
    pairs = [pair_within(i, n) for i in range(n * (n - 1) // 2)]
    assert sorted(pairs) == [(i, j) for i in range(n) for j in range(i + 1, n)]


@pytest.mark.parametrize("n", [3_000_000_001, 3_000_000_000])
def test_pair_numbers_are_exact_beyond_double_precision(n: int) -> None:
    last = n * (n - 1) // 2 - 1
    seen = {pair_within(i, n) for i in (0, 1, last // 2, last // 2 + 1, last - 1, last)}
    assert len(seen) == 6
    assert all(0 <= i < j < n for i, j in seen)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12), st.integers(0, 12)), max_size=60))
def test_pair_table_behaves_like_a_set(steps: list[tuple[bool, int, int]]) -> None:
    table = new_table(64)
    values = np.zeros(len(table), np.int32)
    expected: set[int] = set()
    for add, u, v in steps:
        key = pair_key(np.int32(u), np.int32(v))
        if add:
            assert insert(table, key) == (int(key) not in expected)
            expected.add(int(key))
        elif int(key) in expected:
            remove_with(table, values, key)
            expected.discard(int(key))
        assert contains(table, key) == (int(key) in expected)
    assert {int(k) for k in table if int(k) != 2**64 - 1} == expected


def _cells(sizes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.triu_indices(len(sizes))
    start = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    return np.arange(sum(sizes), dtype=np.int32), start, rows, columns


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 2**32), st.floats(0, 1))
def test_drawn_cells_have_the_requested_number_of_edges(
    sizes: list[int], key: int, share: float
) -> None:
    members, start, rows, columns = _cells(sizes)
    n = np.array(sizes)
    pairs = np.where(rows == columns, n[rows] * (n[rows] - 1) // 2, n[rows] * n[columns])
    counts = np.floor(share * pairs).astype(np.int64)
    source, target = draw_cells(members, start, rows, columns, counts, np.uint64(key))
    block = np.repeat(np.arange(len(sizes)), sizes)
    found = np.zeros((len(sizes), len(sizes)), int)
    for u, v in zip(source, target, strict=True):
        found[tuple(sorted((block[u], block[v])))] += 1
    assert (source != target).all()
    assert len({tuple(sorted(p)) for p in zip(source.tolist(), target.tolist(), strict=True)}) == (
        len(source)
    )
    assert (found[rows, columns] == counts).all()


@pytest.mark.parametrize("count", [2, 8])  # a sparse cell, and one drawn by its missing pairs
def test_all_pairs_of_a_cell_are_equally_likely(count: int) -> None:
    members, start, rows, columns = _cells([5])
    hits = np.zeros((5, 5))
    for key in range(4000):
        source, target = draw_cells(
            members, start, rows, columns, np.array([count]), np.uint64(key)
        )
        hits[np.minimum(source, target), np.maximum(source, target)] += 1
    seen = hits[np.triu_indices(5, 1)]
    expected = 4000 * count / 10
    assert abs(seen - expected).max() < 5 * np.sqrt(expected)


@settings(max_examples=40, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_rows_from_pairs_equal_those_of_the_graph(pairs: set[tuple[int, int]]) -> None:
    edges = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
    source = np.array([u for u, _ in edges], np.int32)
    target = np.array([v for _, v in edges], np.int32)
    graph = Graph.from_edges(source, target, n_nodes=10)
    indptr, indices = rows_from_pairs(target, source, 10)
    assert indptr.tolist() == graph.indptr.tolist()
    assert indices.tolist() == graph.indices.tolist()
