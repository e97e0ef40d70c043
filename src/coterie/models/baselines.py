"""Simple models that others are compared with: popularity, item means, EASE and iALS.

All of them predict what others gave to an item. They differ in what ranks items: the number of
users, the mean rating, an item regression (`interaction/item_regression.py`), or factors
(`interaction/factors.py`). Penalties are chosen on held-back pairs, as for the whole ranking model.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Ratings
from coterie.engine import Engine
from coterie.models.declaration import SEED, Ability, DataKind, Declaration
from coterie.models.hard.predictor import HardPredictor
from coterie.models.rating_model import RatingModel

_RANKS_ONLY = "it ranks items by who has them and does not predict ratings"


def _declared(name: str, assumption: str) -> Declaration:
    return Declaration(
        name=name,
        assumptions={DataKind.RATINGS: assumption},
        parameters={"rng": SEED},
        abilities=frozenset({Ability.PREDICT}),
    )


class ItemMean(RatingModel):
    """Everybody rates an item as others did; one rating of the whole table is added to each."""

    declaration: ClassVar[Declaration] = _declared("item-mean", "All users rate an item alike.")
    ranked_by: ClassVar[tuple[str, ...]] = ("rating",)

    def __init__(self, rng: RandomState = 0) -> None:
        self.rng = rng

    def fit(
        self, ratings: Ratings, *, engine: str | Engine = "local", callback: Callback = silent
    ) -> Self:
        """Count the ratings of each item."""
        as_generator(self.rng)  # an error if it is no seed
        self.ratings_ = ratings
        p = self.predictor(ratings).distributions(ratings.users, ratings.items, engine)
        self.entropy_ = float(-np.log(p[np.arange(len(ratings)), ratings.codes]).sum())
        self.history_ = [Iteration(1, 0.0, self.entropy_)]
        callback(Progress("fit", 1, 1, self.entropy_))
        return self

    def predictor(self, ratings: Ratings) -> Any:
        """Return one block of users, and one block per item."""
        everybody = np.zeros(ratings.n_users, np.int64)
        return HardPredictor.of_blocks(everybody, np.arange(ratings.n_items), ratings)


class Popularity(ItemMean):
    """Rank items by the number of users who have, or like, them."""

    declaration = _declared("popularity", "All users want the same items.")
    ranked_by = ()
    why_no_ratings = _RANKS_ONLY


class EASE(ItemMean):
    """Rank items by a regression of every item on all others (Steck, WWW 2019)."""

    declaration = _declared("ease", "Having an item depends linearly on having the others.")
    ranked_by = ("regression",)
    why_no_ratings = _RANKS_ONLY


class IALS(ItemMean):
    """Rank items by factors of all pairs, present and absent (Hu, Koren & Volinsky, ICDM 2008)."""

    declaration = _declared("ials", "Having an item is a product of few factors.")
    ranked_by = ("factors",)
    why_no_ratings = _RANKS_ONLY
