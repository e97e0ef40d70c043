"""Scales with many values are cut between distinct values where that loses least."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coterie as ct
from coterie.base.errors import AssumptionWarning
from coterie.models.additive.rating_scale import RatingScale, cut_into_levels


def squared_error(values: np.ndarray, counts: np.ndarray, cuts: tuple[int, ...]) -> float:
    total = 0.0
    for a, b in pairwise(cuts):
        mean = np.average(values[a:b], weights=counts[a:b])
        total += float(counts[a:b] @ (values[a:b] - mean) ** 2)
    return total


@given(
    st.lists(st.integers(0, 60), min_size=3, max_size=9, unique=True),
    st.lists(st.integers(1, 20), min_size=9, max_size=9),
    st.integers(1, 5),
)
def test_cuts_agree_with_trying_all_of_them(
    numbers: list[int], repeats: list[int], n_levels: int
) -> None:
    values = np.array(sorted(numbers), np.float64)
    counts = np.array(repeats[: len(values)])
    k = min(n_levels, len(values))
    inner = combinations(range(1, len(values)), k - 1)
    lowest = min(squared_error(values, counts, (0, *cuts, len(values))) for cuts in inner)
    found = cut_into_levels(values, counts, n_levels)
    assert len(found) == k + 1 and (np.diff(found) > 0).all()
    assert squared_error(values, counts, tuple(found)) == pytest.approx(lowest, abs=1e-6)


def test_ties_do_not_take_levels_away_and_the_error_is_stated() -> None:
    rng = np.random.default_rng(0)
    popular = rng.choice([10, 30, 50, 70, 90, 100], 4000)
    given_ratings = np.where(rng.random(4000) < 0.3, rng.integers(1, 101, 4000), popular)
    ratings = ct.Ratings.from_arrays(
        np.arange(4000) % 300, np.arange(4000) % 777, given_ratings, merge=False
    )
    with pytest.warns(AssumptionWarning, match=r"into 20 levels \(root mean square error") as seen:
        scale = RatingScale.of(ratings)
    levels = scale.levels(ratings.ratings)
    assert sorted(set(levels.tolist())) == list(range(20))
    error = float(np.sqrt(np.mean((scale.values[levels] - ratings.ratings) ** 2)))
    assert error < 1.0
    assert f"{error:.3g}" in str(seen[0].message)


def test_thousands_of_distinct_ratings_are_grouped_quickly() -> None:
    rng = np.random.default_rng(0)
    values = np.sort(rng.random(20_000))
    cuts = cut_into_levels(values, np.ones(20_000, np.int64), 20)
    assert len(cuts) == 21 and (cuts[0], cuts[-1]) == (0, 20_000)
    error = squared_error(values, np.ones(20_000), tuple(cuts)) / 20_000
    assert error**0.5 < 1.05 / 20 / 12**0.5  # equal intervals are the best for uniform values
