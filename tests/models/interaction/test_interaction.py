"""The interaction model: components against plain versions, the combination, and its arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from tests import reference

from coterie.base.array_checks import ArrayError
from coterie.engine import LocalEngine
from coterie.models.interaction import item_regression
from coterie.models.interaction.factors import Factors, FactorSettings, solved
from coterie.models.interaction.item_regression import ItemRegression
from coterie.models.interaction.ranking_model import (
    FittedInteractions,
    HeldBackPairs,
    Pairs,
    _hold_back,
    fit_interactions,
    gain,
    like_threshold,
    pairs_of,
    unit_scale,
)


def random_table(seed: int, n: int, m: int, density: float = 0.4) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, m)) < density).astype(float)


def two_groups(seed: int = 0, n: int = 120, m: int = 60):
    """Users of two groups have items of their own group; even items are liked."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(n):
        own = np.arange(user % 2, m, 2)
        popular = np.exp(-0.03 * np.arange(len(own)))
        items.append(rng.choice(own, 12, replace=False, p=popular / popular.sum()))
        users.append(np.full(12, user))
    u, v = np.concatenate(users), np.concatenate(items)
    return u, v, (u + v // 2) % 3 > 0, n, m


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(2, 9))
def test_item_regression_equals_ridge_regression_of_each_item(seed: int, n: int, m: int) -> None:
    """By users and by items; coefficients have the precision of float16."""
    X = random_table(seed, n, m)
    fitted = ItemRegression.fit(csr_array(X), 2.0)
    B = reference.item_regression(X, 2.0)
    assert_allclose(fitted.coefficients.toarray(), B, atol=1e-3)
    Z = random_table(seed + 1, 3, m)  # users who were not in the training data
    scores = fitted.scores(csr_array(Z))
    assert_allclose(scores, (Z * X.any(axis=0)) @ B, atol=5e-3)
    for z, row in zip(Z, scores, strict=True):
        assert_allclose(fitted.scores_of_one(np.flatnonzero(z)), row, atol=1e-5)
    for item in range(m):
        assert_allclose(fitted.contributions(np.arange(m), item), B[:, item], atol=1e-3)


def test_large_matrices_are_limited_to_the_most_popular_items() -> None:
    X = random_table(4, 40, 12)
    X[:, [2, 7]] = 0
    X[:3, [2, 7]] = 1  # the least popular items
    fitted = ItemRegression.fit(csr_array(X), 3.0, max_side=10)
    popular = [i for i in range(12) if i not in (2, 7)]
    assert_array_equal(np.flatnonzero(fitted.diagonal), popular)
    scores = fitted.scores(csr_array(X))
    expected = X[:, popular] @ reference.item_regression(X[:, popular], 3.0)
    assert_allclose(scores[:, popular], expected, atol=5e-3)
    assert not scores[:, [2, 7]].any()


@pytest.mark.parametrize(("n", "m"), [(40, 70), (90, 60)], ids=["by users", "by items"])
def test_the_largest_coefficients_are_kept(n: int, m: int, monkeypatch) -> None:
    monkeypatch.setattr(item_regression, "_MIN_KEPT", 300)
    monkeypatch.setattr(item_regression, "_PER_PAIR", 0)
    monkeypatch.setattr(item_regression, "_ROWS", 7)
    X = random_table(1, n, m, 0.2)
    B = reference.item_regression(X, 4.0)
    least = np.sort(np.abs(B).ravel())[-300]
    found = ItemRegression.fit(csr_array(X), 4.0).coefficients.toarray()
    assert_allclose(found, np.where(np.abs(B) >= least, B, 0), atol=1e-3)
    assert np.count_nonzero(found) == 300


def test_an_added_item_is_regressed_on_the_known_ones() -> None:
    X, twin = random_table(6, 60, 14), random_table(6, 60, 14)[:, [5]]
    fitted = ItemRegression.fit(csr_array(X), 2.0)
    grown = fitted.with_items(csr_array(twin.T), csr_array(X))
    P = np.linalg.inv(X.T @ X + 2.0 * np.eye(14))
    expected = P @ X.T @ twin[:, 0]
    found = grown.coefficients.toarray()
    assert_allclose(found[:14, 14], expected, atol=0.02)
    assert not found[14].any() and grown.n_items == 15
    factors = Factors.fit(csr_array(X), 3, FactorSettings(0.05, 0.1), 2, np.random.default_rng(0))
    for x, row in zip(X, factors.scores(csr_array(X)), strict=True):
        assert_allclose(factors.scores_of_one(np.flatnonzero(x)), row, atol=1e-12)


