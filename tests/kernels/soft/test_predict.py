"""Predictions and fold-in of soft models compared with the reference."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.models.soft.observation_shards import Pairs
from coterie.models.soft.predictor import fold_in_rows, pair_distribution
from coterie.models.soft.problems import with_negatives
from coterie.models.soft.state import SoftShape, initial_state


def fitted(seed: int, k: int = 3, width: int = 2, values: int = 4, n: int = 6, m: int = 5):
    rows, columns, theta = initial_state(
        SoftShape(n, m, k, width, values), "random", np.random.default_rng(seed)
    )
    return rows, columns, np.moveaxis(theta, 0, 2)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=20),
)
def test_predictions_equal_the_reference_in_any_order(seed, k, width, pairs):
    rows, columns, theta = fitted(seed, k, width)
    u, v = np.array(pairs, np.int64).reshape(-1, 2).T
    result = pair_distribution(u, v, rows, columns, theta)
    assert result.shape == (len(pairs), 4)
    for e, (a, b) in enumerate(pairs):
        expected = reference.predicted_distribution(rows[a], columns[b], theta)
        np.testing.assert_allclose(result[e], expected, atol=1e-12)


def test_predictions_are_conditional_on_being_rated():
    rows, columns, theta = fitted(1, values=5)
    every = pair_distribution([0, 3], [1, 2], rows, columns, theta)
    rated = pair_distribution([0, 3], [1, 2], rows, columns, theta[:, :, :4])
    np.testing.assert_allclose(rated, every[:, :4] / every[:, :4].sum(axis=1, keepdims=True))


def test_prediction_of_an_impossible_pair_is_uniform():
    theta = np.zeros((1, 1, 3))
    np.testing.assert_allclose(
        pair_distribution([0], [0], np.ones((1, 1)), np.ones((1, 1)), theta), [[1 / 3] * 3]
    )


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32),
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=6),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from([1, 7]),
)
def test_fold_in_equals_the_reference(seed, new_users, prior, iterations):
    rows, columns, theta = fitted(seed)
    begin = rows[: len(new_users)]
    indptr = np.cumsum([0, *(len(n) for n in new_users)])
    flat = np.array([pair for n in new_users for pair in n], np.int64).reshape(-1, 2)
    result = fold_in_rows(
        indptr, flat[:, 0], flat[:, 1], columns, theta, start=begin, prior=prior,
        max_iter=iterations, tol=0,
    )  # fmt: skip
    for u, ratings in enumerate(new_users):
        expected = reference.fold_in(ratings, columns, theta, begin[u], iterations, prior)
        np.testing.assert_allclose(result[u], expected, atol=1e-10)


def test_fold_in_stops_at_a_fixed_point():
    _, columns, theta = fitted(3)
    given = (np.array([0, 3]), [0, 1, 2], [0, 1, 1], columns, theta)
    converged = fold_in_rows(*given, max_iter=20_000, tol=1e-12)
    again = fold_in_rows(*given, start=converged, max_iter=1, tol=0)
    np.testing.assert_allclose(converged, again, atol=1e-11)


def test_negatives_follow_user_activity_and_are_uniform_over_items():
    rng = np.random.default_rng(0)
    u = np.repeat(np.arange(3, dtype=np.int32), [1, 4, 15])
    v = np.concatenate([np.arange(n, dtype=np.int32) for n in (1, 4, 15)])
    pairs = Pairs(u, v, np.zeros(20, np.int32), 3, 400, 2)
    more = with_negatives(pairs, 40_000, rng)
    assert len(more.levels) == 40_020 and more.n_levels == 3
    new_u, new_v = more.rows[20:], more.columns[20:]
    assert (more.levels[20:] == 2).all()
    assert not set(zip(u.tolist(), v.tolist(), strict=True)) & set(
        zip(new_u.tolist(), new_v.tolist(), strict=True)
    )
    np.testing.assert_allclose(np.bincount(new_u) / 40_000, [0.05, 0.2, 0.75], atol=0.02)
    counts = np.bincount(new_v[new_u == 2], minlength=400)[15:]
    assert abs(counts - counts.mean()).max() < 6 * np.sqrt(counts.mean())
