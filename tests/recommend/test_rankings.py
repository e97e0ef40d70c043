"""Lists of recommended items: the three orders, filters, explanations, similar users."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.small_models import likes_table, model_of, two_tastes

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.recommend.ranking import pairs_of_users

ORDERS = ("both", "interaction", "rating")


def test_both_is_the_default_order_and_leaves_out_rated_items(rec, ratings) -> None:
    rated = set(ratings.item_ids[ratings.items[ratings.user_ids[ratings.users] == "u3"]].tolist())
    lists = {order: rec.recommend("u3", 30, order=order) for order in ORDERS}
    assert rec.recommend("u3", 30) == lists["both"]
    for found in lists.values():
        items = [one.item for one in found]
        assert set(items) == set(ratings.item_ids.tolist()) - rated
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        expected = rec.predict(["u3"] * len(items), items)
        assert [one.rating for one in found] == pytest.approx(expected)
    assert [one.score for one in lists["rating"]] == [one.rating for one in lists["rating"]]


def test_rated_items_can_be_included(rec, ratings) -> None:
    assert len(rec.recommend("u3", 99, exclude_seen=False)) == ratings.n_items


def test_liked_items_come_first_in_the_order_both(fitted) -> None:
    """Everybody rates items of both tastes, but likes those of the own one."""
    rec = fitted["mmsbm"]
    for user in range(10):
        items = [one.item for one in rec.recommend(f"u{user}", 3)]
        assert np.mean([item % 2 == user % 2 for item in items]) > 0.5


def test_threshold_of_likes_divides_the_ratings_in_half(fitted) -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    rec = fitted["hard"]
    share = {x: np.mean(rec.values_[rec.table_.levels] >= x) for x in values[1:]}
    assert rec.liked_from_ == min(share, key=lambda x: abs(share[x] - 0.5))


def test_candidates_and_exclude_limit_the_lists(rec) -> None:
    every = [one.item for one in rec.recommend("u3", 30)]
    chosen = sorted(every)[:4]
    assert {one.item for one in rec.recommend("u3", 30, candidates=chosen)} == set(chosen)
    rest = rec.recommend("u3", 30, exclude=[*chosen, 999_999])
    assert [one.item for one in rest] == [item for item in every if item not in chosen]
    left = rec.recommend("u3", 30, candidates=chosen, exclude=chosen[:1], order="rating")
    assert {one.item for one in left} == set(chosen[1:])


def test_unknown_candidates_are_reported(fitted) -> None:
    rec = fitted["mmsbm"]
    with pytest.warns(AssumptionWarning, match="does not know 1 of the 2 candidates"):
        found = rec.recommend("u3", candidates=[100, "nothing"], exclude_seen=False)
    assert [one.item for one in found] == [100]
    with pytest.raises(InputError, match="none of the 2 `candidates`"):
        rec.recommend("u3", candidates=["nothing", "nowhere"])


def test_unknown_order_is_rejected(fitted) -> None:
    with pytest.raises(InputError, match=r"unknown `order`: 'best'; use one of 'interaction'"):
        fitted["mmsbm"].recommend("u3", order="best")


def test_unknown_user_gets_the_items_that_most_users_like(rec, ratings) -> None:
    found = rec.recommend("nobody", 30)
    likes = ratings.ratings >= rec.liked_from_
    counts = dict(zip(ratings.item_ids.tolist(), np.bincount(ratings.items[likes]), strict=True))
    assert [counts[one.item] for one in found] == sorted(counts.values(), reverse=True)


def assert_same_list(found: list, expected: list) -> None:
    """Scores of one user at a time may differ in the last digits from those of a block."""
    assert [(one.item, one.rating) for one in found] == [(x.item, x.rating) for x in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected])


def test_lists_in_blocks_equal_single_lists(rec, ratings, monkeypatch) -> None:
    monkeypatch.setattr("coterie.recommend.ranking._MAX_SCORES", 7 * ratings.n_items)
    blocks = list(rec.recommend_in_blocks(n=4))
    assert [len(block) for block in blocks] == [7, 7, 7, 7, 7, 5]
    lists = {user: found for block in blocks for user, found in block.items()}
    assert list(lists) == ratings.user_ids.tolist()
    for user in ("u0", "u13", "u39"):
        assert_same_list(lists[user], rec.recommend(user, 4))


def test_shares_of_own_items_add_up_to_the_score(rec, ratings) -> None:
    best = rec.recommend("u3", 1)[0]
    found = rec.explain_ranking("u3", best.item)
    assert found.score == pytest.approx(best.score, abs=1e-4)
    assert found.score == pytest.approx(sum(own.share for own in found.own_items))
    rated = ratings.item_ids[ratings.items[ratings.user_ids[ratings.users] == "u3"]]
    assert {own.item for own in found.own_items} == set(rated.tolist())
    shares = [own.share for own in found.own_items]
    assert shares == sorted(shares, reverse=True)
    lines = found.words({found.own_items[0].item: "Title"}, max_items=2)
    assert len(lines) == 4 and "has Title" in lines[1] and "the other" in lines[3]


def test_list_of_a_user_with_features_only_is_explained() -> None:
    """The list follows popularity, the rating the features; both explanations add up."""
    rng = np.random.default_rng(0)
    users, items = np.divmod(rng.permutation(600)[:300], 20)
    ratings = ct.Ratings.from_arrays(users, items, rng.integers(1, 6, 300))
    table = ct.NodeTable.from_columns(
        np.arange(31), {"age": rng.integers(20, 60, 31).astype(float)}
    )
    model = ct.AdditiveBlockModel(n_chains=2, n_sweeps=20, pilot=False)
    rec = ct.Recommender(model).fit(ratings, user_features=table)
    for order in ("both", "interaction"):
        for best in rec.recommend(30, 3, order=order):
            found = rec.explain_ranking(30, best.item, order=order)
            assert found.own_items == [] and found.score == found.popularity == best.score
            assert "so popularity decides" in found.words()[1]
    assert rec.explain(30, best.item).rating == pytest.approx(best.rating)


def test_ranking_of_unknown_users_and_items_is_not_explained(fitted) -> None:
    rec = fitted["mmsbm"]
    with pytest.raises(InputError, match="user 'nobody' is not in this model"):
        rec.explain_ranking("nobody", 100)
    with pytest.raises(InputError, match="item 'nothing' is not in this model"):
        rec.explain_ranking("u3", "nothing")
    with pytest.raises(InputError, match="use explain"):
        rec.explain_ranking("u3", 100, order="rating")


def test_similar_users_have_the_same_taste(rec) -> None:
    found = rec.similar_users("u3", 5)
    assert len(found) == 5 and all(user != "u3" for user, _ in found)
    similarities = [x for _, x in found]
    assert similarities == sorted(similarities, reverse=True) and similarities[0] <= 1 + 1e-12
    with pytest.raises(InputError, match="user 'nobody' has no rating"):
        rec.similar_users("nobody")
    with pytest.raises(InputError, match="n must be at least 1"):
        rec.similar_users("u3", 0)


def test_twins_are_the_most_similar_users(fitted, tmp_path) -> None:
    fitted["mmsbm"].save(tmp_path / "m")
    rec = ct.load_recommender(tmp_path / "m")
    items, values = list(range(100, 120)), [5, 1] * 10
    rows = [(user, item) for user in ("one", "two") for item in items]
    rec.fold_in(rows, values * 2)
    twin, similarity = rec.similar_users("one", 1)[0]
    assert twin == "two" and similarity == pytest.approx(1)


def test_added_user_gets_the_list_of_a_user_with_the_same_ratings(rec, ratings) -> None:
    own = np.flatnonzero(ratings.user_ids[ratings.users] == "u5")
    rows = [("copy", item) for item in ratings.item_ids[ratings.items[own]].tolist()]
    before = rec.recommend("u5", 10, order="interaction")
    rec.fold_in(rows, ratings.ratings[own])
    after = rec.recommend("copy", 10, order="interaction")
    assert [one.item for one in after] == [one.item for one in before]
    assert [one.score for one in after] == pytest.approx([one.score for one in before])


def test_added_item_is_recommended_to_users_of_its_taste(rec) -> None:
    fans = [f"u{user}" for user in range(0, 30, 2)]
    rec.fold_in([(user, "new film") for user in fans], [5] * len(fans))
    assert rec.recommend("u32", 31, exclude_seen=False)
    place = {}
    for user in ("u32", "u34", "u36", "u38", "u33", "u35", "u37", "u39"):
        items = [one.item for one in rec.recommend(user, 31, exclude_seen=False)]
        place[user] = items.index("new film")
    even = np.mean([place[f"u{x}"] for x in (32, 34, 36, 38)])
    odd = np.mean([place[f"u{x}"] for x in (33, 35, 37, 39)])
    assert even < odd
    assert rec.explain_ranking("u32", "new film").own_items


@pytest.mark.parametrize("name", ["best", "mmsbm", "mcmmsbm", "hard"])
def test_likes_are_ranked_by_all_absent_pairs(name: str) -> None:
    table, hidden = likes_table()
    rec = ct.Recommender(model_of(name), likes=True).fit(table)
    lists = dict(zip(range(40), rec.recommend(list(range(40)), 4), strict=True))
    found = [item in {one.item for one in lists[user]} for user, item in hidden]
    assert np.mean(found) > 0.95
    assert_same_list(rec.recommend(0, 4, order="interaction"), lists[0])


def test_ranking_of_a_wrapped_model_is_fitted_when_it_is_needed() -> None:
    model = ct.MMSBM(n_groups=2, max_iter=10).fit(two_tastes())
    rec = ct.Recommender(model)
    rec.predict(["u1"], [100])
    assert rec._fitted.interactions is None
    assert rec.recommend("u1", 3) == ct.Recommender(model).fit(two_tastes()).recommend("u1", 3)
    assert rec._fitted.interactions is not None


def test_fit_leaves_rankings_until_they_are_needed(tmp_path) -> None:
    def fitted() -> ct.Recommender:
        return ct.Recommender(ct.MMSBM(n_groups=2, max_iter=10)).fit(two_tastes())

    def newcomer(rec: ct.Recommender) -> list:
        return rec.fold_in([["new", 100], ["new", 101]], [5, 4]).recommend("new", 3)

    rec = fitted()
    rec.predict(["u1"], [100])
    rec.explain("u1", 100)
    rec.recommend("u1", 3, order="rating")
    assert rec._fitted.interactions is None
    steps = []
    early = fitted().fit_rankings(callback=lambda progress: steps.append(progress.stage))
    assert "ranking: fitting" in steps
    assert early.recommend("u1", 3) == rec.recommend("u1", 3)
    assert newcomer(early) == newcomer(fitted())  # fitted without the newcomer's ratings
    fitted().save(tmp_path / "model")
    assert ct.load_recommender(tmp_path / "model")._fitted.interactions is not None


def test_pairs_of_users_are_the_rated_items(fitted, ratings) -> None:
    rec = fitted["hard"]
    pairs = pairs_of_users(rec._fitted, np.array([2, -1, 0]))
    for row, user in ((0, 2), (2, 0)):
        own = ratings.users == user
        assert set(pairs.seen[[row]].indices) == set(ratings.items[own])
        liked = own & (ratings.ratings >= rec.liked_from_)
        assert set(pairs.liked[[row]].indices) == set(ratings.items[liked])
    assert pairs.seen[[1]].nnz == 0
