"""What a model of ratings must be able to do, so that a Recommender can use it.

A model of ratings is an estimator (`RatingModel`), and after its fit it gives a `RatingPredictor`:
what it has learned, as arrays. A predictor works with user, item and level numbers instead of ids.
It is immutable: adding users or items returns a new one. A saved file holds the predictor, so that
predictions load neither the estimator nor its search.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import fields
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.errors import AssumptionWarning, InputError
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
    RATING = "rating"  # what one of the user's ratings says about the item (factors)
    TASTE = "taste"  # how well the item fits what this user likes, beyond single ratings
    GROUPS = "groups"  # a user group and an item group


class GroupPair(NamedTuple):
    """A user group and an item group, and where they were found."""

    user_group: int
    item_group: int
    run: int | None = None  # run or chain, if there is more than one
    partition: int | None = None  # additive model only


class OwnRating(NamedTuple):
    """One of the user's ratings that speaks for or against an item."""

    item: int  # its number
    rating: float
    higher: bool  # than offsets and groups suggest


class Contribution(NamedTuple):
    """One term of an expected rating: the sum of weight * rating over all terms is the rating."""

    source: Source
    weight: float
    rating: float
    groups: GroupPair | None = None  # only if the source is GROUPS
    features: str = ""  # the most important features, if the source is features
    own: OwnRating | None = None  # only if the source is RATING

    @property
    def share(self) -> float:
        """The amount that this term adds to the expected rating."""
        return self.weight * self.rating


class RatingPredictor(ABC):
    """What a model has learned from ratings: predictions, new users and items, explanations."""

    kind: ClassVar[str]  # its name in saved files
    values: np.ndarray  # the possible ratings, in increasing order

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Number of items that it predicts."""

    def levels(self, ratings: np.ndarray) -> np.ndarray:
        """Return the position of each rating in `values`; the nearest if it is not among them."""
        return np.searchsorted((self.values[1:] + self.values[:-1]) / 2, ratings)

    @property
    def limits(self) -> tuple[float, float]:
        """The lowest and the highest rating that is on the scale."""
        return float(self.values[0]), float(self.values[-1])

    @abstractmethod
    def distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        """Return P(value) of each pair: pairs x values."""

    def scores(self, users: np.ndarray, engine: str | Engine) -> np.ndarray:
        """Return the expected rating of every item for these users: users x items."""
        m = self.n_items
        p = self.distributions(np.repeat(users, m), np.tile(np.arange(m), len(users)), engine)
        return np.asarray((p @ self.values).reshape(len(users), m))

    def unknown_distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray | None:
        """Return P(value) of pairs with an unknown user, an unknown item (-1), or both.

        None if the model cannot predict users and items of whom nothing is known.
        """
        return None

    def taste_variances(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return the variance of E(rating) given all that is unknown about user and item.

        The rest of the variance of a rating is noise. Not a number if a model has no posterior.
        """
        return np.full(len(users), np.nan)

    def quantiles(self, p: np.ndarray, share: float) -> np.ndarray:
        """Return the rating below which this share of each distribution (pairs x values) is."""
        reached = np.cumsum(p, axis=1) >= share - 1e-9
        return np.asarray(self.values[np.where(reached.any(axis=1), reached.argmax(axis=1), -1)])

    def drawn_locations(self, users: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return how high each item is placed for these users in one draw of the posterior."""
        raise InputError(
            'this model has no samples for `order="explore"`', remedy='fit with `model="best"`'
        )

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

    def update_users(self, nodes: list[NodeRatings]) -> Self:
        """Do the same as `with_users`; arrays of this predictor may be changed in place."""
        return self.with_users(nodes)

    def update_items(self, nodes: list[NodeRatings]) -> Self:
        """Do the same as `with_items`; arrays of this predictor may be changed in place."""
        return self.with_items(nodes)

    def contributions(self, user: int, item: int, own: NodeRatings) -> list[Contribution]:
        """Return the terms that add up to the expected rating; one unless a model says more.

        `own` are the ratings of the user.
        """
        p = self.distributions(np.array([user]), np.array([item]), "local")
        return [Contribution(Source.BASELINE, 1.0, float((p @ self.values)[0]))]

    def item_membership(self, groups: GroupPair) -> np.ndarray:
        """Return how much each item belongs to the item group of this pair."""
        raise NotImplementedError(f"{type(self).__name__} has no groups")

    @abstractmethod
    def item_similarity(self, item: int) -> np.ndarray:
        """Return the similarity of every item to `item`; at most 1."""

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved: the fields, unless a model says otherwise."""
        return {name: getattr(self, name) for name in self._field_names()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Build from what `to_arrays` returned."""
        return cls(*(arrays[name] for name in cls._field_names()))

    @classmethod
    def _field_names(cls) -> list[str]:
        return [field.name for field in fields(cls)]  # type: ignore[arg-type]

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
    ratings_: Ratings | None = None  # what it was fitted to, if it was fitted to ratings
    # The parts of the interaction model that rank next to it; ("rating",): the expected rating
    ranked_by: ClassVar[tuple[str, ...]] = ("regression", "factors")
    why_no_ratings: ClassVar[str] = ""  # why a comparison has no errors of its predictions
    _SMALLEST: ClassVar[dict[str, Any]] = {}  # parameters of the smallest fit

    @abstractmethod
    def predictor(self, ratings: Ratings) -> RatingPredictor:
        """Return what the model has learned from the ratings that it was fitted to."""

    def compile(self, data: Any, engine: str | Engine = "local") -> None:
        """Compile the kernels that `fit(data)` needs, on a few nodes.

        Numba compiles a kernel on its first call and caches it on disk. Call this before `fit` to
        keep compilation out of a measured time.

        Parameters
        ----------
        data : Graph, Ratings, ShardedGraph, ShardedRatings or array of shape (n, n_features)
            The data that will be fitted. Only their kind matters.
        engine : str or Engine, default="local"
            The engine that `fit` will use.
        """
        from coterie.models.data_kinds import smallest_like  # predictions do not need it

        data = self._own_kind(data)
        settings = {**self.get_params(), **self._SMALLEST, **self._decided(data)}
        tiny: Any = type(self)(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # they are about the few nodes
            tiny.fit(smallest_like(data), engine=engine)

    def _own_kind(self, data: Any) -> Any:
        """Return data of another library as data of coterie, if the model accepts them."""
        return data

    def _decided(self, data: Any) -> dict[str, Any]:
        """Return parameters whose value "auto" depends on the size of the data."""
        return {}

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
