"""Hard co-clustering (Generalized k-means on ratings) for the Recommender.

A pair of groups has the distribution of its own ratings, d_ijr / d_ij. (cl:alg5, Table 3 of the
paper); groups that never met have the distribution of all ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from coterie.data import Ratings
from coterie.engine import Engine
from coterie.recommend.adapter import Contribution, Newcomer, nearest, placed

_SMOOTHING = 1.0  # ratings of the whole table added to each pair of groups


@dataclass(frozen=True)
class HardAdapter:
    """One group a node."""

    values: np.ndarray
    users: np.ndarray  # int32, group of each user
    items: np.ndarray
    counts: np.ndarray  # float64, user groups x item groups x values
    kind: ClassVar[str] = "hard"

    @classmethod
    def of(cls, model: Any, ratings: Ratings) -> Self:
        users, items = np.asarray(model.user_labels_), np.asarray(model.item_labels_)
        k, l = int(users.max()) + 1, int(items.max()) + 1  # noqa: E741
        R = len(ratings.values)
        cell = (users[ratings.users] * l + items[ratings.items]).astype(np.int64) * R
        counts = np.bincount(cell + ratings.codes, minlength=k * l * R).reshape(k, l, R)
        values = np.asarray(ratings.values, np.float64)
        return cls(values, users.astype(np.int32), items.astype(np.int32), counts.astype(float))

    @property
    def theta(self) -> np.ndarray:
        """P(value | groups), with one rating's worth of the whole table added."""
        whole = self.counts.sum(axis=(0, 1))
        p = self.counts + _SMOOTHING * whole / whole.sum()
        return np.asarray(p / p.sum(axis=2, keepdims=True))

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        return nearest(self.values, ratings)

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine | None
    ) -> np.ndarray:
        return np.asarray(self.theta[self.users[users], self.items[items]])

    def scores(self, users: np.ndarray, engine: str | Engine | None) -> np.ndarray:
        return np.asarray((self.theta @ self.values)[self.users[users]][:, self.items])

    def with_users(self, newcomers: list[Newcomer]) -> Self:
        log = np.log(self.theta)
        best = [log[:, self.items[n.others], n.levels].sum(axis=1).argmax() for n in newcomers]
        users = placed(self.users, newcomers, np.array(best, np.int32))
        return type(self)(self.values, users, self.items, self.counts)

    def with_items(self, newcomers: list[Newcomer]) -> Self:
        log = np.log(self.theta).transpose(1, 0, 2)
        best = [log[:, self.users[n.others], n.levels].sum(axis=1).argmax() for n in newcomers]
        items = placed(self.items, newcomers, np.array(best, np.int32))
        return type(self)(self.values, self.users, items, self.counts)

    def contributions(self, user: int, item: int) -> list[Contribution]:
        i, j = int(self.users[user]), int(self.items[item])
        return [Contribution(str(i), str(j), 1.0, float(self.theta[i, j] @ self.values))]

    def item_group(self, name: str) -> np.ndarray:
        return np.asarray(self.items == int(name), np.float64)

    def likeness(self, item: int) -> np.ndarray:
        """Correlation of what the user groups think of two items' groups."""
        taste = self.theta @ self.values
        taste = taste - taste.mean(axis=0)
        size = np.sqrt((taste**2).sum(axis=0))
        unit = taste / np.where(size > 0, size, 1.0)
        return np.asarray((unit.T @ unit[:, self.items[item]])[self.items])

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            "values": self.values,
            "users": self.users,
            "items": self.items,
            "counts": self.counts,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        return cls(arrays["values"], arrays["users"], arrays["items"], arrays["counts"])
