"""The exact EM kernel compared with the plain O(|X| k l) form of tests/reference.py."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.engine import LocalEngine
from coterie.kernels.soft import em
from coterie.models.soft.observation_shards import Pairs
from coterie.models.soft.rating_problem import RatingProblem
from coterie.models.soft.state import SoftShape, SoftState, initial_state


@st.composite
def rating_sets(draw):
    """Draw (observations, shape, seed); repeats, isolated nodes, one level and k != l occur."""
    n, m, values = draw(st.integers(1, 6)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    k, l = draw(st.integers(1, 4)), draw(st.integers(1, 4))  # noqa: E741
    triple = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1), st.integers(0, values - 1))
    observed = draw(st.lists(triple, min_size=1, max_size=30))
    return observed, SoftShape(n, m, k, l, values), draw(st.integers(0, 2**32))


def as_pairs(observed, shape: SoftShape) -> Pairs:
    u, v, r = (np.array(column, np.int32) for column in zip(*observed, strict=True))
    return Pairs(u, v, r, shape.n_rows, shape.n_columns, shape.n_levels)


def reference_run(observed, state: SoftState, iterations: int, prior: float = 0.0):
    h_row, h_col, theta = state.rows, state.columns, np.moveaxis(state.theta, 0, 2)
    for _ in range(iterations):
        h_row, h_col, theta = reference.mmsbm_iteration(observed, h_row, h_col, theta, prior)
    return h_row, h_col, theta


@settings(max_examples=60, deadline=None)
@given(rating_sets(), st.sampled_from([0.0, 0.05]), st.sampled_from([(1, 1e-10), (10, 1e-8)]))
def test_iterations_equal_the_reference(case, prior, wanted):
    observed, shape, seed = case
    iterations, tolerance = wanted
    rng = np.random.default_rng(seed)
    problem = RatingProblem(as_pairs(observed, shape), (2, 2), LocalEngine(1), prior=prior)
    first = initial_state(shape, "random", rng)
    state = problem.to_engine(first)
    for _ in range(iterations):
        state, _ = problem.step(state, rng)
    result = problem.from_engine(state)
    h_row, h_col, theta = reference_run(observed, first, iterations, prior)
    np.testing.assert_allclose(result.rows, h_row, atol=tolerance)
    np.testing.assert_allclose(result.columns, h_col, atol=tolerance)
    np.testing.assert_allclose(np.moveaxis(result.theta, 0, 2), theta, atol=tolerance)
    expected = reference.mmsbm_entropy(observed, h_row, h_col, theta)
    assert problem.entropy(state) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert problem.step(state, rng)[1] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(rating_sets())
def test_grouping_either_side_gives_the_same_update(case):
    observed, shape, seed = case
    pairs = as_pairs(observed, shape)
    first = initial_state(shape, "random", np.random.default_rng(seed))
    results = []
    for flipped in (False, True):
        problem = RatingProblem(pairs, (2, 2), LocalEngine(1), flipped=flipped)
        state, _ = problem.step(problem.to_engine(first), np.random.default_rng(0))
        results.append(problem.from_engine(state))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_impossible_observation_is_ignored():
    shape = SoftShape(2, 2, 2, 2, 2)
    pairs = as_pairs([(0, 0, 0), (0, 0, 1), (1, 1, 1)], shape)
    theta = np.zeros((2, 2, 2))
    theta[0] = 1.0  # level 1 is impossible everywhere
    state = SoftState(np.eye(2), np.eye(2), theta)
    problem = RatingProblem(pairs, (2, 2), LocalEngine(1))
    after, entropy = problem.step(problem.to_engine(state), np.random.default_rng(0))
    assert np.isfinite(entropy) and entropy > 2 * 500
    for array in problem.from_engine(after):
        assert np.isfinite(array).all()
    np.testing.assert_array_equal(problem.from_engine(after).rows, np.eye(2))


def test_log_of_tiny_products_is_accurate():
    product, entropy = 1.0, 0.0
    factors = [1e-200, 1e-149, 1e-100, 0.5, 1e-120, 1e-3]
    for x in factors:
        product, entropy = em.add_log(x, product, entropy)
    assert entropy - np.log(product) == pytest.approx(-np.log(factors).sum())


def test_tiny_memberships_become_zero_and_empty_rows_keep_their_values():
    numerators = np.array([[1.0, 1e-120], [0.0, 0.0]])
    old = np.array([[0.5, 0.5], [0.3, 0.7]])
    new = em.new_memberships(numerators, old, 0.0)
    np.testing.assert_array_equal(new, [[1.0, 0.0], [0.3, 0.7]])
