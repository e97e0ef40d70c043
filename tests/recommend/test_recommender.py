"""What every recommender promises, whatever model is inside."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import reference
from tests.support.small_models import likes_table, model_of

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.recommend.rating_table import trust


def pairs_of(ratings: ct.Ratings) -> tuple[np.ndarray, np.ndarray]:
    return ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]


def test_distributions_are_ones_and_their_mean_is_the_prediction(rec, ratings) -> None:
    users, items = pairs_of(ratings)
    p = rec.predict_proba(users, items)
    assert p.shape == (len(ratings), 5) and (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert_allclose(rec.predict(users, items), p @ rec.values_)
    assert_allclose(rec.predict(np.column_stack([users, items])), rec.predict(users, items))


def test_it_learns_the_two_tastes(rec) -> None:
    users = [f"u{i}" for i in range(40) for _ in range(30)]
    items = [100 + j for _ in range(40) for j in range(30)]
    predicted = rec.predict(users, items).reshape(40, 30)
    liked = (np.add.outer(np.arange(40), np.arange(30)) % 2) == 0
    assert predicted[liked].mean() > predicted[~liked].mean() + 0.5


def test_rows_line_up_whatever_their_order(rec, ratings) -> None:
    users, items = pairs_of(ratings)
    order = np.random.default_rng(0).permutation(len(users))
    assert_array_equal(rec.predict(users[order], items[order]), rec.predict(users, items)[order])


def test_strangers_fall_back_and_are_flagged(rec) -> None:
    users, items = ["u1", "nobody", "u1", "nobody"], [100, 100, 999, 999]
    assert rec.unseen(users, items).tolist() == [False, True, True, True]
    p = rec.predict_proba(users, items)
    table = rec.table_
    number = rec.items_.numbers([100])
    assert_allclose(p[1], table.item_distributions(number)[0])
    assert_allclose(p[2], table.user_distributions(rec.users_.numbers(["u1"]))[0])
    assert_allclose(p[3], table.everybody)
    counts = np.bincount(table.levels[table.items == number[0]], minlength=5)
    weight = trust(table.item_counts)
    assert_allclose(p[1], (counts + weight * table.everybody) / (counts.sum() + weight))


def test_trust_is_what_the_moments_say() -> None:
    """Means that differ with variance 1 around ratings of variance 4: four ratings' worth."""
    rng = np.random.default_rng(0)
    level = np.clip(np.round(rng.normal(20 + rng.normal(0, 1, (4000, 1)), 2, (4000, 9))), 0, 40)
    counts = np.array([np.bincount(row.astype(int), minlength=41) for row in level])
    assert trust(counts) == pytest.approx(4, rel=0.1)
    assert trust(np.array([[3, 0], [0, 0]])) == 1000  # nothing to compare with


def test_ranking_is_by_expected_rating_and_leaves_out_what_was_rated(rec, ratings) -> None:
    users, items = pairs_of(ratings)
    for user, found in zip(["u3", "u8"], rec.recommend(["u3", "u8"], 5), strict=True):
        rated = set(items[users == user].tolist())
        free = [item for item in ratings.item_ids.tolist() if item not in rated]
        predicted = rec.predict([user] * len(free), free)
        assert [f.rating for f in found] == pytest.approx(sorted(predicted, reverse=True)[:5])
        assert not rated & {f.item for f in found}
    everything = rec.recommend("u3", 100, exclude_seen=False)
    assert len(everything) == ratings.n_items
    assert len(rec.recommend("u3", 100)) == ratings.n_items - (users == "u3").sum()
    assert len(rec.recommend("a stranger", 4)) == 4


def test_explanations_add_up(rec) -> None:
    for user, item in (("u3", 104), ("u8", 111)):
        why = rec.explain(user, item)
        total = sum(c.weight * c.rating for c in why.contributions)
        assert total == pytest.approx(rec.predict([user], [item])[0], abs=1e-9)
        assert why.rating == pytest.approx(total, abs=1e-9)
        assert (
            len(why.words({item: "A Title"})) >= 2 and "A Title" in why.words({item: "A Title"})[0]
        )
    with pytest.raises(InputError, match="nobody"):
        rec.explain("nobody", 104)


def test_similar_items_share_their_taste(rec) -> None:
    found = rec.similar_items(104, 8)
    assert len(found) == 8 and 104 not in [item for item, _ in found]
    assert [like for _, like in found] == sorted((like for _, like in found), reverse=True)
    assert np.mean([item % 2 == 0 for item, _ in found]) > 0.7
    assert max(like for _, like in found) <= 1 + 1e-9
    with pytest.raises(InputError, match="999"):
        rec.similar_items(999)


