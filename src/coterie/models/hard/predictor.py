"""Recommendations from hard co-clustering (generalized k-means on ratings).

A pair of blocks has the distribution of its own ratings (the likelihood of Algorithm 4 of Prost &
Yoon, compared in their Table 3); a pair of blocks without ratings has the distribution of all
ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data import Ratings
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine
from coterie.models.rating_model import (
    Contribution,
    GroupPair,
    RatingPredictor,
    Source,
    check_scale,
    with_rows,
)

_SMOOTHING = 1.0  # ratings of the whole table added to each pair of blocks


@dataclass(frozen=True)
class HardPredictor(RatingPredictor):
    """One block per user and per item, and how often each rating occurs in each cell."""

    values: np.ndarray
    users: np.ndarray  # int32, block of each user
    items: np.ndarray  # int32, block of each item
    counts: np.ndarray  # float64, user blocks x item blocks x values
    kind: ClassVar[str] = "hard"

    @classmethod
    def of_blocks(cls, users: np.ndarray, items: np.ndarray, ratings: Ratings) -> Self:
        """Build from the blocks of the users and items of these ratings."""
        k, l = int(users.max()) + 1, int(items.max()) + 1  # noqa: E741
        R = len(ratings.values)
        cell = (users[ratings.users] * l + items[ratings.items]).astype(np.int64) * R
        counts = np.bincount(cell + ratings.codes, minlength=k * l * R).reshape(k, l, R)
        values = np.asarray(ratings.values, np.float64)
        return cls(values, users.astype(np.int32), items.astype(np.int32), counts.astype(float))

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def theta(self) -> np.ndarray:
        """P(value | blocks), with the distribution of all ratings added as one rating."""
        whole = self.counts.sum(axis=(0, 1))
        p = self.counts + _SMOOTHING * whole / whole.sum()
        return np.asarray(p / p.sum(axis=2, keepdims=True))

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        return np.asarray(self.theta[self.users[users], self.items[items]])

    def scores(self, users: np.ndarray, engine: str | Engine) -> np.ndarray:
        return np.asarray((self.theta @ self.values)[self.users[users]][:, self.items])

    def with_users(self, nodes: list[NodeRatings]) -> Self:
        users = with_rows(self.users, nodes, self._blocks_of_users(nodes))
        return type(self)(self.values, users, self.items, self.counts)

    def only_users(self, nodes: list[NodeRatings]) -> Self:
        return type(self)(self.values, self._blocks_of_users(nodes), self.items, self.counts)

    def _blocks_of_users(self, nodes: list[NodeRatings]) -> np.ndarray:
        log = np.log(self.theta)
        best = [log[:, self.items[n.others], n.levels].sum(axis=1).argmax() for n in nodes]
        return np.array(best, np.int32)

    def with_items(self, nodes: list[NodeRatings]) -> Self:
        log = np.log(self.theta).transpose(1, 0, 2)
        best = [log[:, self.users[n.others], n.levels].sum(axis=1).argmax() for n in nodes]
        items = with_rows(self.items, nodes, np.array(best, np.int32))
        return type(self)(self.values, self.users, items, self.counts)

    def contributions(self, user: int, item: int, own: NodeRatings) -> list[Contribution]:
        i, j = int(self.users[user]), int(self.items[item])
        rating = float(self.theta[i, j] @ self.values)
        return [Contribution(Source.GROUPS, 1.0, rating, GroupPair(i, j))]

    def item_membership(self, groups: GroupPair) -> np.ndarray:
        return np.asarray(self.items == groups.item_group, np.float64)

    def item_similarity(self, item: int) -> np.ndarray:
        """Correlate the expected ratings that the user blocks give to the two items' blocks."""
        taste = self.theta @ self.values
        taste = taste - taste.mean(axis=0)
        size = np.sqrt((taste**2).sum(axis=0))
        unit = taste / np.where(size > 0, size, 1.0)
        return np.asarray((unit.T @ unit[:, self.items[item]])[self.items])

    def check(self, n_users: int, n_items: int) -> None:
        n_levels = check_scale(self.values)
        check_array("counts", self.counts, np.float64, (None, None, n_levels), low=0)
        if self.counts.sum() <= 0:
            raise ArrayError("counts: all are 0")
        k, l, _ = self.counts.shape  # noqa: E741
        check_array("users", self.users, np.int32, (n_users,), low=0, below=k)
        check_array("items", self.items, np.int32, (n_items,), low=0, below=l)