def test_single_precision_agrees_with_double_precision() -> None:
    """Matrices above 2,000 rows are inverted as float32."""
    rng = np.random.default_rng(0)
    X = csr_array((rng.random((2300, 2100)) < 0.01).astype(float))
    fitted = ItemRegression.fit(X, 50.0)
    P = np.linalg.inv((X.T @ X).toarray() + 50.0 * np.eye(2100))
    assert_allclose(fitted.diagonal, np.diag(P), rtol=1e-3)
    B = -P / np.diag(P)
    kept = fitted.coefficients.toarray()
    assert_allclose(kept[kept != 0], B[kept != 0], atol=1e-4)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 8), st.integers(1, 4))
def test_factors_equal_weighted_least_squares(seed: int, n: int, m: int, rank: int) -> None:
    X = random_table(seed, n, m, 0.3)
    Y = np.random.default_rng(seed).normal(size=(m, rank))
    chosen = FactorSettings(0.05, 0.3)
    found = solved(csr_array(X), Y, chosen, m, "local")
    expected = [reference.implicit_row(row, Y, *chosen) for row in X]
    assert_allclose(found, expected, atol=1e-9)


def test_factors_do_not_depend_on_the_number_of_threads(monkeypatch) -> None:
    monkeypatch.setattr("coterie.models.interaction.factors._PAIRS_PER_TASK", 100)
    u, v, liked, n, m = two_groups()
    found = []
    for threads in (1, 2):
        with LocalEngine(threads) as engine:
            fitted = fit_interactions(u, v, liked, n, m, rng=3, engine=engine)
        found.append(fitted.to_arrays())
    for name, array in found[0].items():
        assert_array_equal(array, found[1][name])


def test_gain_equals_a_plain_loop() -> None:
    rng = np.random.default_rng(1)
    scores, relevant = rng.normal(size=(6, 130)), rng.random((6, 130)) < 0.2
    expected = []
    for row, wanted in zip(scores, relevant, strict=True):
        order = np.argsort(-row)
        for k in (10, 100):
            hits = [float(wanted[i]) for i in order[:k]]
            ideal = reference.dcg([1.0] * min(k, int(wanted.sum())))
            expected.append(reference.dcg(hits) / ideal)
    assert gain(scores, relevant, relevant.sum(axis=1)) == pytest.approx(np.mean(expected))


def test_useless_component_gets_the_smaller_weight() -> None:
    rng = np.random.default_rng(2)
    wanted = rng.random((80, 200)) < 0.05
    wanted[:, 0] = True
    compared = HeldBackPairs(csr_array((80, 200)), csr_array(wanted.astype(float)))
    useful = unit_scale(wanted + rng.normal(0, 0.7, wanted.shape))
    noise = unit_scale(rng.normal(size=wanted.shape))
    weights = compared.choose_weights([noise, useful], (1.0, 1.0))
    assert weights.sum() == pytest.approx(1) and weights[1] > 0.7


def test_ranked_items_are_of_the_own_group_and_shares_add_up() -> None:
    u, v, liked, n, m = two_groups()
    fitted = fit_interactions(u, v, liked, n, m)
    pairs = pairs_of(u, v, liked, n, m)
    seen = pairs.seen.toarray() > 0
    for target in ("seen", "liked"):
        scores = fitted.scores(pairs, target)
        best = np.argsort(-np.where(seen, -np.inf, scores), axis=1)[:, :5]
        assert (best % 2 == np.arange(n)[:, None] % 2).mean() > 0.99
        for user, item in ((0, 2), (5, 11), (7, 0)):
            own = Pairs(pairs.seen[[user]], pairs.liked[[user]])
            shares = fitted.contributions(own, item, target)
            assert shares.sum() == pytest.approx(scores[user, item], abs=1e-4)
            assert not shares[~seen[user]].any()


def test_user_without_items_gets_the_most_popular() -> None:
    u, v, liked, n, m = two_groups()
    fitted = fit_interactions(u, v, liked, n + 1, m)
    nobody = pairs_of(u[:0], v[:0], liked[:0], 1, m)
    counts = np.bincount(v[liked], minlength=m)
    assert_allclose(fitted.scores(nobody, "liked")[0], counts / counts.max())


