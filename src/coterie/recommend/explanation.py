"""Explain a prediction or a place in a ranking: the terms that add up to it, and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data.ids import IdLookup
from coterie.data.ratings import NodeRatings
from coterie.models.rating_model import Contribution, Source
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.ranking import Order, pairs_of_users

_EXAMPLES = 3  # items named per group
_SMALLEST_SHOWN = 0.005  # smaller contributions would be printed as 0.00


class Reason(NamedTuple):
    """One of the largest contributions: of groups, with well-known items of the item group.

    Of a rating of the user, the example is the rated item.
    """

    contribution: Contribution
    examples: list[Any]


class Explanation(NamedTuple):
    """The terms that add up to the expected rating of a user for an item.

    Attributes
    ----------
    user, item : hashable
        The ids.
    rating : float
        The expected rating: the sum of weight * rating over `contributions`.
    contributions : list of Contribution
        All terms, the largest first.
    reasons : list of Reason
        The largest terms, with items of their item groups as examples.
    """

    user: Any
    item: Any
    rating: float
    contributions: list[Contribution]
    reasons: list[Reason]

    def words(self, titles: Mapping[Any, str] | None = None) -> list[str]:
        """Return the explanation as lines of text.

        Parameters
        ----------
        titles : mapping from item id to str, optional
            Titles to show instead of ids.

        Returns
        -------
        list of str
            The expected rating, then one line per reason that is not 0.00, then the sum of the
            others.
        """
        named = titles or {}
        item = named.get(self.item, self.item)
        lines = [f"Expected rating of user {self.user} for item {item}: {self.rating:.2f}"]
        reasons = [r for r in self.reasons if abs(r.contribution.share) >= _SMALLEST_SHOWN]
        for contribution, examples in reasons:
            shown = ", ".join(str(named.get(example, example)) for example in examples)
            lines.append(f"{contribution.share:+.2f}  {_sentence(contribution, shown)}")
        others = len(self.contributions) - len(reasons)
        if others > 0:
            rest = self.rating - sum(reason.contribution.share for reason in reasons)
            lines.append(f"{rest:+.2f}  all {others} smaller contributions together")
        return lines


def _sentence(contribution: Contribution, examples: str) -> str:
    """Describe the origin of a contribution."""
    groups, own = contribution.groups, contribution.own
    if own is not None:
        direction = "higher" if own.higher else "lower"
        return f"this user rated {examples} {own.rating:g}, {direction} than averages suggest"
    if contribution.features:
        return f"{contribution.source.value}: {contribution.features}"
    if groups is None:
        return {
            Source.BASELINE: "the starting point, the same for every user and item",
            Source.USER: "how high this user rates in general",
            Source.ITEM: "how high this item is rated in general",
            Source.TASTE: "how well this item fits what this user rated, beyond what is listed",
        }[contribution.source]
    if groups.partition is not None:
        return (
            f"user group {groups.user_group} on items such as {examples} "
            f"(chain {groups.run}, partition {groups.partition})"
        )
    run = "" if groups.run is None else f"run {groups.run}: "
    return (
        f"{run}user group {groups.user_group} rates item group {groups.item_group} "
        f"(such as {examples}) {contribution.rating:.2f} on average; weight "
        f"{contribution.weight:.0%}"
    )


def group_labels(contribution: Contribution) -> tuple[str, str]:
    """Return short names of the user group and the item group of a contribution, for JSON.

    >>> from coterie.models.rating_model import GroupPair
    >>> group_labels(Contribution(Source.GROUPS, 1.0, 0.5, GroupPair(2, 0, run=1, partition=3)))
    ('1.3.2', '1.3.0')
    >>> group_labels(Contribution(Source.USER, 1.0, 0.5))
    ('this user', 'any')
    """
    groups = contribution.groups
    if groups is None:
        of_both = contribution.source in (Source.RATING, Source.TASTE)
        of_user = of_both or contribution.source in (Source.USER, Source.USER_FEATURES)
        of_item = of_both or contribution.source in (Source.ITEM, Source.ITEM_FEATURES)
        return "this user" if of_user else "any", "this item" if of_item else "any"
    prefix = ""
    if groups.partition is not None:
        prefix = f"{groups.run}.{groups.partition}."
    elif groups.run is not None:
        prefix = f"{groups.run}:"
    return f"{prefix}{groups.user_group}", f"{prefix}{groups.item_group}"


def explain(state: FittedState, user: Any, item: Any, max_reasons: int = 6) -> Explanation:
    """Explain the expected rating of a user and an item that the model has seen."""
    table = state.table
    u, v = int(state.users.numbers([user])[0]), int(state.items.numbers([item])[0])
    for kind, id_, number, known in (
        ("user", user, u, state.known_users),
        ("item", item, v, state.known_items),
    ):
        if number < 0 or not known[number]:
            raise InputError(
                f"{kind} {id_!r} has no rating in this model, so there is nothing to explain",
                remedy="add its ratings with fold_in first",
            )
    rows = table.rows_of_user(u)
    ratings = NodeRatings(u, table.items[rows], table.levels[rows])
    terms = sorted(state.predictor.contributions(u, v, ratings), key=lambda term: -abs(term.share))
    popularity = table.item_counts.sum(axis=1)
    reasons = []
    for term in terms[:max_reasons]:
        examples = []
        if term.own is not None:
            examples = state.items.ids[[term.own.item]].tolist()
        elif term.groups is not None:
            belongs = state.predictor.item_membership(term.groups)
            examples = _examples(belongs, popularity, state.items)
        reasons.append(Reason(term, examples))
    rating = float(sum(term.share for term in terms))
    return Explanation(user, item, rating, terms, reasons)


def _examples(membership: np.ndarray, popularity: np.ndarray, items: IdLookup) -> list[Any]:
    """Return items that belong to a group and that many users rated."""
    score = membership * np.sqrt(popularity)
    best: list[Any] = items.ids[np.argsort(-score, kind="stable")[:_EXAMPLES]].tolist()
    return best


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
        Empty for a user whose ratings say nothing about other items, or who has none: the list
        then follows popularity.
    popularity : float, default=0.0
        For such a user: the number of users who have the item (order "both": who like
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
                "has 1); no rating of this user says anything about it, so popularity decides"
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
    if order in (Order.RATING, Order.EXPLORE):
        raise InputError(
            "a ranking by rating is explained by the expected rating", remedy="use explain"
        )
    assert state.interactions is not None  # the Recommender fits it first
    u, v = int(state.users.numbers([user])[0]), int(state.items.numbers([item])[0])
    for kind, id_, number in (("user", user, u), ("item", item, v)):
        if number < 0:
            raise InputError(
                f"{kind} {id_!r} is not in this model, so there is nothing to explain",
                remedy="add its ratings with fold_in first",
            )
    pairs = pairs_of_users(state, np.array([u]))
    scores = state.interactions.scores(pairs, order.target)[0]
    if np.array_equal(scores, state.interactions.popular(order.target)):
        score = float(scores[v])
        return RankingExplanation(user, item, order.value, score, [], score)
    shares = state.interactions.contributions(pairs, v, order.target)
    own = pairs.seen.indices
    own = own[np.argsort(-shares[own], kind="stable")]
    listed = [
        OwnItem(id_, float(share))
        for id_, share in zip(state.items.ids[own].tolist(), shares[own], strict=True)
    ]
    return RankingExplanation(user, item, order.value, float(shares.sum()), listed)
