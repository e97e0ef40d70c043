"""The best items of many users, computed for a block of users at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.engine import Engine
from coterie.recommend.fitted_state import FittedState
from coterie.recommend.interactions import Order, items_of_user, pairs_of_users

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
    order, exclude_seen, allowed, engine = options
    if n < 1:
        raise InputError(f"n must be at least 1, not {n}")
    table = state.table
    # An item with features but no ratings has an expected rating, but no interactions.
    by_rating = order is Order.RATING
    shown = state.known_items if by_rating else table.rated_items
    if allowed is not None:
        shown = np.asarray(shown & allowed)
    candidates = np.flatnonzero(shown)
    predictable = np.append(state.known_users, False)[users]
    step = max(1, _MAX_SCORES // max(table.n_items, 1))
    for begin in range(0, len(users), step):
        block, known = users[begin : begin + step], predictable[begin : begin + step]
        if by_rating:
            scores = np.tile(state.item_means[candidates], (len(block), 1))
            if known.any():
                scores[known] = state.predictor.scores(block[known], engine)[:, candidates]
        else:
            scores = _interaction_scores(state, block, order)[:, candidates]
        best = []
        for user, score in zip(block, scores, strict=True):
            if exclude_seen and user >= 0:
                own = table.items[table.rows_of_user(int(user))]
                score[np.searchsorted(candidates, own[shown[own]])] = -np.inf
            best.append(_largest(score, n))
        if by_rating:
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
