"""Explain a ranking: which of the user's own items carry the score of an item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.interactions import Order, pairs_of_users


class OwnItem(NamedTuple):
    """One of the user's own items and what it adds to the score of the explained item."""

    item: Any
    share: float


class RankingExplanation(NamedTuple):
    """The shares of the user's own items that add up to the score of an item in a ranking.

    Attributes
    ----------
    user, item : hashable
        The ids.
    order : str
        The order of the ranking: "interaction" or "both".
    score : float
        The score: the sum of the shares.
    own_items : list of OwnItem
        All items of the user, the largest share first; a share below 0 speaks against the item.
        Empty for a user without ratings, whose list follows popularity.
    popularity : float, default=0.0
        For a user without ratings: the number of users who have the item (order "both": who like
        it) divided by that of the most popular item, which is the score.
    """

    user: Any
    item: Any
    order: str
    score: float
    own_items: list[OwnItem]
    popularity: float = 0.0

    def words(self, titles: Mapping[Any, str] | None = None, max_items: int = 5) -> list[str]:
        """Return the explanation as lines of text.

        Parameters
        ----------
        titles : mapping from item id to str, optional
            Titles to show instead of ids.
        max_items : int, default=5
            The maximum number of own items to list.

        Returns
        -------
        list of str
            The score, then one line per own item, then the sum of the others.
        """
        named = titles or {}
        goal = "interaction" if self.order == "interaction" else "interaction and liking"
        lines = [
            f"Score for {goal} of user {self.user} with item "
            f"{named.get(self.item, self.item)}: {self.score:.2f}"
        ]
        if not self.own_items:
            what = "have" if self.order == "interaction" else "like"
            lines.append(
                f"{self.popularity:+.2f}  how many users {what} this item (the most popular item "
                "has 1); this user has no ratings, so popularity decides"
            )
        shown = self.own_items[:max_items]
        lines += [f"{own.share:+.2f}  has {named.get(own.item, own.item)}" for own in shown]
        rest = self.own_items[max_items:]
        if rest:
            total = sum(own.share for own in rest)
            lines.append(f"{total:+.2f}  the other {len(rest)} items of this user together")
        return lines


def explain_ranking(state: FittedState, user: Any, item: Any, order: Order) -> RankingExplanation:
    """Explain the score of an item for a user of the model."""
    if order is Order.RATING:
        raise InputError(
            "a ranking by expected rating is explained by the rating", remedy="use explain"
        )
    assert state.interactions is not None  # the Recommender fits it first
    u, v = int(state.users.numbers([user])[0]), int(state.items.numbers([item])[0])
    if u < 0:
        raise InputError(
            f"user {user!r} is not in this model, so there is nothing to explain",
            remedy="add the user's ratings with fold_in first",
        )
    if v < 0:
        raise InputError(
            f"item {item!r} is not in this model", remedy="add its ratings with fold_in first"
        )
    pairs = pairs_of_users(state, np.array([u]))
    if not pairs.seen.nnz:
        score = float(state.interactions.scores(pairs, order.target)[0, v])
        return RankingExplanation(user, item, order.value, score, [], score)
    shares = state.interactions.contributions(pairs, v, order.target)
    own = pairs.seen.indices
    own = own[np.argsort(-shares[own], kind="stable")]
    listed = [
        OwnItem(id_, float(share))
        for id_, share in zip(state.items.ids[own].tolist(), shares[own], strict=True)
    ]
    return RankingExplanation(user, item, order.value, float(shares.sum()), listed)
