"""The best items of many users, a block of users at a time."""

from __future__ import annotations

import numpy as np

from coterie.base.errors import InputError
from coterie.engine import Engine
from coterie.recommend.adapter import Adapter
from coterie.recommend.rating_table import RatingTable

_CELLS = 1 << 20  # scores held at once


def top_items(
    adapter: Adapter,
    table: RatingTable,
    users: np.ndarray,
    n: int,
    exclude_seen: bool,
    engine: str | Engine | None = "local",
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each user number (-1: a stranger) the numbers and expected ratings of the n best items.

    Equal ratings are ranked by item number, so that a ranking is always the same.
    """
    if n < 1:
        raise InputError(f"n={n} items are no list", remedy="give 1 or more")
    shown = np.flatnonzero(table.item_counts.any(axis=1))
    rated = np.append(table.user_counts.any(axis=1), False)[users]
    stranger = table.item_distributions(shown) @ adapter.values
    found = []
    step = max(1, _CELLS // max(table.n_items, 1))
    for begin in range(0, len(users), step):
        block, known = users[begin : begin + step], rated[begin : begin + step]
        scores = np.tile(stranger, (len(block), 1))
        if known.any():
            scores[known] = adapter.scores(block[known], engine)[:, shown]
        for user, score in zip(block, scores, strict=True):
            if exclude_seen and user >= 0:
                mine = table.items[table.rows_of_user(int(user))]
                score[np.searchsorted(shown, mine)] = -np.inf
            best = _largest(score, n)
            found.append((shown[best], score[best]))
    return found


def _largest(score: np.ndarray, n: int) -> np.ndarray:
    """Places of the n largest finite scores, the largest first, ties in order.

    >>> _largest(np.array([1.0, 3.0, -np.inf, 3.0]), 2)
    array([1, 3])
    """
    candidates = np.flatnonzero(np.isfinite(score))
    if len(candidates) > n:
        least = np.partition(score[candidates], len(candidates) - n)[len(candidates) - n]
        candidates = candidates[score[candidates] >= least]
    return candidates[np.argsort(-score[candidates], kind="stable")][:n]
