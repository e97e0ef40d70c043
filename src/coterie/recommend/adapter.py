"""The one narrow interface between the Recommender and a family of models.

An adapter holds what a fitted model knows, as plain arrays, and speaks in user, item and level
numbers. It never changes: folding somebody in gives a new adapter.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from coterie.engine import Engine


class Contribution(NamedTuple):
    """One reason of a prediction: weight * rating is its share, and the shares add up to it."""

    user_group: str
    item_group: str
    weight: float
    rating: float


class Newcomer(NamedTuple):
    """A user (or item) number, known or the next new one, and all its ratings."""

    number: int
    others: np.ndarray  # int64, the items (or users) at the other end
    levels: np.ndarray  # int64, places in the adapter's values


class Adapter(Protocol):
    """What each family of models implements."""

    kind: ClassVar[str]

    @property
    def values(self) -> np.ndarray:
        """The ratings a prediction spreads over, rising."""
        ...

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        """The place of each rating in `values`; the nearest where it is not one of them."""
        ...

    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine | None
    ) -> np.ndarray:
        """P(value) of pairs: pairs x values."""
        ...

    def scores(self, users: np.ndarray, engine: str | Engine | None) -> np.ndarray:
        """Expected ratings of every item for these users: users x items."""
        ...

    def with_users(self, newcomers: list[Newcomer]) -> Self:
        """Take users in, everything else held fixed."""
        ...

    def with_items(self, newcomers: list[Newcomer]) -> Self:
        """Take items in, everything else held fixed."""
        ...

    def contributions(self, user: int, item: int) -> list[Contribution]:
        """Why the expected rating is what it is; weight * rating adds up to it."""
        ...

    def item_group(self, name: str) -> np.ndarray:
        """How much each item belongs to the item group that a contribution named."""
        ...

    def likeness(self, item: int) -> np.ndarray:
        """How like `item` every item is to the model; at most 1."""
        ...

    def arrays(self) -> dict[str, np.ndarray]:
        """Everything, for a file."""
        ...

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """The adapter that gave these arrays."""
        ...


def nearest(values: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """The place in `values` nearest to each rating.

    >>> nearest(np.array([1.0, 2.0, 5.0]), np.array([0.0, 2.0, 4.0]))
    array([0, 1, 2])
    """
    return np.searchsorted((values[1:] + values[:-1]) / 2, ratings)


def pointers(newcomers: list[Newcomer]) -> np.ndarray:
    """Where each newcomer's ratings begin when all are laid end to end."""
    return np.concatenate(([0], np.cumsum([len(new.others) for new in newcomers]))).astype(np.int64)


def placed(rows: np.ndarray, newcomers: list[Newcomer], new: np.ndarray) -> np.ndarray:
    """A copy of a table (a row a node) with the newcomers' rows set, made longer where needed."""
    size = max([len(rows), *(newcomer.number + 1 for newcomer in newcomers)])
    out = np.zeros((size, *rows.shape[1:]), rows.dtype)
    out[: len(rows)] = rows
    out[[newcomer.number for newcomer in newcomers]] = new
    return out
