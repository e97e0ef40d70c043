"""Ids come back as they were given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.ids import number_ids, written_integer

integers = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30)
near = st.lists(st.integers(-50, 50), max_size=30)
words = st.lists(st.text(max_size=6), max_size=30)


@settings(deadline=None, max_examples=150)
@given(st.one_of(st.tuples(integers, integers), st.tuples(near, near), st.tuples(words, words)))
def test_numbers_are_positions_in_the_sorted_ids(columns):
    ids, numbers = number_ids(columns)
    assert ids.tolist() == sorted(set(columns[0]) | set(columns[1]))
    for column, rows in zip(columns, numbers, strict=True):
        assert ids[rows].tolist() == column
        assert rows.dtype == np.int32


def test_inputs_are_not_modified():
    column = np.array([7, 5, 7], np.int32)
    number_ids([column])
    assert column.tolist() == [7, 5, 7]


def test_mixed_and_unusual_ids_are_preserved():
    ids, [rows] = number_ids([[(1, 2), (0, 5), (1, 2)]])
    assert ids.tolist() == [(0, 5), (1, 2)]
    assert rows.tolist() == [1, 0, 1]
    ids, _ = number_ids([[1, "a", 2]])
    assert set(ids.tolist()) == {1, "a", 2}
    ids, _ = number_ids([np.array([2**64 - 1, 3], np.uint64)])
    assert ids.tolist() == [3, 2**64 - 1]
    ids, _ = number_ids([np.array([3, 250], np.uint8)])
    assert ids.tolist() == [3, 250]


@pytest.mark.parametrize("column", [[1.0, 2.0], [None, "a"], [float("nan"), "a"], [[1], [2]]])
def test_invalid_ids_are_rejected(column):
    with pytest.raises(InputError):
        number_ids([column])


@given(st.text(max_size=22))
def test_written_integer_accepts_only_the_usual_form(name):
    try:
        assert str(written_integer(name)) == name
    except ValueError:
        assert not (name.isdigit() and name.isascii() and name == "0")


def test_edges_between_named_nodes():
    graph = Graph.from_edges(["bob", "ann"], ["ann", "cat"])
    assert graph.ids.tolist() == ["ann", "bob", "cat"]
    assert graph.n_edges == 2


def test_more_than_256_integers_keep_their_own_numbers() -> None:
    """Small inputs run as plain Python, where a sum of uint8 would wrap."""
    ids, [numbers] = number_ids([np.arange(1000)[::-1]])
    assert len(ids) == 1000 and numbers.tolist() == list(range(999, -1, -1))
