"""Likes: pairs of a user and an item without a rating.

A model also needs to see pairs that were not liked, so unliked pairs are drawn and given the
rating 0. A prediction is then the probability of a like, and items are ranked by it.
"""

from __future__ import annotations

import warnings

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data import Ratings
from coterie.data.negatives import distinct_negative_pairs

NEGATIVES_PER_LIKE = 2.0


def every_rating_is_one(ratings: Ratings) -> bool:
    """Return whether every rating is 1, as in a table of pairs.

    >>> every_rating_is_one(Ratings.from_arrays([1, 2], [1, 1], [1, 1]))
    True
    """
    return len(ratings.values) == 1 and float(ratings.values[0]) == 1.0


def read_as_likes(ratings: Ratings, likes: bool | None) -> bool:
    """Return whether a table is read as likes: the value of `likes`, or if None, by its ratings."""
    ones = every_rating_is_one(ratings)
    if likes and not ones:
        low, high = ratings.values[0], ratings.values[-1]
        raise InputError(
            f"`likes` is set, but the ratings are between {low:g} and {high:g}, not all 1",
            remedy="give pairs without ratings, or do not set `likes`",
        )
    if likes is None and ones:
        warnings.warn(
            "every rating is 1: the table is read as likes (a prediction is the probability of a "
            "like); use `likes=True` to confirm this, or `likes=False` to read the ones as ratings",
            AssumptionWarning,
            stacklevel=3,
        )
    return ones and likes is not False


def with_unliked_pairs(ratings: Ratings, rng: np.random.Generator) -> Ratings:
    """Return the likes as ratings of 1, and two unliked pairs per like as ratings of 0."""
    count = int(NEGATIVES_PER_LIKE * len(ratings))
    u, v = distinct_negative_pairs(rng, ratings.users, ratings.items, ratings.n_items, count)
    codes = np.concatenate([np.ones(len(ratings), np.int32), np.zeros(len(u), np.int32)])
    return Ratings(
        np.concatenate([ratings.users, u]).astype(np.int32),
        np.concatenate([ratings.items, v]).astype(np.int32),
        codes,
        np.array([0.0, 1.0]),
        ratings.user_ids,
        ratings.item_ids,
    )
