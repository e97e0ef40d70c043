"""What every Recommender does, with any model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests import reference
from tests.support.small_models import likes_table, model_of

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.models.base import Estimator
from coterie.recommend.fold_in import with_ratings
from coterie.recommend.rating_table import prior_weight


def pairs_of(ratings: ct.Ratings) -> tuple[np.ndarray, np.ndarray]:
    return ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]


def test_distributions_sum_to_one_and_their_mean_is_the_prediction(rec, ratings) -> None:
    users, items = pairs_of(ratings)
    p = rec.predict_proba(users, items)
    assert p.shape == (len(ratings), 5) and (p >= 0).all()
    assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    assert_allclose(rec.predict(users, items), p @ rec.values_)
    assert_allclose(rec.predict(np.column_stack([users, items])), rec.predict(users, items))


def test_predictions_separate_the_two_tastes(rec) -> None:
    users = [f"u{i}" for i in range(40) for _ in range(30)]
    items = [100 + j for _ in range(40) for j in range(30)]
    predicted = rec.predict(users, items).reshape(40, 30)
    liked = (np.add.outer(np.arange(40), np.arange(30)) % 2) == 0
    assert predicted[liked].mean() > predicted[~liked].mean() + 0.5


def test_predictions_follow_the_order_of_the_pairs(rec, ratings) -> None:
    users, items = pairs_of(ratings)
    order = np.random.default_rng(0).permutation(len(users))
    assert_array_equal(rec.predict(users[order], items[order]), rec.predict(users, items)[order])


@pytest.mark.parametrize("name", ["mmsbm", "mcmmsbm", "hard"])
def test_unknown_users_and_items_get_fallback_distributions(fitted, name) -> None:
    rec = fitted[name]
    users, items = ["u1", "nobody", "u1", "nobody"], [100, 100, 999, 999]
    assert rec.unseen(users, items).tolist() == [False, True, True, True]
    p = rec.predict_proba(users, items)
    table = rec.table_
    number = rec.items_.numbers([100])
    assert_allclose(p[1], table.item_distributions(number)[0])
    assert_allclose(p[2], table.user_distributions(rec.users_.numbers(["u1"]))[0])
    assert_allclose(p[3], table.everybody)
    counts = np.bincount(table.levels[table.items == number[0]], minlength=5)
    weight = prior_weight(table.item_counts)
    assert_allclose(p[1], (counts + weight * table.everybody) / (counts.sum() + weight))


def test_best_predicts_unknown_users_and_items_as_average_ones(tmp_path) -> None:
    rng = np.random.default_rng(0)
    mood, quality = rng.normal(0, 1, 60), rng.normal(0, 1, 20)
    users, items = (side.ravel() for side in np.indices((60, 20)))
    kept = rng.random(len(users)) < 0.7
    users, items = users[kept], items[kept]
    stars = 3 + mood[users] + quality[items] + 0.3 * rng.normal(size=len(users))
    ratings = ct.Ratings.from_arrays(users, items, np.clip(np.round(stars), 1, 5))
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=40, pilot=False, rng=0)
    rec = ct.Recommender(model).fit(ratings)
    by_nobody = rec.predict([999] * 20, np.arange(20))
    of_nothing = rec.predict(np.arange(60), [999] * 60)
    assert np.corrcoef(by_nobody, quality)[0, 1] > 0.95
    assert np.corrcoef(of_nothing, mood)[0, 1] > 0.95
    assert rec.predict([999], [999]) == pytest.approx(ratings.ratings.mean(), abs=0.3)
    assert rec.recommend(999, 1, order="rating")[0].rating == by_nobody.max()
    p = rec.predict_proba([999, 3, 999], [4, 999, 999])
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-5)
    unknown = np.array([-1, 3, -1]), np.array([4, -1, -1])
    by_model = rec.predictor_.unknown_distributions(*unknown, "local")
    rec.fold_in(ct.Ratings.from_arrays([70, 70], [1, 2], [1, 5])).save(tmp_path / "model")
    again = ct.load_recommender(tmp_path / "model")
    p = rec.predict_proba([999, 3, 999], [4, 999, 999])
    assert_array_equal(again.predict_proba([999, 3, 999], [4, 999, 999]), p)
    assert_array_equal(again.predictor_.unknown_distributions(*unknown, "local"), by_model)


def test_few_ratings_of_an_item_count_less_than_the_model(fitted) -> None:
    """The answer for an unknown user lies between the model's and that of the item's ratings."""
    rec = fitted["best"]
    number = rec.items_.numbers([100])
    found = rec.predict_proba(["nobody"], [100])
    of_item = rec.table_.item_distributions(number)
    of_model = rec.predictor_.unknown_distributions(np.array([-1]), number, "local")
    n = rec.table_.item_counts[number].sum()
    weight = n / (n + prior_weight(rec.table_.item_counts))
    assert_allclose(found, weight**2 * of_item + (1 - weight**2) * of_model)


def test_prior_weight_is_the_ratio_of_variances() -> None:
    """Means with variance 1 and ratings with variance 4 around them: the weight is 4."""
    rng = np.random.default_rng(0)
    level = np.clip(np.round(rng.normal(20 + rng.normal(0, 1, (4000, 1)), 2, (4000, 9))), 0, 40)
    counts = np.array([np.bincount(row.astype(int), minlength=41) for row in level])
    assert prior_weight(counts) == pytest.approx(4, rel=0.1)
    assert prior_weight(np.array([[3, 0], [0, 0]])) == 1000  # nothing to compare with


def test_recommend_ranks_unrated_items_by_expected_rating(rec, ratings) -> None:
    users, items = pairs_of(ratings)
    for user, found in zip(
        ["u3", "u8"], rec.recommend(["u3", "u8"], 5, order="rating"), strict=True
    ):
        rated = set(items[users == user].tolist())
        free = [item for item in ratings.item_ids.tolist() if item not in rated]
        predicted = rec.predict([user] * len(free), free)
        assert [f.rating for f in found] == pytest.approx(sorted(predicted, reverse=True)[:5])
        assert not rated & {f.item for f in found}
    everything = rec.recommend("u3", 100, exclude_seen=False)
    assert len(everything) == ratings.n_items
    assert len(rec.recommend("u3", 100)) == ratings.n_items - (users == "u3").sum()
    assert len(rec.recommend("a stranger", 4)) == 4


def test_contributions_sum_to_the_prediction(rec) -> None:
    for user, item in (("u3", 104), ("u8", 111)):
        why = rec.explain(user, item)
        total = sum(term.weight * term.rating for term in why.contributions)
        assert total == pytest.approx(rec.predict([user], [item])[0], abs=1e-9)
        assert why.rating == pytest.approx(total, abs=1e-9)
        assert (
            len(why.words({item: "A Title"})) >= 2 and "A Title" in why.words({item: "A Title"})[0]
        )
    with pytest.raises(InputError, match="nobody"):
        rec.explain("nobody", 104)


def test_explanation_names_titles_and_groups(fitted) -> None:
    lines = fitted["best"].explain("u3", 104).words({104: "A Title"})
    assert lines[0].startswith("Expected rating of user u3 for item A Title: ")
    assert any("the starting point" in line for line in lines)
    assert any("(chain " in line and "partition" in line for line in lines)
    assert "smaller contributions together" in lines[-1]
    hard = fitted["hard"].explain("u3", 104)
    assert hard.contributions[0].groups.user_group == fitted["hard"].predictor_.users[3]
    assert "user group" in hard.words()[1] and "on average" in hard.words()[1]


def test_similar_items_are_liked_by_the_same_users(rec) -> None:
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
def test_fold_in_adds_a_new_user(rec, liked: int, ratings) -> None:
    users, items = pairs_of(ratings)
    before = rec.predict(users, items)
    rec.fold_in(new_user(liked))
    predicted = rec.predict(["newcomer"] * 30, list(range(100, 130))).reshape(15, 2)
    assert predicted[:, liked].mean() > predicted[:, 1 - liked].mean() + 0.5
    assert not rec.unseen(["newcomer"], [100]).any()
    assert_array_equal(rec.predict(users, items), before)
    assert {f.item % 2 for f in rec.recommend("newcomer", 4)} == {liked}


def test_fold_in_adds_a_new_item(rec) -> None:
    users = [f"u{i}" for i in range(30)]
    rec.fold_in(ct.Ratings.from_arrays(users, [500] * 30, [5 if i % 2 else 1 for i in range(30)]))
    predicted = rec.predict([f"u{i}" for i in range(30, 40)], [500] * 10)
    assert predicted[1::2].mean() > predicted[::2].mean() + 0.5


def test_fold_in_adds_users_and_items_together(rec) -> None:
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


def test_fold_in_replaces_earlier_ratings(rec) -> None:
    length = len(rec.table_.users)
    rated = rec.table_.items[rec.table_.users == rec.users_.numbers(["u2"])[0]]
    ids = rec.items_.ids[rated]
    rec.fold_in(ct.Ratings.from_arrays(["u2"] * len(ids), ids, np.where(ids % 2 == 1, 5, 1)))
    assert len(rec.table_.users) == length
    assert rec.predict(["u2"], [101])[0] > rec.predict(["u2"], [100])[0]


def test_fold_in_of_mmsbm_equals_em_with_everything_else_fixed(fitted, tmp_path) -> None:
    fitted["mmsbm"].save(tmp_path / "m")
    rec = ct.load_recommender(tmp_path / "m")
    given = new_user(0)
    rec.fold_in(given)
    for run in rec.predictor_.runs:
        k = run.users.shape[1]
        h = np.full(k, 1 / k)
        numbers = rec.items_.numbers(given.item_ids[given.items])
        for _ in range(3000):  # Algorithm 8 of Prost & Yoon, line 7, by plain loops
            fresh = np.full(k, 0.1)
            for v, r in zip(numbers, rec.predictor_.levels(given.ratings), strict=True):
                likely = run.theta[:, :, r] @ run.items[v]
                fresh += h * likely / (h @ likely)
            h = fresh / fresh.sum()
        assert_allclose(run.users[-1], h, atol=1e-6)


def test_distribution_of_mmsbm_equals_the_reference(fitted) -> None:
    rec = fitted["mmsbm"]
    u, v = rec.users_.numbers(["u5"])[0], rec.items_.numbers([105])[0]
    expected = np.mean(
        [
            reference.predicted_distribution(run.users[u], run.items[v], run.theta)
            for run in rec.predictor_.runs
        ],
        axis=0,
    )
    assert_allclose(rec.predict_proba(["u5"], [105])[0], expected / expected.sum(), atol=1e-9)


def test_distribution_of_hard_is_that_of_the_cell(fitted, ratings) -> None:
    rec = fitted["hard"]
    model = rec.model_
    inside = (model.labels_[0][ratings.users] == model.labels_[0][3]) & (
        model.labels_[1][ratings.items] == model.labels_[1][4]
    )
    counts = np.bincount(ratings.codes[inside], minlength=5)
    whole = np.bincount(ratings.codes, minlength=5) / len(ratings)
    p = rec.predict_proba([ratings.user_ids[3]], [ratings.item_ids[4]])[0]
    assert_allclose(p, (counts + whole) / (counts.sum() + 1))


def test_fitted_model_is_used_without_refitting(ratings) -> None:
    model = ct.MMSBM(n_groups=2, max_iter=20, rng=3).fit(ratings)
    rec = ct.Recommender(model)
    assert rec.predictor_.runs[0].users is not None
    assert rec.predict(["u1"], [100]) == ct.Recommender(ct.MMSBM(2, max_iter=20, rng=3)).fit(
        ratings
    ).predict(["u1"], [100])
    assert not hasattr(ct.Recommender(ct.MMSBM()), "predictor_")


def test_fit_does_not_change_the_given_model(ratings) -> None:
    model = ct.MMSBM(n_groups=2, max_iter=3)
    ct.Recommender(model).fit(ratings)
    assert not hasattr(model, "theta_")


def test_unknown_model_name_is_rejected_with_the_known_names() -> None:
    with pytest.raises(InputError, match="unknown model 'bset'") as caught:
        ct.Recommender("bset").fit(ct.Ratings.from_arrays([1], [1], [2]))
    assert all(name in str(caught.value) for name in ("best", "mmsbm", "mcmmsbm", "hard"))


def test_unsupported_estimator_is_rejected_before_it_is_fitted(ratings) -> None:
    class Unsupported(Estimator):
        def __init__(self) -> None:
            pass

        def fit(self, *args, **kwargs):
            raise AssertionError("fitted")

    with pytest.raises(InputError, match=r"cannot use a Unsupported.*GeneralizedKMeans"):
        ct.Recommender(Unsupported()).fit(ratings)


def test_subclass_of_a_model_uses_its_predictor(ratings) -> None:
    class Renamed(ct.MMSBM):
        pass

    rec = ct.Recommender(Renamed(n_groups=1, max_iter=2)).fit(ratings)
    assert rec.predictor_.kind == "soft"


def test_unfitted_recommender_says_so() -> None:
    rec = ct.Recommender("best")
    with pytest.raises(InputError, match="not fitted"):
        rec.predict([1], [1])
    assert not hasattr(rec, "predictor_") and not hasattr(rec, "model_")


def test_the_earlier_name_of_the_predictor_is_an_error_that_says_the_new_one(fitted) -> None:
    with pytest.raises(AttributeError, match="predictor_"):
        _ = fitted["mmsbm"].adapter_


def test_constructor_only_stores_its_arguments(ratings) -> None:
    model = ct.MMSBM(n_groups=2, max_iter=3).fit(ratings)
    rec = ct.Recommender(model)
    assert vars(rec) == {"model": model, "likes": None}
    assert rec.get_params(deep=False) == {"model": model, "likes": None}
    assert rec.predict(["u1"], [100]).shape == (1,)


def test_clone_of_a_recommender_with_a_fitted_model_is_unfitted(ratings) -> None:
    from sklearn.base import clone

    rec = ct.Recommender(ct.MMSBM(n_groups=2, max_iter=3).fit(ratings), likes=False)
    rec.predict(["u1"], [100])
    copy = clone(rec)
    assert repr(copy) == repr(rec) == "Recommender(MMSBM(n_groups=2, max_iter=3), likes=False)"
    assert not hasattr(copy, "model_")


def test_single_rating_value_gives_a_warning() -> None:
    table = ct.Ratings.from_arrays([1, 2, 2], [1, 1, 2], [4, 4, 4])
    with pytest.warns(AssumptionWarning, match="every rating is 4"):
        rec = ct.Recommender(ct.AdditiveBlockModel(n_chains=1, n_sweeps=10)).fit(table)
    assert rec.predict([1, 9], [2, 9]).tolist() == [4, 4]


@pytest.mark.parametrize("name", ["best", "mmsbm", "hard"])
def test_likes_are_ranked_by_probability(name: str) -> None:
    table, hidden = likes_table()
    rec = ct.Recommender(model_of(name), likes=True).fit(table)
    assert rec.likes_ and rec.values_.tolist() == [0, 1]
    hits = 0
    for user in range(20):
        found = [f.item for f in rec.recommend(user, 5)]
        hits += len({item for u, item in hidden if u == user} & set(found))
    assert hits > 0.5 * sum(u < 20 for u, _ in hidden)
    rec.fold_in(ct.Ratings.from_arrays(["new"] * 6, [0, 2, 4, 6, 8, 10], np.ones(6)))
    assert np.mean([f.item % 2 == 0 for f in rec.recommend("new", 8)]) > 0.7


def test_table_of_ones_is_read_as_likes_with_a_warning() -> None:
    table, _ = likes_table()
    with pytest.warns(AssumptionWarning, match="every rating is 1.*read as likes.*likes=False"):
        rec = ct.Recommender(model_of("mmsbm")).fit(table)
    assert rec.likes_


def test_likes_parameter_decides_without_a_warning(tmp_path) -> None:
    table, _ = likes_table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rec = ct.Recommender(model_of("mmsbm"), likes=True).fit(table)
        rec.save(tmp_path / "m")
        assert rec.likes_ and ct.load_recommender(tmp_path / "m").fit(table).likes_
    with pytest.warns(
        AssumptionWarning, match="every rating is 1, so every prediction is the same"
    ):
        rec = ct.Recommender(model_of("mmsbm"), likes=False).fit(table)
    assert not rec.likes_ and rec.values_.tolist() == [1]


def test_likes_parameter_with_ratings_is_rejected(ratings) -> None:
    with pytest.raises(InputError, match="`likes` is set, but the ratings are between 1 and 5"):
        ct.Recommender("mmsbm", likes=True).fit(ratings)


def test_folding_in_many_users_copies_the_samples_once(fitted, monkeypatch) -> None:
    """The number of copies of whole sample arrays does not grow with the number of users."""
    from coterie.models.additive import predict

    copies = []
    original = predict._with_nodes
    monkeypatch.setattr(predict, "_with_nodes", lambda *given: copies.append(1) or original(*given))
    counts = []
    for n_new in (1, 25):
        copies.clear()
        users = np.repeat([f"new{i}" for i in range(n_new)], 3)
        items = np.tile([100, 101, 500], n_new)
        new = ct.Ratings.from_arrays(users, items, np.tile([5, 1, 4], n_new))
        state = with_ratings(fitted["best"]._fitted, new)
        assert len(state.users) == 40 + n_new
        counts.append(len(copies))
    assert counts[0] == counts[1] == 5 + 4 + 5  # users, the new item, users again


def test_users_added_together_equal_users_added_one_by_one(fitted) -> None:
    state = fitted["best"]._fitted
    tables = [
        ct.Ratings.from_arrays([f"new{i}"] * 6, range(100, 106), [5, 1, 5, 1, i + 1, 3])
        for i in range(4)
    ]
    one_by_one = state
    for table in tables:
        one_by_one = with_ratings(one_by_one, table)
    users = [f"new{i}" for i in range(4) for _ in range(6)]
    values = np.concatenate([table.ratings for table in tables])
    together = with_ratings(state, ct.Ratings.from_arrays(users, [*range(100, 106)] * 4, values))
    for a, b in zip(together.predictor.samples, one_by_one.predictor.samples, strict=True):
        assert_array_equal(a, b)


def test_ids_are_found_as_text_or_number() -> None:
    table = ct.Ratings.from_arrays([1, 2, 2], ["7", "8", "7"], [1, 2, 2])
    rec = ct.Recommender(ct.MMSBM(n_groups=1, max_iter=2)).fit(table)
    assert not rec.unseen(["1", 2], [7, "8"]).any()


def test_malformed_pairs_are_rejected(fitted) -> None:
    with pytest.raises(InputError, match="2 users and 1 items"):
        fitted["mmsbm"].predict(["u1", "u2"], [100])
    with pytest.raises(InputError, match="shape"):
        fitted["mmsbm"].predict(np.zeros((2, 3)))


def test_n_below_one_is_rejected(fitted) -> None:
    with pytest.raises(InputError, match="n must be at least 1"):
        fitted["mmsbm"].recommend("u1", 0)
    with pytest.raises(InputError, match="n must be at least 1"):
        fitted["mmsbm"].similar_items(100, 0)


def test_scikit_learn_model_selection_works(ratings) -> None:
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


def test_predictions_do_not_depend_on_the_number_of_threads(rec, ratings) -> None:
    from coterie.engine import LocalEngine

    users, items = (np.tile(column, 4) for column in pairs_of(ratings))
    with LocalEngine(1) as one, LocalEngine(2) as two:
        assert_array_equal(
            rec.predict_proba(users, items, engine=one), rec.predict_proba(users, items, engine=two)
        )


def test_ordinary_use_gives_no_warnings(ratings) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.Recommender(ct.MMSBM(n_groups=2, max_iter=5)).fit(ratings).recommend("u1")
