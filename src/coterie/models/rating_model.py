"""What a model of ratings must be able to do, so that a Recommender can use it.

A model of ratings is an estimator (`RatingModel`), and after its fit it gives a `RatingPredictor`:
what it has learned, as arrays. A predictor works with user, item and level numbers instead of ids.
It is immutable: adding users or items returns a new one. A saved file holds the predictor, so that
predictions load neither the estimator nor its search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import ClassVar, NamedTuple, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.progress import Iteration
from coterie.data import Ratings
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine
from coterie.models.base import Estimator


class Source(StrEnum):
    """The origin of a contribution to a prediction."""

    BASELINE = "baseline"  # the same for every user and item
    USER = "user"  # how high this user rates in general
    ITEM = "item"  # how high this item is rated in general
    USER_FEATURES = "features of this user"  # what side information suggests for the user
    ITEM_FEATURES = "features of this item"
    TASTE = "taste"  # how well the item fits what this user likes (factors)
    GROUPS = "groups"  # a user group and an item group


class GroupPair(NamedTuple):
    """A user group and an item group, and where they were found."""

    user_group: int
    item_group: int
    run: int | None = None  # run or chain, if there is more than one
    partition: int | None = None  # additive model only


class Contribution(NamedTuple):
    """One term of an expected rating: the sum of weight * rating over all terms is the rating."""

    source: Source
    weight: float
    rating: float
    groups: GroupPair | None = None  # only if the source is GROUPS
    features: str = ""  # the most important features, if the source is features

    @property
    def share(self) -> float:
        """The amount that this term adds to the expected rating."""
        return self.weight * self.rating


class RatingPredictor(ABC):
    """What a model has learned from ratings: predictions, new users and items, explanations."""

    kind: ClassVar[str]  # its name in saved files
    values: np.ndarray  # the possible ratings, in increasing order

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        """Return the position of each rating in `values`; the nearest if it is not among them."""
        return np.searchsorted((self.values[1:] + self.values[:-1]) / 2, ratings)

    @abstractmethod
    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        """Return P(value) of each pair: pairs x values."""

    @abstractmethod
    def scores(self, users: np.ndarray, engine: str | Engine) -> np.ndarray:
        """Return the expected rating of every item for these users: users x items."""

    def unknown_distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray | None:
        """Return P(value) of pairs with an unknown user, an unknown item (-1), or both.

        None if the model cannot predict users and items of whom nothing is known.
        """
        return None

    @property
    def described_users(self) -> np.ndarray:
        """Whether each of the first users has features; none without features."""
        return np.zeros(0, bool)

    @property
    def described_items(self) -> np.ndarray:
        """Whether each of the first items has features; none without features."""
        return np.zeros(0, bool)

    @abstractmethod
    def with_users(self, nodes: list[NodeRatings]) -> Self:
        """Return a predictor with these users placed by their ratings, everything else fixed."""

    @abstractmethod
    def only_users(self, nodes: list[NodeRatings]) -> Self:
        """Return a predictor whose users are these alone, placed as by `with_users`.

        It copies nothing of the other users, so that a request of a server is quick.
        """

    @abstractmethod
    def with_items(self, nodes: list[NodeRatings]) -> Self:
        """Return a predictor with these items placed by their ratings, everything else fixed."""

    @abstractmethod
    def contributions(self, user: int, item: int) -> list[Contribution]:
        """Return the terms that add up to the expected rating."""

    @abstractmethod
    def item_membership(self, groups: GroupPair) -> np.ndarray:
        """Return how much each item belongs to the item group of this pair."""

    @abstractmethod
    def item_similarity(self, item: int) -> np.ndarray:
        """Return the similarity of every item to `item`; at most 1."""

    @abstractmethod
    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Build from what `to_arrays` returned."""

    @abstractmethod
    def check(self, n_users: int, n_items: int) -> None:
        """Raise ArrayError if an array does not have the type, shape and range that kernels need.

        Called for every file before its first use: what a file says must not index memory.
        """


class RatingModel(Estimator):
    """An estimator that a Recommender can use, after a fit to `Ratings`."""

    entropy_: float
    history_: list[Iteration]
    interrupted_: bool = False

    @abstractmethod
    def predictor(self, ratings: Ratings) -> RatingPredictor:
        """Return what the model has learned from the ratings that it was fitted to."""

    @property
    def fits_rating_shards(self) -> bool:
        """Whether `fit` learns from ratings in shards without loading all of them."""
        return False


def check_scale(values: np.ndarray) -> int:
    """Raise ArrayError unless the values of a scale are finite and rise; return their number."""
    check_array("values", values, np.float64, (None,))
    if not len(values) or (np.diff(values) <= 0).any():
        raise ArrayError("values: not in rising order")
    return len(values)


def rating_offsets(nodes: list[NodeRatings]) -> np.ndarray:
    """Return where the ratings of each node begin when all are concatenated."""
    return np.concatenate(([0], np.cumsum([len(node.others) for node in nodes]))).astype(np.int64)


def with_rows(table: np.ndarray, nodes: list[NodeRatings], rows: np.ndarray) -> np.ndarray:
    """Return a copy of a table (one row per node) with these nodes' rows set or appended."""
    size = max([len(table), *(node.number + 1 for node in nodes)])
    out = np.zeros((size, *table.shape[1:]), table.dtype)
    out[: len(table)] = table
    out[[node.number for node in nodes]] = rows
    return out
