"""The interaction model of a recommender: fitted from its rated pairs, next to any rating model."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.engine import Engine, LocalEngine
from coterie.models.interaction.ranking_model import (
    FittedInteractions,
    Pairs,
    fit_interactions,
    pairs_of,
)
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.rating_table import RatingTable


class Order(StrEnum):
    """What a ranking puts first."""

    INTERACTION = "interaction"  # items that the user will probably interact with
    BOTH = "both"  # items that the user will probably interact with and like
    RATING = "rating"  # items with the highest expected rating

    @property
    def target(self) -> str:
        """The target of the interaction model."""
        return "seen" if self is Order.INTERACTION else "liked"


def as_order(order: str) -> Order:
    """Return an order by its name.

    >>> as_order("both").target
    'liked'
    """
    try:
        return Order(order)
    except ValueError:
        raise InputError(
            f"unknown `order`: {order!r}",
            remedy=f"use one of {', '.join(repr(x.value) for x in Order)}",
        ) from None


def with_interactions(
    state: FittedState,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> FittedState:
    """Return the state with an interaction model; nothing changes if it has one."""
    if state.interactions is not None:
        return state
    table = state.table
    liked = None if state.likes else table.levels >= state.liked_level
    # Arrays of all pairs would have to travel to Dask workers in every half-sweep.
    here: Any = engine if isinstance(engine, LocalEngine) else "local"
    fitted = fit_interactions(
        table.users,
        table.items,
        liked,
        table.n_users,
        table.n_items,
        rng=state.seed,
        engine=here,
        callback=callback,
    )
    return replace(state, interactions=fitted)


def compile_interactions() -> None:
    """Compile the kernel of the interaction model on one pair."""
    one = np.zeros(1, np.int64)
    fit_interactions(one, one, None, 1, 1)


def pairs_of_users(state: FittedState, users: np.ndarray) -> Pairs:
    """Return which items these users have; the number -1 stands for an unknown user."""
    return _pairs(state.table, users, state.liked_level)


def _pairs(table: RatingTable, users: np.ndarray, level: int) -> Pairs:
    found = [table.rows_of_user(int(u)) if u >= 0 else np.empty(0, np.int64) for u in users]
    rows = np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)
    who = np.repeat(np.arange(len(users)), [len(own) for own in found])
    return pairs_of(who, table.items[rows], table.levels[rows] >= level, len(users), table.n_items)


def items_of_user(state: FittedState, user: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the items that one user has seen, and those that the user likes, each increasing.

    The number -1 stands for an unknown user."""
    table = state.table
    rows = table.rows_of_user(user) if user >= 0 else np.empty(0, np.int64)
    own = table.items[rows]
    return np.unique(own), np.unique(own[table.levels[rows] >= state.liked_level])


def with_added_items(
    state: FittedState, table: RatingTable, known_items: int
) -> FittedInteractions | None:
    """Return the interaction model with the items from `known_items` on, placed by their users."""
    fitted = state.interactions
    if fitted is None or table.n_items == known_items:
        return fitted
    rows = np.flatnonzero(table.items >= known_items)
    users, who = np.unique(table.users[rows], return_inverse=True)
    own = _pairs(table, users, state.liked_level)
    known = Pairs(*(csr_array(part[:, :known_items]) for part in own))
    added = pairs_of(
        table.items[rows] - known_items,
        who,
        table.levels[rows] >= state.liked_level,
        table.n_items - known_items,
        len(users),
    )
    return fitted.with_items(added, known, table.n_users)
