"""Negative sampling: unrated pairs, drawn as documented, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.data.negatives import (
    are_in,
    distinct_negative_pairs,
    negatives_of_one,
    popular_negative_pairs,
    uniform_negative_pairs,
)

SAMPLERS = [popular_negative_pairs, distinct_negative_pairs, uniform_negative_pairs]


def table(seed: int, n: int = 20, m: int = 15, count: int = 60):
    pairs = np.random.default_rng(seed).choice(n * m, count, replace=False)
    return (pairs // m).astype(np.int32), (pairs % m).astype(np.int32), m


@pytest.mark.parametrize("sampler", SAMPLERS)
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_drawn_pairs_are_unrated_and_reproducible(sampler, seed: int) -> None:
    users, items, m = table(seed)
    u, v = sampler(np.random.default_rng(seed), users, items, m, 100)
    assert not set(zip(u.tolist(), v.tolist(), strict=True)) & set(
        zip(users.tolist(), items.tolist(), strict=True)
    )
    assert set(u.tolist()) <= set(users.tolist()) and v.min() >= 0 and v.max() < m
    again = sampler(np.random.default_rng(seed), users, items, m, 100)
    assert np.array_equal(u, again[0]) and np.array_equal(v, again[1])


@pytest.mark.parametrize("values", [[], [3], [1, 3, 3, 8], [8, 1, 3]])
def test_numbers_are_found_among_sorted_and_unsorted_values(values: list[int]) -> None:
    wanted = np.array([9, 0, 3, 1, 8, 2, 3])
    found = are_in(wanted, np.array(values, np.int64))
    assert found.tolist() == [number in values for number in wanted.tolist()]


def test_distinct_pairs_are_the_sorted_popular_ones() -> None:
    users, items, m = table(1)
    drawn = popular_negative_pairs(np.random.default_rng(0), users, items, m, 200)
    distinct = distinct_negative_pairs(np.random.default_rng(0), users, items, m, 200)
    expected = sorted(set(zip(*map(np.ndarray.tolist, drawn), strict=True)))
    assert list(zip(*map(np.ndarray.tolist, distinct), strict=True)) == expected


def test_uniform_sampler_draws_the_requested_number() -> None:
    users, items, m = table(2)
    u, _ = uniform_negative_pairs(np.random.default_rng(0), users, items, m, 500)
    assert len(u) == 500


def test_uniform_sampler_stops_if_every_pair_is_rated() -> None:
    users, items = np.repeat(np.arange(3), 3), np.tile(np.arange(3), 3)
    u, v = uniform_negative_pairs(np.random.default_rng(0), users, items, 3, 5)
    assert len(u) == len(v) == 0


def test_popular_items_are_drawn_more_often_than_uniformly() -> None:
    users = np.arange(100)
    items = np.where(users < 90, 0, 1 + users % 10)
    _, v = popular_negative_pairs(np.random.default_rng(0), users, items, 20, 20_000)
    popular = np.mean(v == 0)
    _, v = uniform_negative_pairs(np.random.default_rng(0), users, items, 20, 20_000)
    assert popular > 3 * np.mean(v == 0)


def test_empty_table_gives_no_pairs() -> None:
    empty = np.empty(0, np.int32)
    u, v = popular_negative_pairs(np.random.default_rng(0), empty, empty, 3, 5)
    assert len(u) == len(v) == 0


def test_negatives_of_one_user_are_distinct_known_and_unrated() -> None:
    all_rated = np.repeat(np.arange(12), np.arange(1, 13))
    own = np.array([3, 11])
    drawn = negatives_of_one(np.random.default_rng(0), own, all_rated, 10, 40)
    assert drawn.tolist() == sorted(set(drawn.tolist()))
    assert drawn.max() < 10 and not np.isin(drawn, own).any() and len(drawn) > 5
