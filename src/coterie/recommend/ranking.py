"""The best items of many users, computed for a block of users at a time."""

from __future__ import annotations

import numpy as np

from coterie.base.errors import InputError
from coterie.engine import Engine
from coterie.recommend.adapter import Adapter
from coterie.recommend.rating_table import RatingTable

_MAX_SCORES = 1 << 20  # in memory at once


def top_items(
    adapter: Adapter,
    table: RatingTable,
    users: np.ndarray,
    n: int,
    exclude_seen: bool,
    engine: str | Engine = "local",
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return, for each user number, the numbers and expected ratings of the n best items.

    The number -1 stands for an unknown user. Equal ratings are ranked by item number, so that a
    ranking is reproducible.
    """
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    rated_items = np.flatnonzero(table.item_counts.any(axis=1))
    has_ratings = np.append(table.user_counts.any(axis=1), False)[users]
    fallback = table.item_distributions(rated_items) @ adapter.values
    found = []
    step = max(1, _MAX_SCORES // max(table.n_items, 1))
    for begin in range(0, len(users), step):
        block, known = users[begin : begin + step], has_ratings[begin : begin + step]
        scores = np.tile(fallback, (len(block), 1))
        if known.any():
            scores[known] = adapter.scores(block[known], engine)[:, rated_items]
        for user, score in zip(block, scores, strict=True):
            if exclude_seen and user >= 0:
                own = table.items[table.rows_of_user(int(user))]
                score[np.searchsorted(rated_items, own)] = -np.inf
            best = _largest(score, n)
            found.append((rated_items[best], score[best]))
    return found


def _largest(score: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n largest finite scores, the largest first, ties in order.

    >>> _largest(np.array([1.0, 3.0, -np.inf, 3.0]), 2)
    array([1, 3])
    """
    candidates = np.flatnonzero(np.isfinite(score))
    if len(candidates) > n:
        least = np.partition(score[candidates], len(candidates) - n)[len(candidates) - n]
        candidates = candidates[score[candidates] >= least]
    return candidates[np.argsort(-score[candidates], kind="stable")][:n]
