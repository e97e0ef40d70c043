"""Explanations name what the model uses, and the shares are what the parts add."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from tests.support.small_models import model_of, two_tastes

import coterie as ct
from coterie.data.ratings import NodeRatings
from coterie.kernels.additive.predict import explanations, influences
from coterie.models.rating_model import Source
from coterie.report import recommender_report


@pytest.fixture(scope="module")
def tastes() -> ct.Recommender:
    """A model whose chains have factors and no groups."""
    rng = np.random.default_rng(0)
    pairs = rng.choice(120 * 60, 2600, replace=False)
    u, v = pairs // 60, pairs % 60
    likes, liked = rng.normal(0, 1, (120, 2)), rng.normal(0, 1, (60, 2))
    z = (likes[u] * liked[v]).sum(axis=1) + rng.normal(0, 0.5, len(u))
    ratings = ct.Ratings.from_arrays(u, v, np.searchsorted([-1.5, -0.5, 0.5, 1.5], z) + 1.0)
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=60, n_factors=4, presence=0, rng=0)
    rec = ct.Recommender(model).fit(ratings)
    assert rec.model_.mixture_ == {"factors": 2}
    return rec


def own_ratings(rec: ct.Recommender, user: int) -> NodeRatings:
    rows = rec.table_.rows_of_user(user)
    return NodeRatings(user, rec.table_.items[rows], rec.table_.levels[rows])


def test_groups_that_do_nothing_are_not_explained(tastes: ct.Recommender) -> None:
    for user in range(20):
        why = tastes.explain(user, 7)
        sources = [term.source for term in why.contributions]
        assert Source.GROUPS not in sources and sources.count(Source.RATING) > 0
        assert sum(term.share for term in why.contributions) == pytest.approx(
            tastes.predict([user], [7])[0], abs=1e-6
        )
        rated = {term.own.item: term.own for term in why.contributions if term.own}
        own = own_ratings(tastes, user)
        given = dict(zip(own.others.tolist(), tastes.values_[own.levels].tolist(), strict=True))
        assert all(given[item] == told.rating for item, told in rated.items()) and 7 not in rated
        assert any("this user rated" in line for line in why.words())


def test_shares_of_ratings_are_those_of_the_posterior_mean(tastes: ct.Recommender) -> None:
    """The user's factors are a weighted sum of the ratings: the sum, written out in NumPy."""
    predictor, values = tastes.predictor_, tastes.values_
    samples, standard = predictor.samples, NormalDist()
    for user in (0, 5):
        own = own_ratings(tastes, user)
        item = next(v for v in range(60) if v not in own.others)
        shares, excess = np.zeros(len(own.others)), np.zeros(len(own.others))
        for t in range(len(samples.cuts)):
            Q, p = (
                samples.item_factors[t].astype(float),
                samples.user_factors[t, user].astype(float),
            )
            b = samples.user_offsets[t, user] + samples.item_offsets[t]
            cuts = samples.cuts[t, samples.styles[t, user]]
            f = b[own.others] + Q[own.others] @ p
            latent = []
            for level, place in zip(own.levels, f, strict=True):
                low, high = cuts[level] - place, cuts[level + 1] - place
                inside = standard.cdf(high) - standard.cdf(low)
                latent.append(place + (standard.pdf(low) - standard.pdf(high)) / inside)
            w = np.array(latent) - b[own.others]
            A = np.diag(samples.factor_precisions[t, 0, :-1]) + Q[own.others].T @ Q[own.others]
            parts = explanations(samples, values, user, item, t, t + 1)
            rate = parts[3] / (p @ Q[item])
            shares += rate * (Q[own.others] @ np.linalg.solve(A, Q[item])) * w / len(samples.cuts)
            excess += w / len(samples.cuts)
        every = np.arange(len(samples.cuts))
        levels = own.levels.astype(np.int64)
        found = influences(samples, values, user, item, own.others, levels, every)
        assert found[0] == pytest.approx(shares, abs=1e-3)
        assert found[1] == pytest.approx(excess, abs=2e-3)
        taste = explanations(samples, values, user, item, 0, len(every))[3] / len(every)
        assert found[0].sum() == pytest.approx(taste, abs=0.15)


def test_the_report_shows_the_parts_that_act(tastes: ct.Recommender) -> None:
    model = tastes.model_
    page = recommender_report.render([], model=model, ratings=model.ratings_)
    assert "What people disagree about" in page and "not used" in page
    assert "the groups of users" not in page
    grouped = ct.Recommender(model_of("best").set_params(pilot=False)).fit(two_tastes()).model_
    page = recommender_report.render([], model=grouped, ratings=grouped.ratings_)
    assert "Table 1: the groups of users" in page and "not used" not in page
