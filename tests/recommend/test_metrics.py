"""Figures of merit against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

import coterie as ct
from coterie.base.errors import InputError
from coterie.recommend.evaluation import evaluate, evaluate_split, fold_rows
from coterie.recommend.metrics import ranking_metrics, rating_metrics


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 10**6))
def test_rating_metrics(n: int, R: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(R), n)
    values, levels = np.sort(rng.normal(size=R)), rng.integers(0, R, n)
    found = rating_metrics(p, values, levels, values[levels])
    mean = [reference.expected_rating(row, values) for row in p]
    median = [values[reference.median(row)] for row in p]
    assert found["rmse"] == pytest.approx(reference.rmse(values[levels], mean))
    assert found["mae"] == pytest.approx(reference.mae(values[levels], median))
    assert found["accuracy"] == pytest.approx(reference.accuracy(levels, p))
    assert found["log_loss"] == pytest.approx(reference.log_loss(levels, p))


@settings(deadline=None)
@given(st.integers(1, 8), st.integers(1, 6), st.integers(0, 10**6))
def test_ranking_metrics(users: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ranked = [rng.permutation(12)[:n] for _ in range(users)]
    relevant = [rng.choice(12, rng.integers(1, 5), replace=False) for _ in range(users)]
    found = ranking_metrics(ranked, relevant, 12, n)
    wanted = [set(row.tolist()) for row in relevant]
    lists = [row.tolist() for row in ranked]
    expected = [reference.precision(a, b, n) for a, b in zip(lists, wanted, strict=True)]
    assert found["precision"] == pytest.approx(np.mean(expected))
    expected = [reference.recall(a, b, n) for a, b in zip(lists, wanted, strict=True)]
    assert found["recall"] == pytest.approx(np.mean(expected))
    gains = [
        reference.dcg([float(x in b) for x in a]) / reference.dcg([1.0] * min(n, len(b)))
        for a, b in zip(lists, wanted, strict=True)
    ]
    assert found["ndcg"] == pytest.approx(np.mean(gains))
    assert found["coverage"] == pytest.approx(len({x for a in lists for x in a}) / 12)


def test_folds_follow_the_rule_and_cover_every_row_once() -> None:
    rows = fold_rows(103, 5, 7)
    expected = np.array_split(np.random.default_rng(7).permutation(103), 5)
    assert all((a == b).all() for a, b in zip(rows, expected, strict=True))
    with pytest.raises(InputError, match="4 ratings"):
        fold_rows(4, 5, 0)


def test_evaluation_measures_what_the_recommender_says(ratings) -> None:
    found = evaluate(lambda: ct.MMSBM(n_groups=2, max_iter=20, rng=0), ratings, folds=3, seed=1)
    assert len(found.folds) == 3
    rows = fold_rows(len(ratings), 3, 1)[0]
    train = ratings.take(np.setdiff1d(np.arange(len(ratings)), rows))
    rec = ct.Recommender(ct.MMSBM(n_groups=2, max_iter=20, rng=0)).fit(train)
    test = ratings.take(rows)
    predicted = rec.predict(test.user_ids[test.users], test.item_ids[test.items])
    assert found.folds[0]["rmse"] == pytest.approx(reference.rmse(test.ratings, predicted))
    assert found.mean["rmse"] == pytest.approx(np.mean([fold["rmse"] for fold in found.folds]))
    assert {"entropy", "fit_seconds", "fit_cpu_seconds", "ndcg", "coverage"} <= set(found.mean)


def test_a_user_without_training_ratings_is_still_answered(ratings) -> None:
    from coterie.engine import LocalEngine

    alone = np.flatnonzero(ratings.users == 0)
    rest = np.flatnonzero(ratings.users != 0)
    with LocalEngine(1) as engine:
        split = evaluate_split(
            ct.AdditiveBlockModel(n_chains=1, n_sweeps=10),
            ratings.take(rest),
            ratings.take(alone),
            5,
            engine,
        )
    assert np.isfinite(list(split.figures.values())).all()
