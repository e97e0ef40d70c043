"""Ratings and users about which little is known, or which cannot be right."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.command_line import coterie
from tests.support.small_models import model_of, two_tastes

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError


@pytest.fixture(scope="module")
def fitted() -> ct.Recommender:
    return ct.Recommender(model_of("best")).fit(two_tastes())


def popular(rec: ct.Recommender, n: int) -> list:
    likes = rec.table_.levels >= rec._fitted.liked_level
    counts = np.bincount(rec.table_.items[likes], minlength=len(rec.items_))
    return rec.items_.ids[np.argsort(-counts, kind="stable")[:n]].tolist()


@pytest.mark.parametrize("add", ["fold_in", "only_newcomers"])
def test_a_newcomer_with_unknown_items_gets_the_popular_ones(fitted, add: str, tmp_path) -> None:
    fitted.save(tmp_path / "m")
    rec = ct.load_recommender(tmp_path / "m")
    expected = popular(rec, 5)
    rec = getattr(rec, add)([["new", "nope"]], [3])
    assert [one.item for one in rec.recommend("new", 5)] == expected
    assert [one.item for one in rec.recommend(["new", "u3"], 5)[0]] == expected
    why = rec.explain_ranking("new", expected[0])
    assert why.score == pytest.approx(1.0) and not why.own_items
    assert "popularity decides" in why.words()[1]


def test_similar_items_of_a_model_without_tastes(tmp_path) -> None:
    rng = np.random.default_rng(0)  # half of the people have even items, and ratings are noise
    u, v = rng.integers(0, 60, 900), rng.integers(0, 30, 900)
    v += (u + v) % 2
    pairs = np.unique(u * 31 + v)
    ratings = ct.Ratings.from_arrays(pairs // 31, pairs % 31, rng.integers(1, 6, len(pairs)))
    rec = ct.Recommender(ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, n_factors=0, rng=0))
    rec.fit(ratings)
    samples = rec.model_.samples_
    rec.model_.samples_ = samples._replace(effects=np.zeros_like(samples.effects))
    rec = ct.Recommender(rec.model_)
    found = rec.similar_items(4, 8)
    assert found[0][1] > 0 and all(item % 2 == 0 for item, _ in found)


@pytest.mark.parametrize("method", ["fold_in", "only_newcomers"])
def test_a_rating_outside_the_scale_is_refused(fitted, method: str) -> None:
    with pytest.raises(InputError, match=r"rating 99 is outside the scale of the model, 1 to 5"):
        getattr(fitted, method)([["new", 104]], [99])


@pytest.mark.filterwarnings("ignore:.*distinct ratings:coterie.base.errors.AssumptionWarning")
def test_grouped_scales_know_their_ends() -> None:
    rng = np.random.default_rng(0)
    ratings = ct.Ratings.from_arrays(
        rng.integers(0, 30, 400), rng.integers(0, 20, 400), rng.integers(1, 101, 400), merge=True
    )
    rec = ct.Recommender(ct.AdditiveBlockModel(n_chains=1, n_sweeps=16, pilot=False)).fit(ratings)
    rec.only_newcomers([["new", 3], ["new", 4]], [1, 100])
    with pytest.raises(InputError, match="outside the scale"):
        rec.only_newcomers([["new", 3]], [130])


def test_outliers_are_said_and_absurd_numbers_refused() -> None:
    table = two_tastes()
    values = table.ratings.copy()
    users, items = table.user_ids[table.users], table.item_ids[table.items]
    values[5] = 1e23
    model = ct.MMSBM(n_groups=1, max_iter=2)
    with pytest.raises(InputError, match=r"a rating is 1e\+23"):
        ct.Recommender(model).fit(ct.Ratings.from_arrays(users, items, values))
    values[5] = 1e7
    with pytest.warns(AssumptionWarning, match=r"a rating is 1e\+07, but 98 % .* 1 and 5"):
        ct.Recommender(model).fit(ct.Ratings.from_arrays(users, items, values))


def test_no_pairs_to_predict(fitted, tmp_path) -> None:
    fitted.save(tmp_path / "m")
    (tmp_path / "pairs.csv").write_text("user,item\n")
    done = coterie("recommend", "predict", tmp_path / "m", tmp_path / "pairs.csv")
    assert done.returncode == 2 and "no pairs" in done.stderr
