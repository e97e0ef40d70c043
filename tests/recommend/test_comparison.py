"""Comparisons of models: baselines and paired tests against plain formulas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tests import reference
from tests.support.small_models import two_tastes

import coterie as ct
from coterie.base.errors import InputError
from coterie.models.interaction import ranking_model
from coterie.recommend.comparison import compare, mean_difference, user_groups
from coterie.report.comparison_report import render


@pytest.fixture(scope="module")
def ratings() -> ct.Ratings:
    """Users of two kinds, who like most of the items of their own kind."""
    rng = np.random.default_rng(3)
    users, items = np.divmod(rng.permutation(60 * 30)[:900], 30)
    high = (users + items) % 2 == 0
    return ct.Ratings.from_arrays(
        users, items, np.clip(np.where(high, 4, 2) + rng.integers(-1, 2, 900), 1, 5)
    )


def liked_table(rec: ct.Recommender) -> np.ndarray:
    table, out = rec.table_, np.zeros((rec.table_.n_users, rec.table_.n_items))
    liked = rec.values_[table.levels] >= rec.liked_from_
    out[table.users[liked], table.items[liked]] = 1
    return out


def expected_list(scores: np.ndarray, rec: ct.Recommender, user: int, n: int) -> list:
    own = set(rec.table_.items[rec.table_.users == user].tolist())
    order = sorted(set(range(len(scores))) - own, key=lambda v: (-scores[v], v))
    return [rec.items_.ids[v] for v in order[:n]]


def test_ease_equals_the_formula(ratings, monkeypatch) -> None:
    monkeypatch.setattr(ranking_model, "_PENALTIES", (40.0,))
    monkeypatch.setattr(ranking_model, "_FIRST_PENALTY", 0)
    rec = ct.Recommender("ease").fit(ratings)
    X = liked_table(rec)
    scores = X @ reference.item_regression(X, 40.0)
    for user in range(8):
        found = rec.recommend(rec.users_.ids[user], 5)
        numbers = rec.items_.numbers([one.item for one in found])
        best = np.sort(scores[user][rec.items_.numbers(expected_list(scores[user], rec, user, 5))])
        assert_allclose(np.sort(scores[user][numbers]), best, atol=1e-3)


def test_ials_is_a_fixed_point_for_users(ratings) -> None:
    rec = ct.Recommender("ials").fit(ratings).fit_rankings()
    X, factors = liked_table(rec), rec._fitted.interactions.factors[1]
    for user in (0, 5):
        own = reference.implicit_row(X[user], factors.items, *factors.settings)
        found = [one.item for one in rec.recommend(rec.users_.ids[user], 5)]
        assert found == expected_list(factors.items @ own, rec, user, 5)


def test_popularity_and_item_means(ratings) -> None:
    rec = ct.Recommender("popularity").fit(ratings)
    found = [one.item for one in rec.recommend(rec.users_.ids[0], 5)]
    assert found == expected_list(liked_table(rec).sum(axis=0), rec, 0, 5)
    rec = ct.Recommender("item-mean").fit(ratings)
    own = ratings.ratings[ratings.items == 4]
    expected = (own.sum() + ratings.ratings.mean()) / (len(own) + 1)
    assert rec.predict([ratings.user_ids[0]], [ratings.item_ids[4]])[0] == pytest.approx(expected)


def test_the_interval_is_the_paired_t_test_and_covers_with_dependent_ratings() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(0.3, 1, 40)
    mean, low, high, p = mean_difference(x, np.arange(40))
    expected = stats.ttest_1samp(x, 0)
    assert p == pytest.approx(expected.pvalue)
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert mean == pytest.approx(x.mean())
    inside = 0
    for _ in range(400):  # five ratings per user that have most of their difference in common
        users = np.repeat(np.arange(60), 5)
        values = rng.normal(0, 1, 60)[users] + rng.normal(0, 0.3, 300)
        _, low, high, _ = mean_difference(values, users)
        inside += low < 0 < high
    assert 0.91 <= inside / 400 <= 0.98


def test_a_comparison(ratings) -> None:
    models = ["mmsbm", "item-mean", "popularity", "ease", "ials"]
    found = compare(models, ratings, split="folds", folds=3, top=5)
    assert [m.name for m in found.models] == models and found.tested == len(ratings)
    result = json.loads(json.dumps(ct.base.json_values.json_value(found.to_json())))
    by_name = {m["name"]: m for m in result["models"]}
    assert by_name["popularity"]["rmse"] is None and by_name["popularity"]["notes"]
    assert by_name["ease"]["ndcg"] > by_name["popularity"]["ndcg"]
    own = ct.evaluate(lambda: ct.recommend.registry.make_model("mmsbm"), ratings, folds=3, top=5)
    assert by_name["mmsbm"]["rmse"] == pytest.approx(own.means.rmse)
    assert by_name["mmsbm"]["ndcg"] == pytest.approx(own.means.ndcg)
    test = found.test("rmse", "mmsbm", "item-mean")
    assert test.difference < 0 and test.better == "mmsbm" and test.low < test.difference < test.high
    assert found.test("rmse", "item-mean", "mmsbm").difference == -test.difference
    assert found.test("rmse", "mmsbm", "popularity") is None
    raw = [t.p_value for t in found.tests]
    assert all(t.p_adjusted >= p for t, p in zip(found.tests, raw, strict=True))
    rows = [i for i, name in enumerate(found.users["model"]) if name == "mmsbm"]
    squares = np.array(found.users["rmse"])[rows] ** 2 * np.array(found.users["ratings"])[rows]
    pooled = np.sqrt(squares.sum() / len(ratings))  # every rating is tested once
    groups = found.models[0].groups
    assert sum(g["users"] for g in groups.values()) == len(rows) == 60
    whole = compare(["mmsbm"], ratings, split="folds", folds=3).models[0].metrics.rmse
    assert pooled == pytest.approx(whole, abs=0.01)
    page = render(found, titles={str(v): f"Film {v}" for v in range(30)})
    assert "Film 7" in page and "does not predict ratings" in page and "liked" in page


def test_models_share_their_lists_and_mistakes_are_named(ratings) -> None:
    found = compare([ct.MMSBM(n_groups=2, max_iter=5), "hard"], ratings)
    assert found.models[0].metrics.ndcg == found.models[1].metrics.ndcg
    assert "have the same lists" in render(found)
    with pytest.raises(InputError, match="unknown model 'x'"):
        compare(["x"], ratings)
    with pytest.raises(InputError, match="twice"):
        compare(["ease", "ease"], ratings)
    with pytest.raises(InputError, match="no models"):
        compare([], ratings)
    assert list(user_groups(np.ones(3, int), np.ones(3, bool))) == ["all users"]
    assert compare({"mine": "popularity"}, two_tastes()).models[0].name == "mine"


def test_the_command(ratings, tmp_path: Path) -> None:
    import subprocess
    import sys

    ct.write_ratings(ratings, tmp_path / "r.csv")
    call = [sys.executable, "-m", "coterie", "recommend", "compare", str(tmp_path / "r.csv")]
    call += ["--models", "item-mean,popularity", "--json", "--out", str(tmp_path / "u.csv")]
    call += ["--report", str(tmp_path / "p.html")]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {"models", "tests"} <= set(result) and result["models"][1]["rmse"] is None
    assert (tmp_path / "u.csv").read_text().startswith("model,user,ratings,rmse")
    assert "popular items" in (tmp_path / "p.html").read_text(encoding="utf-8")