def new_user(liked: int, count: int = 14) -> ct.Ratings:
    items = list(range(100, 100 + count))
    values = [5 if item % 2 == liked else 1 for item in items]
    return ct.Ratings.from_arrays(["newcomer"] * count, items, values)


@pytest.mark.parametrize("liked", [0, 1])
def test_a_new_user_is_taken_in(rec, liked: int, ratings) -> None:
    users, items = pairs_of(ratings)
    before = rec.predict(users, items)
    rec.fold_in(new_user(liked))
    predicted = rec.predict(["newcomer"] * 30, list(range(100, 130))).reshape(15, 2)
    assert predicted[:, liked].mean() > predicted[:, 1 - liked].mean() + 0.5
    assert not rec.unseen(["newcomer"], [100]).any()
    assert_array_equal(rec.predict(users, items), before)
    assert {f.item % 2 for f in rec.recommend("newcomer", 4)} == {liked}


def test_a_new_item_is_taken_in(rec) -> None:
    users = [f"u{i}" for i in range(30)]
    rec.fold_in(ct.Ratings.from_arrays(users, [500] * 30, [5 if i % 2 else 1 for i in range(30)]))
    predicted = rec.predict([f"u{i}" for i in range(30, 40)], [500] * 10)
    assert predicted[1::2].mean() > predicted[::2].mean() + 0.5


def test_a_new_user_and_a_new_item_at_once(rec) -> None:
    both = ct.Ratings.from_arrays(
        ["n"] * 10 + [f"u{i}" for i in range(20)] + ["n", "alone"],
        [*range(100, 110), *[500] * 20, 500, 501],
        [5 if i % 2 == 0 else 1 for i in range(10)]
        + [5 if i % 2 == 0 else 1 for i in range(20)]
        + [5, 3],
    )
    rec.fold_in(both)
    assert rec.predict(["n"], [500])[0] > 3
    assert np.isfinite(rec.predict(["alone", "alone"], [501, 100])).all()


def test_new_ratings_of_an_old_user_replace_the_old_ones(rec) -> None:
    length = len(rec.table_.users)
    rated = rec.table_.items[rec.table_.users == rec.users_.numbers(["u2"])[0]]
    ids = rec.items_.ids[rated]
    rec.fold_in(ct.Ratings.from_arrays(["u2"] * len(ids), ids, np.where(ids % 2 == 1, 5, 1)))
    assert len(rec.table_.users) == length
    assert rec.predict(["u2"], [101])[0] > rec.predict(["u2"], [100])[0]


def test_fold_in_of_mmsbm_is_em_with_the_rest_fixed(fitted, tmp_path) -> None:
    fitted["mmsbm"].save(tmp_path / "m")
    rec = ct.load_recommender(tmp_path / "m")
    given = new_user(0)
    rec.fold_in(given)
    for run in rec.adapter_.runs:
        k = run.users.shape[1]
        h = np.full(k, 1 / k)
        numbers = rec.items_.numbers(given.item_ids[given.items])
        for _ in range(3000):  # cl:alg3, line 7, by plain loops
            fresh = np.full(k, 0.1)
            for v, r in zip(numbers, rec.adapter_.levels(given.ratings), strict=True):
                likely = run.theta[:, :, r] @ run.items[v]
                fresh += h * likely / (h @ likely)
            h = fresh / fresh.sum()
        assert_allclose(run.users[-1], h, atol=1e-6)


def test_distribution_of_mmsbm_is_the_reference(fitted) -> None:
    rec = fitted["mmsbm"]
    u, v = rec.users_.numbers(["u5"])[0], rec.items_.numbers([105])[0]
    expected = np.mean(
        [
            reference.predicted_distribution(run.users[u], run.items[v], run.theta)
            for run in rec.adapter_.runs
        ],
        axis=0,
    )
    assert_allclose(rec.predict_proba(["u5"], [105])[0], expected / expected.sum(), atol=1e-9)


def test_distribution_of_hard_is_that_of_the_block(fitted, ratings) -> None:
    rec = fitted["hard"]
    model = rec.model_
    inside = (model.user_labels_[ratings.users] == model.user_labels_[3]) & (
        model.item_labels_[ratings.items] == model.item_labels_[4]
    )
    counts = np.bincount(ratings.codes[inside], minlength=5)
    whole = np.bincount(ratings.codes, minlength=5) / len(ratings)
    p = rec.predict_proba([ratings.user_ids[3]], [ratings.item_ids[4]])[0]
    assert_allclose(p, (counts + whole) / (counts.sum() + 1))


