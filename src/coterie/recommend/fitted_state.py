"""The state of a fitted Recommender: model, predictor, rated pairs and ids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from coterie.data import Ratings
from coterie.data.ids import IdLookup
from coterie.engine import Engine
from coterie.models.interaction.ranking_model import FittedInteractions, like_threshold
from coterie.models.rating_model import RatingModel, RatingPredictor
from coterie.recommend.rating_table import RatingTable
from coterie.recommend.registry import SavedModel


@dataclass(frozen=True)
class FittedState:
    """Everything that predictions need. It is immutable: adding ratings gives a new state."""

    source: RatingModel | SavedModel
    predictor: RatingPredictor
    table: RatingTable
    users: IdLookup
    items: IdLookup
    liked_level: int  # the lowest level that counts as a like in rankings
    interactions: FittedInteractions | None = None  # fitted when a ranking first needs it
    fitted_ratings: int = 0  # number of ratings when the model was fitted
    placed_with: np.ndarray | None = None  # ratings of each item when it was placed; None: all

    @classmethod
    def from_model(cls, model: RatingModel, training: Ratings, rated: Ratings) -> Self:
        """Build from a fitted model.

        `training` is what the model was fitted to. `rated` are the ratings that users gave.
        For likes, these are the first rows of `training`; the unliked pairs follow.
        """
        predictor = model.predictor(training)
        unliked = slice(len(rated), None)
        table = RatingTable(
            rated.users.astype(np.int64),
            rated.items.astype(np.int64),
            predictor.levels(rated.ratings),
            rated.n_users,
            rated.n_items,
            len(predictor.values),
            (training.users[unliked].astype(np.int64), training.items[unliked].astype(np.int64)),
        )
        users, items = IdLookup(rated.user_ids), IdLookup(rated.item_ids)
        level = liked_level(predictor.values, table)
        return cls(model, predictor, table, users, items, level, fitted_ratings=len(rated))

    @property
    def model(self) -> RatingModel:
        """The estimator: fitted, or not if it is that of a file."""
        return self.source.estimator if isinstance(self.source, SavedModel) else self.source

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """The parts of the interaction model; the estimator of a file need not be imported."""
        saved = isinstance(self.source, SavedModel)
        return self.source.entry.ranked_by if saved else self.source.ranked_by  # type: ignore[union-attr]

    @property
    def seed(self) -> int:
        """The seed of the model; 0 if it is not a number."""
        if isinstance(self.source, SavedModel):
            seed = self.source.parameters.get("rng", 0)
        else:
            seed = self.source.get_params().get("rng", 0)
        return seed if isinstance(seed, int) else 0

    @cached_property
    def known_users(self) -> np.ndarray:
        """Whether the model can predict each user: it has ratings, or features."""
        rated = self.table.rated_users
        return np.asarray(rated | _of_length(self.predictor.described_users, len(rated)))

    @cached_property
    def known_items(self) -> np.ndarray:
        """Whether the model can predict each item: it has ratings, or features."""
        rated = self.table.rated_items
        return np.asarray(rated | _of_length(self.predictor.described_items, len(rated)))

    @cached_property
    def item_means(self) -> np.ndarray:
        """The expected rating of each item by an unknown user."""
        items = np.where(self.known_items, np.arange(self.table.n_items), -1)
        p = self.unknown_distributions(np.full(len(items), -1), items, "local")
        return np.asarray(p @ self.predictor.values)

    def unknown_distributions(
        self, users: np.ndarray, items: np.ndarray, engine: str | Engine
    ) -> np.ndarray:
        """Return P(value) of pairs with an unknown user, an unknown item (-1), or both.

        It is the distribution of the item's ratings, else of the user's, else of all ratings. The
        fewer ratings there are, the more it follows a model that predicts an average user or item.
        """
        table, rated = self.table, items >= 0
        p = np.empty((len(users), len(self.predictor.values)))
        p[rated] = table.item_distributions(items[rated])
        p[~rated] = table.user_distributions(users[~rated])
        by_model = self.predictor.unknown_distributions(users, items, engine)
        if by_model is not None:
            weight = np.empty((len(users), 1))
            weight[rated, 0] = table.item_weights(items[rated])
            weight[~rated, 0] = table.user_weights(users[~rated])
            # Squared: the model has seen these ratings too, and shrinks few of them better.
            p += (1 - weight**2) * (by_model - p)
        return p

    @property
    def likes(self) -> bool:
        """Whether the model was fitted to likes."""
        return len(self.table.unrated[0]) > 0


def liked_level(values: np.ndarray, table: RatingTable) -> int:
    """Return the lowest level that counts as a like: about half of all ratings do."""
    counts = np.bincount(table.levels, minlength=len(values))
    return int(np.searchsorted(values, like_threshold(values, counts)))


def _of_length(first: np.ndarray, length: int) -> np.ndarray:
    """Return truth values of this many nodes; they are False after the first ones."""
    found = np.zeros(length, bool)
    found[: len(first)] = first
    return found
