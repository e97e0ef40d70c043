"""Negative sampling: draw pairs of a user and an item that nobody rated.

Models that learn from who rated what need examples of the opposite. Every sampler takes user and
item numbers (not ids) and draws from the generator it is given, so that a seed fixes the result.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

_MAX_ROUNDS = 100  # of drawing again until enough pairs are found
_DRAWN_AT_ONCE = 1 << 22  # pairs; the draws of more would need much memory
_UNIFORM_SHARE = 0.5  # of the items; the others follow popularity


def popular_negative_pairs(
    rng: Generator, users: np.ndarray, items: np.ndarray, n_items: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw about `count` unrated pairs, half of the items uniformly and half by popularity.

    Users are drawn in proportion to their number of ratings. Candidates that are rated are
    dropped, so fewer than `count` pairs may be returned; a pair may be returned more than once.

    >>> rng = np.random.default_rng(0)
    >>> popular_negative_pairs(rng, np.array([0, 1]), np.array([0, 1]), 2, 4)
    (array([1, 1, 1]), array([0, 0, 0]))
    """
    if not len(users):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rated = users.astype(np.int64) * n_items + items
    drawn = []
    for begin in range(0, max(count, 1), _DRAWN_AT_ONCE):
        some = min(_DRAWN_AT_ONCE, count - begin)
        u = users[rng.integers(0, len(users), some)].astype(np.int64)
        popular = items[rng.integers(0, len(items), some)]
        uniform = rng.random(some) < _UNIFORM_SHARE
        v = np.where(uniform, rng.integers(0, n_items, some), popular)
        unrated = ~are_in(u * n_items + v, rated)
        drawn.append((u[unrated], v[unrated].astype(np.int64)))
    return np.concatenate([u for u, _ in drawn]), np.concatenate([v for _, v in drawn])


def are_in(wanted: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return whether each wanted number is among the values.

    Sorted values are searched: `np.isin` would sort both, and needs several times as much memory.
    """
    if not len(values) or (values[1:] < values[:-1]).any():
        return np.isin(wanted, values)
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.asarray(values[place] == wanted)


def distinct_negative_pairs(
    rng: Generator, users: np.ndarray, items: np.ndarray, n_items: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw as `popular_negative_pairs` does, and return each pair once, sorted by user and item."""
    u, v = popular_negative_pairs(rng, users, items, n_items, count)
    pairs = np.unique(u * n_items + v)
    return pairs // n_items, pairs % n_items


def uniform_negative_pairs(
    rng: Generator, users: np.ndarray, items: np.ndarray, n_items: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw exactly `count` unrated pairs if there are enough of them, items uniformly.

    Users are drawn in proportion to their number of ratings. Rated candidates are drawn again, up
    to 100 times: fewer pairs are returned only if nearly all pairs are rated. A pair may be
    returned more than once.

    >>> rng = np.random.default_rng(0)
    >>> uniform_negative_pairs(rng, np.array([0, 1]), np.array([0, 1]), 2, 3)
    (array([1, 1, 1]), array([0, 0, 0]))
    """
    rated = np.unique(users.astype(np.int64) * n_items + items)
    pairs = np.empty(0, np.int64)
    for _ in range(_MAX_ROUNDS):
        missing = count - len(pairs)
        if missing == 0:
            break
        u = users[rng.integers(len(users), size=missing)].astype(np.int64)
        candidates = u * n_items + rng.integers(n_items, size=missing)
        place = np.minimum(np.searchsorted(rated, candidates), len(rated) - 1)
        pairs = np.concatenate([pairs, candidates[rated[place] != candidates]])
    return pairs // n_items, pairs % n_items


def negatives_of_one(
    rng: Generator, rated: np.ndarray, all_rated: np.ndarray, n_known: int, count: int
) -> np.ndarray:
    """Draw about `count` items that one user did not rate (or users who did not rate one item).

    `rated` are the items of this user, `all_rated` the item of every rating in the table; half of
    the candidates follow its popularities, half are uniform among the first `n_known` items. Each
    item is returned once, sorted.

    >>> negatives_of_one(np.random.default_rng(0), np.array([1]), np.array([0, 1, 2, 2]), 4, 3)
    array([2])
    """
    popular = all_rated[rng.integers(0, len(all_rated), count)]
    uniform = rng.integers(0, n_known, len(popular))
    drawn = np.unique(np.where(rng.random(len(popular)) < _UNIFORM_SHARE, uniform, popular))
    return np.asarray(drawn[(drawn < n_known) & ~np.isin(drawn, rated)])
