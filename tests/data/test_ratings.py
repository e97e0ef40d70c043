"""The container of ratings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.base.errors import InputError
from coterie.data import Ratings

rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 5), st.integers(0, 3)),
    min_size=1,
    max_size=40,
)


@settings(deadline=None)
@given(rows, st.booleans())
def test_last_rating_of_a_pair_counts(table, timed):
    users, items, values, times = zip(*table, strict=True)
    ratings = Ratings.from_arrays(users, items, values, timestamps=times if timed else None)
    last = {}
    for place, (u, i, r, t) in enumerate(table):
        if (u, i) not in last or not timed or t >= last[u, i][1]:
            last[u, i] = (r, t, place)
    kept = sorted((place, u, i, r) for (u, i), (r, _, place) in last.items())
    assert ratings.user_ids[ratings.users].tolist() == [u for _, u, _, _ in kept]
    assert ratings.item_ids[ratings.items].tolist() == [i for _, _, i, _ in kept]
    assert ratings.ratings.tolist() == [r for *_, r in kept]
    assert ratings.values.tolist() == sorted({r for *_, r in kept})
    assert ratings.duplicates == len(table) - len(kept)
    assert len(Ratings.from_arrays(users, items, values, merge=False)) == len(table)


def test_take_keeps_all_users_and_items():
    ratings = Ratings.from_arrays([1, 2, 3], ["a", "b", "c"], [1, 2, 3], timestamps=[7, 8, 9])
    part = ratings.take(np.array([2, 0]))
    assert part.ratings.tolist() == [3, 1]
    assert part.timestamps.tolist() == [9, 7]
    assert (part.n_users, part.n_items, len(part.values)) == (3, 3, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], [1], [float("nan")]), "rating number 0 is nan"),
        (([1], [1], ["good"]), "not a number"),
        (([1, 2], [1], [3]), "2 users, 1 items and 1 ratings"),
        (([1.5], [1], [3]), "decimal"),
    ],
)
def test_invalid_ratings_are_rejected(arguments, message):
    with pytest.raises(InputError, match=message):
        Ratings.from_arrays(*arguments)
    with pytest.raises(InputError, match="timestamp number 0"):
        Ratings.from_arrays([1], [1], [3], timestamps=[np.inf])


def test_empty_table_of_ratings():
    ratings = Ratings.from_arrays([], [], [])
    assert (len(ratings), ratings.n_users, repr(ratings)) == (
        0, 0, "Ratings(0 users, 0 items, 0 ratings)"
    )  # fmt: skip
