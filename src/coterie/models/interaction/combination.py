"""Combine the scores of several components, with weights chosen on held-back pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

_DEPTH = 100  # items per ranking that is compared
_POOL = 100  # best items per component among which weights are compared
_STEPS = (0.0, 0.3, 0.6, 1.0, 1.6)  # weights that are tried, before normalization
_DISCOUNTS = 1 / np.log2(np.arange(_DEPTH) + 2)


def unit_scale(scores: np.ndarray) -> np.ndarray:
    """Return scores in which every user has a standard deviation of 1 over all items."""
    spread = scores.std(axis=1, keepdims=True)
    return np.asarray(scores / np.where(spread > 0, spread, 1))


def gain(scores: np.ndarray, relevant: np.ndarray, totals: np.ndarray) -> float:
    """Return the mean of NDCG@10 and NDCG@100 over the users.

    `relevant` (bool) has the shape of `scores`; items that may not be shown have the score -inf.
    `totals` is the number of relevant items per user, at least 1, listed here or not.

    >>> gain(np.array([[3.0, 2.0, 1.0]]), np.array([[True, False, False]]), np.array([1]))
    1.0
    """
    depth = min(_DEPTH, scores.shape[1])
    best = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
    hits = np.take_along_axis(relevant, np.take_along_axis(best, order, axis=1), axis=1)
    ideal = np.cumsum(_DISCOUNTS)
    found = 0.0
    for k in (10, _DEPTH):
        width = min(k, depth)
        discounted = hits[:, :width] @ _DISCOUNTS[:width]
        found += float(np.mean(discounted / ideal[np.minimum(totals, k) - 1]))
    return found / 2


class HeldBackPairs:
    """Held-back pairs of some users, to compare rankings of the items that these users lack."""

    def __init__(self, rated: csr_array, relevant: csr_array) -> None:
        self.users = np.flatnonzero(np.diff(relevant.indptr) > 0)
        self._rated = rated[self.users]
        self._relevant = np.asarray(relevant[self.users].todense()) > 0
        self._totals = self._relevant.sum(axis=1)

    def __len__(self) -> int:
        return len(self.users)

    def without_rated(self, scores: np.ndarray) -> np.ndarray:
        """Return the scores of these users with -inf for the items that they have rated."""
        own = np.array(scores, np.float64)
        rated = self._rated.tocoo()
        own[rated.row, rated.col] = -np.inf
        return own

    def gain(self, scores: np.ndarray) -> float:
        """Return the gain of rankings by these scores (users x items)."""
        return gain(self.without_rated(scores), self._relevant, self._totals)

    def choose_weights(
        self, components: Sequence[np.ndarray], start: Sequence[float]
    ) -> np.ndarray:
        """Return weights of components (unit scale) that rank the held-back pairs well.

        Each weight in turn takes the value with the largest gain, twice. The result is the mean of
        these weights and of the start, so that a few held-back pairs do not decide everything. All
        weights sum to 1.
        """
        allowed = [self.without_rated(scores) for scores in components]
        pool = np.sort(np.hstack([_best(scores, _POOL) for scores in allowed]), axis=1)
        parts = [np.take_along_axis(scores, pool, axis=1) for scores in allowed]
        repeated = np.zeros(pool.shape, bool)
        repeated[:, 1:] = pool[:, 1:] == pool[:, :-1]
        hidden = repeated | ~np.isfinite(parts[0])
        parts = [np.where(hidden, 0.0, part) for part in parts]
        relevant = np.take_along_axis(self._relevant, pool, axis=1) & ~hidden

        def found(weights: np.ndarray) -> float:
            mixed = sum(w * part for w, part in zip(weights, parts, strict=True))
            return gain(np.where(hidden, -np.inf, mixed), relevant, self._totals)

        default = np.asarray(start, np.float64) / np.sum(start)
        weights = np.asarray(start, np.float64)
        best = found(weights)
        for _ in range(2):
            for place in range(len(weights)):
                for step in _STEPS:
                    tried = weights.copy()
                    tried[place] = step
                    if tried.any() and (value := found(tried)) > best:
                        best, weights = value, tried
        return np.asarray((weights / weights.sum() + default) / 2)


def _best(scores: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n largest scores of each row, in no order."""
    width = min(n, scores.shape[1])
    return np.argpartition(-scores, width - 1, axis=1)[:, :width]
