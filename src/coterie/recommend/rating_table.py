"""What a Recommender remembers of its ratings: who rated what, and how often each value came."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

_LEAST_TRUST, _MOST_TRUST = 1.0, 1000.0


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Rated pairs by number, each with the level of its rating.

    `unrated` pairs (users, items) were shown to the model at the lowest level although nobody
    rated them: the other half of likes. They count in the distributions, not as rated.
    """

    users: np.ndarray  # int64
    items: np.ndarray
    levels: np.ndarray
    n_users: int
    n_items: int
    n_levels: int
    unrated: tuple[np.ndarray, np.ndarray] = (np.empty(0, np.int64), np.empty(0, np.int64))

    @cached_property
    def user_counts(self) -> np.ndarray:
        """How often each user gave each level: users x levels."""
        return self._counts(self.users, self.unrated[0], self.n_users)

    @cached_property
    def item_counts(self) -> np.ndarray:
        return self._counts(self.items, self.unrated[1], self.n_items)

    def _counts(self, nodes: np.ndarray, unrated: np.ndarray, size: int) -> np.ndarray:
        cells = np.concatenate([nodes * self.n_levels + self.levels, unrated * self.n_levels])
        return np.bincount(cells, minlength=size * self.n_levels).reshape(size, self.n_levels)

    @cached_property
    def everybody(self) -> np.ndarray:
        """The distribution of all ratings; never quite 0, so that no rating is impossible."""
        counts = self.user_counts.sum(axis=0) + 0.5
        return np.asarray(counts / counts.sum())

    def user_distributions(self, users: np.ndarray) -> np.ndarray:
        """Each user's own ratings, mixed with everybody's; -1 is a stranger."""
        return self._mixed(self.user_counts, self._user_trust, users)

    def item_distributions(self, items: np.ndarray) -> np.ndarray:
        return self._mixed(self.item_counts, self._item_trust, items)

    @cached_property
    def _user_trust(self) -> float:
        return trust(self.user_counts)

    @cached_property
    def _item_trust(self) -> float:
        return trust(self.item_counts)

    def _mixed(self, counts: np.ndarray, trust: float, nodes: np.ndarray) -> np.ndarray:
        padded = np.vstack([counts, np.zeros((1, self.n_levels))])
        own = padded[nodes]  # -1 is the row of zeros
        return np.asarray((own + trust * self.everybody) / (own.sum(axis=1, keepdims=True) + trust))

    @cached_property
    def _by_user(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.argsort(self.users, kind="stable")
        begins = np.concatenate(([0], np.cumsum(np.bincount(self.users, minlength=self.n_users))))
        return begins, order

    def rows_of_user(self, user: int) -> np.ndarray:
        """Rows with this user's ratings."""
        begins, order = self._by_user
        return order[begins[user] : begins[user + 1]]

    def rows_among(self, users: bool, wanted: np.ndarray) -> list[np.ndarray]:
        """The rows of each wanted user (or item), without an index of all of them."""
        column = self.users if users else self.items
        rows = np.flatnonzero(np.isin(column, wanted))
        rows = rows[np.argsort(column[rows], kind="stable")]
        begins = np.searchsorted(column[rows], wanted, side="left")
        ends = np.searchsorted(column[rows], wanted, side="right")
        return [rows[a:b] for a, b in zip(begins, ends, strict=True)]

    def with_rows(
        self,
        users: np.ndarray,
        items: np.ndarray,
        levels: np.ndarray,
        n_users: int,
        n_items: int,
    ) -> RatingTable:
        """More ratings, no pair twice; one of a pair that is there already replaces it."""
        touched = np.flatnonzero(np.isin(self.users, users))
        pairs = self.users[touched] * n_items + self.items[touched]
        replaced = touched[np.isin(pairs, users * n_items + items)]
        return RatingTable(
            np.concatenate([np.delete(self.users, replaced), users]),
            np.concatenate([np.delete(self.items, replaced), items]),
            np.concatenate([np.delete(self.levels, replaced), levels]),
            n_users,
            n_items,
            self.n_levels,
            self.unrated,
        )


def trust(counts: np.ndarray) -> float:
    """How many ratings of everybody a node's own ratings are to be mixed with: the variance of
    levels inside a node over the variance of the nodes' means (the moments of a one-way layout).

    >>> trust(np.array([[9, 1], [1, 9]])), trust(np.array([[5, 5], [5, 5]]))
    (1.0, 1000.0)
    """
    n = counts.sum(axis=1)
    n, counts = n[n > 0], counts[n > 0]
    level = np.arange(counts.shape[1])
    total, nodes = n.sum(), len(n)
    if nodes < 2 or total <= nodes:
        return _MOST_TRUST
    mean = counts @ level / n
    inside = float((counts @ level**2 - n * mean**2).sum() / (total - nodes))
    spread = float(n @ (mean - n @ mean / total) ** 2 / (nodes - 1))
    size = (total - n @ n / total) / (nodes - 1)
    between = (spread - inside) / size
    if between <= inside / _MOST_TRUST:
        return _MOST_TRUST
    return float(max(inside / between, _LEAST_TRUST))
