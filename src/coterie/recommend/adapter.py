"""The interface between the Recommender and a family of models.

An adapter holds what a fitted model has learned, as arrays, and works with user, item and level
numbers instead of ids. It is immutable: adding users or items returns a new adapter.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.data import Ratings
from coterie.data.ratings import NodeRatings
from coterie.engine import Engine


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


class Adapter(Protocol):
    """The methods that each family of models implements."""

    kind: ClassVar[str]  # its name in saved files

    @classmethod
    def from_model(cls, model: Any, ratings: Ratings) -> Self:
        """Build from a model that was fitted to these ratings."""
        ...

    @property
    def values(self) -> np.ndarray:
        """The possible ratings, in increasing order."""
        ...

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        """Return the position of each rating in `values`; the nearest if it is not among them."""
        ...

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        """Return P(value) of each pair: pairs x values."""
        ...

    def scores(self, users: np.ndarray, engine: str | Engine) -> np.ndarray:
        """Return the expected rating of every item for these users: users x items."""
        ...

    def with_users(self, nodes: list[NodeRatings]) -> Self:
        """Return an adapter with these users placed by their ratings, everything else fixed."""
        ...

    def only_users(self, nodes: list[NodeRatings]) -> Self:
        """Return an adapter whose users are these alone, placed as by `with_users`.

        It copies nothing of the other users, so that a request of a server is quick.
        """
        ...

    def with_items(self, nodes: list[NodeRatings]) -> Self:
        """Return an adapter with these items placed by their ratings, everything else fixed."""
        ...

    def contributions(self, user: int, item: int) -> list[Contribution]:
        """Return the terms that add up to the expected rating."""
        ...

    def item_membership(self, groups: GroupPair) -> np.ndarray:
        """Return how much each item belongs to the item group of this pair."""
        ...

    def item_similarity(self, item: int) -> np.ndarray:
        """Return the similarity of every item to `item`; at most 1."""
        ...

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved."""
        ...

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Build from what `to_arrays` returned."""
        ...

    def check(self, n_users: int, n_items: int) -> None:
        """Raise ArrayError if an array does not have the type, shape and range that kernels need.

        Called for every file before its first use: what a file says must not index memory.
        """
        ...


def check_scale(values: np.ndarray) -> int:
    """Raise ArrayError unless the values of a scale are finite and rise; return their number."""
    check_array("values", values, np.float64, (None,))
    if not len(values) or (np.diff(values) <= 0).any():
        raise ArrayError("values: not in rising order")
    return len(values)


def nearest_level(values: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """Return the position in `values` that is nearest to each rating.

    >>> nearest_level(np.array([1.0, 2.0, 5.0]), np.array([0.0, 2.0, 4.0]))
    array([0, 1, 2])
    """
    return np.searchsorted((values[1:] + values[:-1]) / 2, ratings)


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
