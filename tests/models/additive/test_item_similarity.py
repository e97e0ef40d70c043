"""Similarities of items, against the definition: correlations of effects, averaged over samples."""

from __future__ import annotations

import numpy as np
import pytest

import coterie as ct


def _by_definition(samples, v: int, w: int) -> float:
    """Correlate what each sample adds to the ratings of two items, over groups and over users."""
    total, grouped = 0.0, 0
    for t, effects in enumerate(samples.effects.astype(float)):
        users = samples.user_factors[t].astype(float)
        products = np.cov(users.T, bias=True)

        def inner(a: int, b: int, effects=effects, t=t, products=products) -> float:
            found = samples.item_factors[t, a] @ products @ samples.item_factors[t, b]
            for s, table in enumerate(effects):
                one, other = (table[:, samples.item_labels[t, item, s]] for item in (a, b))
                found += np.cov(one, other, bias=True)[0, 1]
            return float(found)

        grouped += inner(v, v) > 0
        if inner(v, v) > 0 and inner(w, w) > 0:
            total += inner(v, w) / np.sqrt(inner(v, v) * inner(w, w))
    return total / max(grouped, 1)


@pytest.mark.filterwarnings("ignore::coterie.AssumptionWarning")
def test_similarities_are_mean_correlations_of_effects():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 40, 900), rng.integers(0, 15, 900)
    values = np.clip(
        np.round(3 + (users % 2 * 2 - 1) * (items % 3 - 1) + rng.normal(size=900)), 1, 5
    )
    ratings = ct.Ratings.from_arrays(users, items, values)
    model = ct.AdditiveBlockModel(n_factors=3, n_sweeps=30, pilot=False, rng=0)
    recommender = ct.Recommender(model).fit(ratings)
    predictor = recommender._fitted.predictor
    for v in (0, 7):
        found = predictor.item_similarity(v)
        expected = [_by_definition(predictor.samples, v, w) for w in range(len(found))]
        assert found == pytest.approx(expected, abs=2e-6)
        assert found[v] == pytest.approx(1, abs=1e-5) and np.ptp(found) > 0.1