def test_held_back_pairs_and_the_rest_are_the_training_pairs() -> None:
    u, v, liked, n, m = two_groups()
    pairs = pairs_of(u, v, liked, n, m)
    rest, held_back = _hold_back(pairs, 50, np.random.default_rng(0))
    for whole, a, b in zip(pairs, rest, held_back, strict=True):
        assert_array_equal((a + b).toarray(), whole.toarray())
    counts = np.diff(held_back.seen.indptr)
    assert sorted(set(counts.tolist())) == [0, 2] and (counts > 0).sum() == 50


@pytest.mark.parametrize(("n", "m", "count"), [(1, 1, 1), (1, 5, 4), (6, 1, 6), (3, 3, 2)])
def test_smallest_tables_are_fitted(n: int, m: int, count: int) -> None:
    u, v = np.arange(count) % n, np.arange(count) % m
    for liked in (None, np.arange(count) % 2 == 0, np.zeros(count, bool)):
        fitted = fit_interactions(u, v, liked, n, m)
        scores = fitted.scores(pairs_of(u, v, liked, n, m), "liked")
        assert scores.shape == (n, m) and np.isfinite(scores).all()


def test_added_item_is_ranked_like_the_item_that_the_same_users_have() -> None:
    u, v, liked, n, m = two_groups()
    fitted = fit_interactions(u, v, liked, n, m)
    pairs = pairs_of(u, v, liked, n, m)
    twin = csr_array(pairs.seen[:, [4]].T)
    grown = fitted.with_items(Pairs(twin, csr_array(pairs.liked[:, [4]].T)), pairs, n)
    assert grown.n_items == m + 1
    wider = Pairs(*(csr_array((t.data, t.indices, t.indptr), shape=(n, m + 1)) for t in pairs))
    scores = grown.scores(wider, "liked")
    without = np.flatnonzero(pairs.seen[:, [4]].toarray()[:, 0] == 0)
    own_group = without % 2 == 0
    assert scores[without[own_group], m].mean() > scores[without[~own_group], m].mean() + 0.5
    again = FittedInteractions.from_arrays(grown.to_arrays(), m + 1)
    assert_array_equal(again.scores(wider, "liked"), scores)
    user = int(without[own_group][0])
    own = Pairs(wider.seen[[user]], wider.liked[[user]])
    total = grown.contributions(own, m, "liked").sum()
    assert total == pytest.approx(scores[user, m], abs=1e-4)


def _cut(array):
    return array[:-1]


def _not_finite(array):
    out = array.copy()
    out.flat[0] = np.nan
    return out


def _other_precision(array):
    return array.astype(np.float16 if array.dtype != np.float16 else np.float32)


def _huge(array):
    out = array.copy()
    out.flat[-1] = np.iinfo(array.dtype).max
    return out


def _negative(array):
    out = array.copy()
    out.flat[0] = np.array(-5).astype(array.dtype)
    return out


def test_every_damaged_array_is_refused() -> None:
    u, v, liked, n, m = two_groups()
    arrays = fit_interactions(u, v, liked, n, m).to_arrays()
    FittedInteractions.from_arrays(arrays, m)
    for name, array in arrays.items():
        changes = [_cut] if array.size and array.ndim else []
        if array.size and array.dtype.kind == "f":
            changes += [_not_finite, _other_precision]
        if array.size and array.dtype.kind in "iu":
            changes += [_huge, _negative]
        for change in changes:
            with pytest.raises(ArrayError):
                FittedInteractions.from_arrays(arrays | {name: change(array)}, m)
    with pytest.raises(ArrayError):
        FittedInteractions.from_arrays(arrays, m + 1)
    weights = arrays | {"seen.weights": -arrays["seen.weights"]}
    with pytest.raises(ArrayError, match="weights"):
        FittedInteractions.from_arrays(weights, m)


def test_about_half_of_the_ratings_are_likes() -> None:
    half_stars = np.arange(1, 11) / 2
    counts = np.array([1, 3, 2, 8, 5, 20, 13, 27, 9, 13])
    assert like_threshold(half_stars, counts) == 4.0
    assert like_threshold(np.array([0.0, 1.0]), np.array([90, 10])) == 1.0
    assert like_threshold(np.array([3.0]), np.array([4])) == 3.0


def test_factor_contributions_add_up() -> None:
    u, v, _, n, m = two_groups()
    table = pairs_of(u, v, None, n, m).seen
    factors = Factors.fit(table, 4, FactorSettings(0.02, 0.1), 3, np.random.default_rng(0))
    own = table[[3]].indices
    assert factors.contributions(own, 7).sum() == pytest.approx(factors.scores(table)[3, 7])
