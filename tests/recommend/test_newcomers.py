"""New users alone get what they would get after `fold_in`, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.recommend.test_features import described_ratings
from tests.support.small_models import likes_table, model_of

import coterie as ct


def both(rec: ct.Recommender, new: ct.Ratings) -> tuple[ct.Recommender, ct.Recommender]:
    """Return the recommender for the new users alone, and one that they were added to."""
    alone = rec.only_newcomers(new)
    return alone, ct.Recommender._from_state(rec._fitted).fold_in(new)


def assert_same_answers(alone: ct.Recommender, added: ct.Recommender, user, items) -> None:
    users = [user] * len(items)
    assert_array_equal(alone.predict_proba(users, items), added.predict_proba(users, items))
    assert_array_equal(alone.unseen(users, items), added.unseen(users, items))
    for order in ("both", "interaction", "rating"):
        for seen in (True, False):
            found = alone.recommend(user, 8, order=order, exclude_seen=seen)
            expected = added.recommend(user, 8, order=order, exclude_seen=seen)
            assert found == expected
            assert [one.score for one in found] == [one.score for one in expected]
    item = alone.recommend(user, 1)[0].item
    assert alone.explain(user, item).words() == added.explain(user, item).words()
    assert alone.explain_ranking(user, item).words() == added.explain_ranking(user, item).words()


def test_new_users_alone_get_the_answers_of_fold_in(rec) -> None:
    new = ct.Ratings.from_arrays(
        ["one"] * 5 + ["two"] * 4, [100, 103, 102, 120, 108, 101, 100, 117, 119], [5, 1, 4] * 3
    )
    users_before = len(rec.users_)
    alone, added = both(rec, new)
    assert alone.users_.ids.tolist() == ["one", "two"] and len(rec.users_) == users_before
    for user in ("one", "two"):
        assert_same_answers(alone, added, user, [100, 105, 129, "unknown"])


@pytest.mark.parametrize("name", ["best", "mmsbm", "hard"])
def test_new_users_alone_with_likes(name: str) -> None:
    rec = ct.Recommender(model_of(name), likes=True).fit(likes_table()[0])
    new = ct.Ratings.from_arrays(["new"] * 6, [0, 2, 4, 6, 8, 10], np.ones(6))
    alone, added = both(rec, new)
    assert alone.likes_
    assert_same_answers(alone, added, "new", [0, 1, 3])


def test_new_users_alone_with_features() -> None:
    ratings, people, items = described_ratings()
    model = ct.AdditiveBlockModel(n_partitions=2, n_chains=1, n_sweeps=20, pilot=False, rng=0)
    rec = ct.Recommender(model).fit(ratings, user_features=people, item_features=items)
    new = ct.Ratings.from_arrays([500] * 3, [1, 3, 4], [5, 4, 2])
    assert_same_answers(*both(rec, new), 500, [39, 38, 2])


@pytest.mark.parametrize(("user", "item"), [("u2", 101), ("new", "new film")])
def test_known_users_and_new_items_need_everybody(fitted, user: str, item) -> None:
    rec = fitted["mmsbm"]
    alone, added = both(rec, ct.Ratings.from_arrays([user] * 2, [100, item], [5, 1]))
    assert len(alone.users_) == len(added.users_) > 1
    assert alone.recommend(user, 5) == added.recommend(user, 5)


def test_one_user_gets_the_list_of_many_users(rec) -> None:
    users = ["u1", "u8", "nobody"]
    for prepared in (False, True):
        if prepared:
            rec.prepare_for_requests()
        for order in ("both", "interaction", "rating"):
            for user, expected in zip(users, rec.recommend(users, 9, order=order), strict=True):
                found = rec.recommend(user, 9, order=order)
                assert [one.score for one in found] == pytest.approx(
                    [one.score for one in expected], abs=1e-5
                )
                assert {one.item for one in found} == {one.item for one in expected}
