"""Add users and items to a fitted recommender without refitting the model.

They are placed by their ratings, with everything else fixed. New users can also be placed alone,
without a copy of everybody else: a server places somebody by the ratings of one request and forgets
them again, and a copy of all ratings and samples would take longer than the placing itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Ratings
from coterie.data.ids import IdLookup
from coterie.data.negatives import negatives_of_one
from coterie.data.ratings import NodeRatings
from coterie.models.rating_model import RatingPredictor
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.ranking import with_added_items
from coterie.recommend.rating_table import RatingTable, prior_weight, rows_of
from coterie.recommend.training_data import NEGATIVES_PER_LIKE


class UpdateSummary(NamedTuple):
    """What an update has added, and whether a new fit would be better.

    Attributes
    ----------
    users, items : int
        Number of new users and of new items.
    ratings : int
        Number of ratings that were added or replaced.
    moved_items : int
        Number of known items that were placed again, because they have enough new ratings.
    drift : float
        The squared error of the new ratings of known users and items, predicted before they were
        added, divided by the one that the model expected, minus 1. 0: as expected; nan if there
        are none.
    refit_advised : bool
        Whether a new fit is advised: more than a tenth of the ratings are newer than the last fit,
        or at least 100 new ratings have a drift above 0.2.
    """

    users: int
    items: int
    ratings: int
    moved_items: int
    drift: float
    refit_advised: bool


def updated(state: FittedState, ratings: Ratings) -> tuple[FittedState, UpdateSummary]:
    """Return a state with these ratings, whose users and items are placed again.

    An item is placed again if its ratings have grown by `_GROWN` since it was placed: the posterior
    of one that has hardly more ratings hardly changes. Users alone are placed as by `with_ratings`.
    The arrays of the state may be changed in place.
    """
    drift, n_known = _drift(state, ratings)
    new = with_ratings(state, ratings, in_place=True)
    items = new.items.numbers(ratings.item_ids)[ratings.items]
    counts = np.bincount(new.table.items, minlength=new.table.n_items)
    placed = counts.copy()
    before = state.placed_with
    if before is None:
        before = np.bincount(state.table.items, minlength=len(state.items))
    placed[: len(before)] = before
    touched = np.unique(items[items < len(state.items)])
    moved = touched[counts[touched] >= (1 + _GROWN) * placed[touched]]
    if len(moved):
        predictor, table, likes = new.predictor, new.table, new.likes
        users = np.unique(new.users.numbers(ratings.user_ids)[ratings.users])
        own = _ratings_of(moved, table.items, table.users, table, table.n_users, likes)
        predictor = predictor.update_items(own)
        own = _ratings_of(users, table.users, table.items, table, table.n_items, likes)
        predictor = predictor.update_users(own)
        placed[moved] = counts[moved]
        new = replace(new, predictor=predictor)
    newer = len(new.table.users) - state.fitted_ratings
    return replace(new, placed_with=placed), UpdateSummary(
        len(new.users) - len(state.users),
        len(new.items) - len(state.items),
        len(ratings),
        len(moved),
        drift,
        newer > _NEWER * state.fitted_ratings or (n_known >= _MANY and drift > _DRIFT),
    )


def _drift(state: FittedState, ratings: Ratings) -> tuple[float, int]:
    """Return the excess squared error of new ratings of known pairs of nodes, and their number."""
    u = state.users.numbers(ratings.user_ids)[ratings.users]
    v = state.items.numbers(ratings.item_ids)[ratings.items]
    known = np.append(state.known_users, False)[u] & np.append(state.known_items, False)[v]
    if not known.any():
        return float("nan"), 0
    values = state.predictor.values
    p = state.predictor.distributions(u[known], v[known], "local")
    mean = p @ values
    error = (ratings.ratings[known] - mean) ** 2
    expected = float((p @ values**2 - mean**2).mean())
    return float(error.mean()) / max(expected, 1e-12) - 1, int(known.sum())


def with_ratings(state: FittedState, ratings: Ratings, *, in_place: bool = False) -> FittedState:
    """Return a state that includes these ratings.

    Users are placed by the items that are known already, then new items by their users, then the
    users who rated new items once more.
    """
    if not len(ratings):
        raise InputError("there are no ratings to add", remedy="give at least one rating")
    predictor, known_users, known_items = state.predictor, len(state.users), len(state.items)
    users, user_of = state.users.with_ids(ratings.user_ids)
    items, item_of = state.items.with_ids(ratings.item_ids)
    u, v = user_of[ratings.users], item_of[ratings.items]
    levels = levels_on_scale(predictor, ratings.ratings)
    table = state.table.with_rows(u, v, levels, len(users), len(items))
    placed = np.union1d(u[v < known_items], u[u >= known_users])
    pairs, likes = (table.users, table.items), state.likes
    if len(placed):
        known = _ratings_of(placed, *pairs, table, known_items, likes)
        predictor = (predictor.update_users if in_place else predictor.with_users)(known)
    described = np.unique(v[v < known_items])  # items with features that get their first ratings
    described = described[state.table.item_counts[described].sum(axis=1) == 0]
    new_items = np.concatenate([described, np.arange(known_items, len(items))])
    if len(new_items):
        added = _ratings_of(new_items, *pairs[::-1], table, len(users), likes)
        placed = np.unique(u[np.isin(v, new_items)])
        again = _ratings_of(placed, *pairs, table, len(items), likes)
        predictor = predictor.with_items(added).with_users(again)
    return replace(
        state,
        predictor=predictor,
        table=table,
        users=users,
        items=items,
        interactions=with_added_items(state, table, known_items),
    )


_GROWN = 0.05  # an item whose ratings have grown by this share is placed again
_NEWER, _DRIFT, _MANY = 0.1, 0.2, 100  # a refit is advised beyond these


def levels_on_scale(predictor: RatingPredictor, ratings: np.ndarray) -> np.ndarray:
    """Return the level of each rating; raise InputError for one that is outside the scale."""
    low, high = predictor.limits
    outside = (ratings < low) | (ratings > high)
    if outside.any():
        raise InputError(
            f"the rating {ratings[outside][0]:g} is outside the scale of the model, {low:g} to "
            f"{high:g}",
            remedy="check the ratings, or fit the model again if the scale has changed",
        )
    return predictor.levels(ratings)


def _ratings_of(
    nodes: np.ndarray,
    own: np.ndarray,
    others: np.ndarray,
    table: RatingTable,
    n_known: int,
    likes: bool,
) -> list[NodeRatings]:
    """Return each node's ratings with the first `n_known` nodes of the other side.

    `own` and `others` are the columns of the table: users and items, or the other way round.
    """
    by_user = own is table.users
    rows_of_nodes = map(table.rows_of_user, nodes.tolist()) if by_user else rows_of(own, nodes)
    given = [(others[rows], table.levels[rows]) for rows in rows_of_nodes]
    return node_ratings(nodes, given, others, n_known, likes)


def node_ratings(
    nodes: np.ndarray,
    given: list[tuple[np.ndarray, np.ndarray]],
    all_others: np.ndarray,
    n_known: int,
    likes: bool,
) -> list[NodeRatings]:
    """Return each node's ratings; for likes, with unliked pairs drawn at level 0.

    `given` has the other ends and the levels of each node's ratings, `all_others` the other end of
    every rating of the table.
    """
    found = []
    for node, (others, levels) in zip(nodes, given, strict=True):
        known = others < n_known
        ends, own_levels = others[known], levels[known]
        if likes and len(ends):
            # The number is the seed, so the negatives do not depend on who else is added.
            rng = np.random.default_rng(int(node))
            count = int(NEGATIVES_PER_LIKE * len(ends))
            unliked = negatives_of_one(rng, ends, all_others, n_known, count)
            ends = np.concatenate([ends, unliked])
            own_levels = np.concatenate([own_levels, np.zeros_like(unliked)])
        found.append(NodeRatings(int(node), ends, own_levels))
    return found


def _table_of_newcomers(own: RatingTable, base: RatingTable) -> RatingTable:
    """Return the ratings of new users alone; counts of items include those of everybody else."""
    of_items = base.item_counts + own.item_counts
    everybody = of_items.sum(axis=0) + 0.5
    table = replace(own, unrated=base.unrated)
    vars(table).update(
        user_counts=own.user_counts,
        item_counts=of_items,
        novelty=base.novelty,
        everybody=everybody / everybody.sum(),
        _user_prior_weight=prior_weight(np.vstack([base.user_counts, own.user_counts])),
    )
    return table


def newcomers_alone(state: FittedState, ratings: Ratings) -> FittedState:
    """Return a state that has only the users of these ratings, with the numbers of `fold_in`.

    It predicts, ranks and explains for them; it is not for saving or adding more. Ratings of known
    users or unknown items need the complete state, which is returned then.
    """
    of_items = state.items.numbers(ratings.item_ids)
    if (
        not len(ratings)
        or (of_items < 0).any()
        or (state.users.numbers(ratings.user_ids) >= 0).any()
    ):
        return with_ratings(state, ratings)
    base, likes = state.table, state.likes
    users, items = ratings.users.astype(np.int64), of_items[ratings.items]
    levels = levels_on_scale(state.predictor, ratings.ratings)
    own = RatingTable(users, items, levels, ratings.n_users, base.n_items, base.n_levels)
    given = [(items[users == user], levels[users == user]) for user in range(ratings.n_users)]
    all_items = np.concatenate([base.items, items]) if likes else items
    nodes = node_ratings(
        len(state.users) + np.arange(ratings.n_users), given, all_items, base.n_items, likes
    )
    return replace(
        state,
        predictor=state.predictor.only_users(nodes),
        table=_table_of_newcomers(own, base),
        users=IdLookup(ratings.user_ids),
    )
