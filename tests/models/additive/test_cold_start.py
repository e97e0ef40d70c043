"""Users and items without ratings, predicted from their features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

import coterie as ct
from coterie.models.additive.cold_start import choose_ridge, expansion_of, node_weights
from coterie.models.additive.feature_encoding import FeatureColumn

PENALTIES = (1.0, 16.0, np.inf)
POWERS = (0.0, 1.0)


def regression(n: int, d: int, seed: int, strength: float) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = strength * X[:, :1] + rng.normal(size=(n, 2))
    return X, Y, rng.integers(1, 30, n).astype(float), np.arange(n) % 5


@settings(max_examples=15, deadline=None)
@given(
    st.integers(6, 25), st.integers(1, 3), st.integers(0, 1000), st.sampled_from([0.0, 0.5, 3.0])
)
def test_settings_are_those_of_the_smallest_error_on_held_back_nodes(n, d, seed, strength) -> None:
    X, Y, counts, fold = regression(n, d, seed, strength)
    errors = {
        (power, penalty): reference.held_back_ridge_errors(X, Y, counts, fold, power, penalty)
        for power in POWERS
        for penalty in PENALTIES
    }
    loss = {key: counts @ found for key, found in errors.items()}
    best = min(loss, key=lambda key: loss[key])
    plain = min((key for key in loss if np.isinf(key[1])), key=lambda key: loss[key])
    gain = counts * (errors[plain] - errors[best])
    certain = gain.sum() >= gain.std() * np.sqrt(n)
    expected = best if certain and np.isfinite(best[1]) else plain
    close = abs(gain.sum() - gain.std() * np.sqrt(n)) < 1e-9 * (1 + abs(gain.sum()))
    ties = sorted(loss.values())
    if not close and ties[1] - ties[0] > 1e-9 * (1 + ties[0]):  # rounding may decide otherwise
        assert choose_ridge(X, Y, counts, fold, POWERS, PENALTIES) == expected


def test_noise_is_rarely_used_and_strong_features_always_are() -> None:
    noise = [choose_ridge(*regression(200, 5, seed, 0.0))[1] for seed in range(20)]
    assert np.isinf(noise).sum() >= 15 and min(noise) >= 64  # what is used is almost 0
    strong = [choose_ridge(*regression(200, 5, seed, 2.0))[1] for seed in range(5)]
    assert np.isfinite(strong).all()


def test_numbers_may_bend_and_categories_do_not() -> None:
    rows = np.column_stack([np.linspace(-2, 2, 50), np.arange(50) % 2, np.ones(50)])
    columns = [FeatureColumn("year", None), FeatureColumn("kind", "a"), FeatureColumn("x", "b")]
    found = expansion_of(rows, columns)
    assert found.source.tolist() == [0, 0, 0, 0, 0, 1]  # the constant column is left out
    values = found.values(rows)
    assert values.std(axis=0) == pytest.approx(1.0)
    bent = values[:, 2] / found.scale[2]
    assert bent == pytest.approx(np.maximum(rows[:, 0] - found.knot[2], 0))


def test_weights_of_nodes() -> None:
    counts = np.array([1.0, 4.0, 9.0])
    assert node_weights(counts, 0.0).tolist() == [1, 1, 1]
    assert node_weights(counts, 0.5) == pytest.approx([0.5, 1.0, 1.5])


class Table:
    """Ratings with held-out items: popular items are better, features matter or not."""

    def __init__(self, seed: int, matter: float, taste: float) -> None:
        rng = np.random.default_rng(seed)
        n, m = 200, 150
        self.kind, year = rng.integers(0, 3, m), rng.uniform(1950, 2000, m)
        popularity = rng.pareto(1.2, m) + 0.1
        good = 0.3 * np.log(popularity) + matter * (np.array([-0.6, 0.0, 0.6])[self.kind])
        good += matter * 0.02 * np.maximum(1980 - year, 0)
        likes = rng.normal(0, taste, (n, 3))
        u = np.repeat(np.arange(n), 40)
        v = rng.choice(m, len(u), p=popularity / popularity.sum())
        _, first = np.unique(u * m + v, return_index=True)
        u, v = u[first], v[first]
        place = 3.2 + rng.normal(0, 0.4, n)[u] + good[v] + likes[u, self.kind[v]]
        stars = np.clip(np.round(place + rng.normal(0, 0.8, len(u))), 1, 5)
        held_out = np.zeros(m, bool)
        held_out[rng.choice(m, 30, replace=False)] = True
        self.test = np.flatnonzero(held_out[v])
        self.train = np.flatnonzero(~held_out[v])
        self.u, self.v, self.stars = u, v, stars
        columns = {"kind": np.array(["a", "b", "c"])[self.kind], "year": year}
        self.items = ct.NodeTable.from_columns(np.arange(m), columns)

    def errors(self) -> tuple[float, float, ct.Recommender]:
        """Return the RMSE of new items by features, and by the user's offset alone."""
        train = ct.Ratings.from_arrays(
            self.u[self.train], self.v[self.train], self.stars[self.train]
        )
        model = ct.AdditiveBlockModel(n_partitions=3, n_chains=2, n_sweeps=40, pilot=False, rng=0)
        rec = ct.Recommender(model).fit(train, item_features=self.items)
        u, stars = self.u[self.test], self.stars[self.test]
        found = rec.predict(u, self.v[self.test])
        counts = np.bincount(self.u[self.train], minlength=200)
        gaps = self.stars[self.train] - self.stars[self.train].mean()
        offset = np.bincount(self.u[self.train], gaps, 200) / (counts + 2)
        plain = self.stars[self.train].mean() + offset[u]
        return (
            float(np.sqrt(np.mean((found - stars) ** 2))),
            float(np.sqrt(np.mean((plain - stars) ** 2))),
            rec,
        )


@pytest.mark.parametrize(
    ("matter", "taste", "least_gain"), [(1.0, 0.0, 0.08), (0.5, 0.5, 0.02), (0.0, 0.0, -0.005)]
)
def test_new_items_are_predicted_better_than_by_offsets(matter, taste, least_gain) -> None:
    by_features, plain, _ = Table(3, matter, taste).errors()
    assert by_features <= (1 - least_gain) * plain


def test_a_node_without_ratings_is_explained_by_features_and_placed_by_its_first_ratings() -> None:
    table = Table(2, 1.0, 0.5)
    _, _, rec = table.errors()
    item = int(table.v[table.test[0]])
    why = rec.explain(5, item)
    found = [term for term in why.contributions if term.source == "features of this item"]
    assert len(found) == 1 and ("kind" in found[0].features or "year" in found[0].features)
    total = sum(term.share for term in why.contributions)
    assert total == pytest.approx(rec.predict([5], [item])[0], abs=1e-9)
    number = int(rec.items_.numbers([item])[0])
    assert rec.predictor_.item_side.is_cold(number)
    before = rec.predict([5], [item])[0]
    rated = ct.Ratings.from_arrays(np.arange(20, 60), np.full(40, item), np.ones(40))
    rec.fold_in(rated)
    assert not rec.predictor_.item_side.is_cold(number)
    assert rec.predict([5], [item])[0] < before - 0.3
