"""Rank items: the interaction model next to any rating model, and lists in blocks of users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.engine import Engine, LocalEngine
from coterie.models.interaction.ranking_model import (
    FittedInteractions,
    Pairs,
    fit_interactions,
    pairs_of,
)
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.rating_table import RatingTable

if TYPE_CHECKING:
    from coterie.recommend.rules import Rules


class Order(StrEnum):
    """What a ranking puts first."""

    INTERACTION = "interaction"  # items that the user will probably interact with
    BOTH = "both"  # items that the user will probably interact with and like
    RATING = "rating"  # items with the highest expected rating
    EXPLORE = "explore"  # items with the highest rating in one draw of the posterior

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
        parts=state.ranked_by,
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


def item_similarity(state: FittedState, item: int) -> np.ndarray:
    """Return how similar an item is to each item by the model.

    If the rating model has offsets alone, it knows no tastes: then by who has and likes them.
    """
    found = state.predictor.item_similarity(item)
    if found.any() or state.interactions is None:
        return found
    return state.interactions.item_similarity(item)


_MAX_SCORES = 1 << 21  # in memory at once


class RankedItems(NamedTuple):
    """The best items of one user, the best first."""

    items: np.ndarray  # numbers
    ratings: np.ndarray  # expected ratings
    scores: np.ndarray  # what they are ordered by


class RankingOptions(NamedTuple):
    """Which items a ranking has, and what it puts first."""

    order: Order = Order.BOTH
    exclude_seen: bool = True  # leave out the items that the user has rated
    allowed: np.ndarray | None = None  # bool per item; None: all
    engine: str | Engine = "local"
    rng: RandomState = 0  # of the draws of Order.EXPLORE
    rules: Rules | None = None


def top_items(
    state: FittedState, users: np.ndarray, n: int, options: RankingOptions
) -> list[RankedItems]:
    """Return, for each user number, the n best items; see `ranked_blocks`."""
    return [ranked for block in ranked_blocks(state, users, n, options) for ranked in block]


def ranked_blocks(
    state: FittedState, users: np.ndarray, n: int, options: RankingOptions
) -> Iterator[list[RankedItems]]:
    """Yield the n best items of each user, for one block of users after the other.

    The number -1 stands for an unknown user. Equal scores are ranked by item number, so that a
    ranking is reproducible.
    """
    order, exclude_seen, allowed, engine, rng, rules = options
    draws = as_generator(rng)
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    table = state.table
    # An item with features but no ratings has an expected rating, but no interactions.
    by_rating = order in (Order.RATING, Order.EXPLORE)
    shown = state.known_items if by_rating else table.rated_items
    if allowed is not None:
        shown = np.asarray(shown & allowed)
    candidates = np.flatnonzero(shown)
    seen = (rules.seen if rules else None) or ("exclude" if exclude_seen else "include")
    reranker = None if rules is None else rules.prepared(state.items, table.novelty, n)
    predictable = np.append(state.known_users, False)[users]
    step = max(1, _MAX_SCORES // max(table.n_items, 1))
    for begin in range(0, len(users), step):
        block, known = users[begin : begin + step], predictable[begin : begin + step]
        if by_rating:
            scores = np.tile(state.item_means[candidates], (len(block), 1))
            if known.any():
                found = (
                    state.predictor.scores(block[known], engine)
                    if order is Order.RATING
                    else state.predictor.drawn_locations(block[known], draws)
                )
                scores[known] = found[:, candidates]
        else:
            scores = _interaction_scores(state, block, order)[:, candidates]
        best = []
        for user, score in zip(block, scores, strict=True):
            if seen != "include":
                own, _ = items_of_user(state, int(user))
                has = np.searchsorted(candidates, own[shown[own]])
                score[np.delete(np.arange(len(score)), has) if seen == "only" else has] = -np.inf
            if reranker is None:
                best.append(_largest(score, n))
            else:
                best.append(reranker.choose(candidates, score, partial(item_similarity, state)))
        if order is Order.RATING:
            ratings = [score[own] for score, own in zip(scores, best, strict=True)]
        else:
            chosen = [candidates[own] for own in best]
            ratings = _expected_ratings(state, block, known, chosen, engine)
        yield [
            RankedItems(candidates[own], rating, score[own])
            for own, rating, score in zip(best, ratings, scores, strict=True)
        ]


def _interaction_scores(state: FittedState, users: np.ndarray, order: Order) -> np.ndarray:
    """Return the scores of all items by the interaction model: users x items."""
    assert state.interactions is not None  # the Recommender fits it before it ranks
    if len(users) == 1:
        own = items_of_user(state, int(users[0]))
        return state.interactions.scores_of_one(own, order.target)[None, :]
    pairs = pairs_of_users(state, users)
    return state.interactions.scores(pairs, order.target)


def _expected_ratings(
    state: FittedState,
    users: np.ndarray,
    known: np.ndarray,
    chosen: list[np.ndarray],
    engine: str | Engine,
) -> list[np.ndarray]:
    """Return the expected ratings of the chosen items of each user."""
    lengths = [len(items) for items in chosen]
    items = np.concatenate([np.empty(0, np.int64), *chosen]).astype(np.int64)
    by_model = np.repeat(known, lengths)
    ratings = np.empty(len(items)) if by_model.all() else state.item_means[items]
    if by_model.any():
        who = np.repeat(users, lengths)[by_model]
        p = state.predictor.distributions(who, items[by_model], engine)
        ratings[by_model] = p @ state.predictor.values
    return np.split(ratings, np.cumsum(lengths)[:-1])


def _largest(score: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n largest finite scores, the largest first, ties in order.

    >>> _largest(np.array([1.0, 3.0, -np.inf, 3.0]), 2)
    array([1, 3])
    """
    candidates = np.flatnonzero(np.isfinite(score))
    if len(candidates) > n:
        least = np.partition(score[candidates], len(candidates) - n)[len(candidates) - n]
        candidates = candidates[score[candidates] >= least]
    return candidates[np.argsort(-score[candidates], kind="stable")][:n]
