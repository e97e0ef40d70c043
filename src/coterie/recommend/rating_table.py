"""The ratings of a Recommender: rated pairs, and the number of ratings at each level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

_MIN_WEIGHT, _MAX_WEIGHT = 1.0, 1000.0  # ratings


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Rated pairs by number, each with the level of its rating.

    `unrated` (users, items) are the unliked pairs that were drawn for a table of likes. The model
    saw them at the lowest level. They count in the distributions, but not as rated.
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
        """The number of ratings of each user at each level: users x levels."""
        return self._counts(self.users, self.unrated[0], self.n_users)

    @cached_property
    def item_counts(self) -> np.ndarray:
        """The number of ratings of each item at each level: items x levels."""
        return self._counts(self.items, self.unrated[1], self.n_items)

    def _counts(self, nodes: np.ndarray, unrated: np.ndarray, size: int) -> np.ndarray:
        cells = np.concatenate([nodes * self.n_levels + self.levels, unrated * self.n_levels])
        return np.bincount(cells, minlength=size * self.n_levels).reshape(size, self.n_levels)

    @cached_property
    def rated_users(self) -> np.ndarray:
        """Whether each user has a rating."""
        return np.asarray(self.user_counts.any(axis=1))

    @cached_property
    def rated_items(self) -> np.ndarray:
        """Whether each item has a rating."""
        return np.asarray(self.item_counts.any(axis=1))

    @cached_property
    def novelty(self) -> np.ndarray:
        """How rare each item is: -log2 of the share of users who have it, in bits."""
        having = np.bincount(self.items, minlength=self.n_items)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log2(having / max(self.n_users, 1)))

    @cached_property
    def everybody(self) -> np.ndarray:
        """The distribution of all ratings; never 0, so that no rating is impossible."""
        counts = self.user_counts.sum(axis=0) + 0.5
        return np.asarray(counts / counts.sum())

    def user_distributions(self, users: np.ndarray) -> np.ndarray:
        """Return the distribution of each user's ratings, mixed with that of all ratings.

        The number -1 stands for an unknown user.
        """
        return self._mixed(self.user_counts, self._user_prior_weight, users)

    def item_distributions(self, items: np.ndarray) -> np.ndarray:
        """Return the distribution of each item's ratings, mixed with that of all ratings."""
        return self._mixed(self.item_counts, self._item_prior_weight, items)

    def user_weights(self, users: np.ndarray) -> np.ndarray:
        """Return the share of each user's own ratings in `user_distributions`."""
        own = np.append(self.user_counts.sum(axis=1), 0)[users]
        return np.asarray(own / (own + self._user_prior_weight))

    def item_weights(self, items: np.ndarray) -> np.ndarray:
        """Return the share of each item's own ratings in `item_distributions`."""
        own = np.append(self.item_counts.sum(axis=1), 0)[items]
        return np.asarray(own / (own + self._item_prior_weight))

    @cached_property
    def _user_prior_weight(self) -> float:
        return prior_weight(self.user_counts)

    @cached_property
    def _item_prior_weight(self) -> float:
        return prior_weight(self.item_counts)

    def _mixed(self, counts: np.ndarray, weight: float, nodes: np.ndarray) -> np.ndarray:
        padded = np.vstack([counts, np.zeros((1, self.n_levels))])
        own = padded[nodes]  # -1 selects the row of zeros
        total = own.sum(axis=1, keepdims=True) + weight
        return np.asarray((own + weight * self.everybody) / total)

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray, dict[int, list[int]]]:
        # Where each user's rows begin, these rows, and those that were added since
        order = np.argsort(self.users, kind="stable")
        begins = np.concatenate(([0], np.cumsum(np.bincount(self.users, minlength=self.n_users))))
        return begins, order, {}

    def rows_of_user(self, user: int) -> np.ndarray:
        """Return the rows with this user's ratings."""
        begins, order, later = self._index
        known = user < len(begins) - 1
        rows = order[begins[user] : begins[user + 1]] if known else order[:0]
        return np.append(rows, later[user]) if user in later else rows

    def with_rows(
        self,
        users: np.ndarray,
        items: np.ndarray,
        levels: np.ndarray,
        n_users: int,
        n_items: int,
    ) -> RatingTable:
        """Return a table with more ratings; a new rating of a known pair replaces the old one."""
        known = np.unique(users[users < self.n_users]).tolist()
        touched = np.concatenate([np.empty(0, np.int64), *map(self.rows_of_user, known)])
        pairs = self.users[touched] * n_items + self.items[touched]
        replaced = touched[np.isin(pairs, users * n_items + items)]
        old = (self.users, self.items, self.levels)
        if len(replaced):
            old = tuple(np.delete(column, replaced) for column in old)  # type: ignore[assignment]
        grown = RatingTable(
            np.concatenate([old[0], users]),
            np.concatenate([old[1], items]),
            np.concatenate([old[2], levels]),
            n_users,
            n_items,
            self.n_levels,
            self.unrated,
        )
        if not len(replaced):  # what this table has counted and sorted need not be done again
            begins, order, later = self._index
            later = later.copy()
            for row, user in enumerate(users.tolist(), len(self.users)):
                later[user] = [*later.get(user, ()), row]
            vars(grown)["_index"] = (begins, order, later)
            for name, nodes, size in (
                ("user_counts", users, n_users),
                ("item_counts", items, n_items),
            ):
                counts = np.zeros((size, self.n_levels), np.int64)
                counts[: len(getattr(self, name))] = getattr(self, name)
                np.add.at(counts, (nodes, levels), 1)
                vars(grown)[name] = counts
        return grown


def rows_of(column: np.ndarray, wanted: np.ndarray) -> list[np.ndarray]:
    """Return the rows in which `column` has each of the wanted numbers, without an index of all."""
    rows = np.flatnonzero(np.isin(column, wanted))
    rows = rows[np.argsort(column[rows], kind="stable")]
    begins = np.searchsorted(column[rows], wanted, side="left")
    ends = np.searchsorted(column[rows], wanted, side="right")
    return [rows[a:b] for a, b in zip(begins, ends, strict=True)]


def prior_weight(counts: np.ndarray) -> float:
    """Return the weight of the distribution of all ratings, as a number of ratings of the node.

    It is the variance of levels within nodes divided by the variance between the nodes' means
    (the moment estimates of a one-way layout).

    >>> prior_weight(np.array([[9, 1], [1, 9]])), prior_weight(np.array([[5, 5], [5, 5]]))
    (1.0, 1000.0)
    """
    n = counts.sum(axis=1)
    n, counts = n[n > 0], counts[n > 0]
    level = np.arange(counts.shape[1])
    total, nodes = n.sum(), len(n)
    if nodes < 2 or total <= nodes:
        return _MAX_WEIGHT
    mean = counts @ level / n
    inside = float((counts @ level**2 - n * mean**2).sum() / (total - nodes))
    spread = float(n @ (mean - n @ mean / total) ** 2 / (nodes - 1))
    size = (total - n @ n / total) / (nodes - 1)
    between = (spread - inside) / size
    if between <= inside / _MAX_WEIGHT:
        return _MAX_WEIGHT
    return float(max(inside / between, _MIN_WEIGHT))
