"""Likes: pairs without ratings, whose existence is the configuration.

A model needs to see what was not liked as well, so unliked pairs are drawn as ratings of 0; a
prediction is then how likely a like is among the pairs shown, and items are ranked by it.
"""

from __future__ import annotations

import numpy as np

from coterie.data import Ratings

UNLIKED_A_LIKE = 2.0


def is_likes(ratings: Ratings) -> bool:
    """Whether every rating is 1, as in a table of pairs.

    >>> is_likes(Ratings.from_arrays([1, 2], [1, 1], [1, 1]))
    True
    """
    return len(ratings.values) == 1 and float(ratings.values[0]) == 1.0


def unliked(
    rng: np.random.Generator, users: np.ndarray, items: np.ndarray, n_items: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs nobody liked: users as active as they are, items half evenly, half as popular."""
    u = users[rng.integers(0, len(users), count)].astype(np.int64)
    popular = items[rng.integers(0, len(items), count)]
    v = np.where(rng.random(count) < 0.5, rng.integers(0, n_items, count), popular)
    pair = np.unique(u * n_items + v)
    pair = pair[~np.isin(pair, users.astype(np.int64) * n_items + items)]
    return pair // n_items, pair % n_items


def with_unliked(ratings: Ratings, rng: np.random.Generator) -> Ratings:
    """The likes as ratings of 1, and two unliked pairs a like as ratings of 0."""
    count = int(UNLIKED_A_LIKE * len(ratings))
    u, v = unliked(rng, ratings.users, ratings.items, ratings.n_items, count)
    codes = np.concatenate([np.ones(len(ratings), np.int32), np.zeros(len(u), np.int32)])
    return Ratings(
        np.concatenate([ratings.users, u]).astype(np.int32),
        np.concatenate([ratings.items, v]).astype(np.int32),
        codes,
        np.array([0.0, 1.0]),
        ratings.user_ids,
        ratings.item_ids,
    )