def test_a_fitted_model_is_used_as_it_is(ratings) -> None:
    model = ct.MMSBM(n_groups=2, max_iter=20, rng=3).fit(ratings)
    rec = ct.Recommender(model)
    assert rec.adapter_.runs[0].users is not None
    assert rec.predict(["u1"], [100]) == ct.Recommender(ct.MMSBM(2, max_iter=20, rng=3)).fit(
        ratings
    ).predict(["u1"], [100])
    assert not hasattr(ct.Recommender(ct.MMSBM()), "adapter_")


def test_fit_leaves_the_given_model_alone(ratings) -> None:
    model = ct.MMSBM(n_groups=2, max_iter=3)
    ct.Recommender(model).fit(ratings)
    assert not hasattr(model, "theta_")


def test_the_names_of_models() -> None:
    with pytest.raises(InputError, match="better"):
        ct.Recommender("better").fit(ct.Ratings.from_arrays([1], [1], [1]))
    with pytest.raises(InputError, match="not fitted"):
        ct.Recommender("best").predict([1], [1])


def test_one_value_only_is_said() -> None:
    table = ct.Ratings.from_arrays([1, 2, 2], [1, 1, 2], [4, 4, 4])
    with pytest.warns(AssumptionWarning, match="every rating is 4"):
        rec = ct.Recommender(ct.AdditiveBlockModel(n_chains=1, n_sweeps=10)).fit(table)
    assert rec.predict([1, 9], [2, 9]).tolist() == [4, 4]


@pytest.mark.parametrize("name", ["best", "mmsbm", "hard"])
def test_likes_are_ranked(name: str) -> None:
    table, hidden = likes_table()
    rec = ct.Recommender(model_of(name)).fit(table)
    assert rec.likes_ and rec.values_.tolist() == [0, 1]
    hits = 0
    for user in range(20):
        found = [f.item for f in rec.recommend(user, 5)]
        hits += len({item for u, item in hidden if u == user} & set(found))
    assert hits > 0.5 * sum(u < 20 for u, _ in hidden)
    rec.fold_in(ct.Ratings.from_arrays(["new"] * 6, [0, 2, 4, 6, 8, 10], np.ones(6)))
    assert np.mean([f.item % 2 == 0 for f in rec.recommend("new", 8)]) > 0.7


def test_ids_may_be_given_as_text_or_number() -> None:
    table = ct.Ratings.from_arrays([1, 2, 2], ["7", "8", "7"], [1, 2, 2])
    rec = ct.Recommender(ct.MMSBM(n_groups=1, max_iter=2)).fit(table)
    assert not rec.unseen(["1", 2], [7, "8"]).any()


def test_pairs_that_do_not_line_up(fitted) -> None:
    with pytest.raises(InputError, match="line up"):
        fitted["mmsbm"].predict(["u1", "u2"], [100])
    with pytest.raises(InputError, match="shape"):
        fitted["mmsbm"].predict(np.zeros((2, 3)))
    with pytest.raises(InputError, match="n=0"):
        fitted["mmsbm"].recommend("u1", 0)


def test_scikit_learn_model_selection(ratings) -> None:
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score

    users, items = pairs_of(ratings)
    X, y = np.column_stack([users.astype(object), items.astype(object)]), ratings.ratings
    rec = ct.Recommender(ct.AdditiveBlockModel(n_groups=(2, 2), n_chains=1, n_sweeps=40))
    scores = cross_val_score(rec, X, y, cv=3)
    assert scores.shape == (3,) and (scores < 0).all() and scores.mean() > -np.std(y)
    grid = GridSearchCV(rec, {"model__n_groups": [(1, 1), (2, 2)]}, cv=2).fit(X, y)
    assert grid.best_params_ == {"model__n_groups": (2, 2)}
    assert clone(rec).get_params()["model__n_groups"] == (2, 2)


def test_the_same_on_one_and_two_threads(rec, ratings) -> None:
    from coterie.engine import LocalEngine

    users, items = (np.tile(column, 4) for column in pairs_of(ratings))
    with LocalEngine(1) as one, LocalEngine(2) as two:
        assert_array_equal(
            rec.predict_proba(users, items, engine=one), rec.predict_proba(users, items, engine=two)
        )


def test_no_warnings_in_ordinary_use(ratings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.Recommender(ct.MMSBM(n_groups=2, max_iter=5)).fit(ratings).recommend("u1")
