"""Objectives of users and items, each with their own labels: likes, ratings, binomial."""

from __future__ import annotations

import numpy as np

from coterie.base.special_functions import gammaln
from coterie.data import Ratings
from coterie.kernels.hard.cell_costs import BERNOULLI, PLAIN
from coterie.kernels.hard.statistics import TWO_SETS, Adjacency
from coterie.models.hard.costs.block_objective import BlockObjective


def likes(ratings: Ratings) -> BlockObjective:
    """Build the objective of likes: Bernoulli cells; a pair counts once, whatever its rating.

    >>> objective = likes(Ratings.from_arrays([0, 0, 1], [0, 1, 1], [1, 1, 1]))
    >>> state = objective.start((np.array([0, 0]), np.array([0, 0])), (1, 1))
    >>> round(objective.entropy(state), 4)  # three of four pairs
    2.2493
    """
    pair = np.unique(ratings.users.astype(np.int64) * ratings.n_items + ratings.items)
    users, items = pair // max(ratings.n_items, 1), pair % max(ratings.n_items, 1)
    nothing = np.zeros(0)
    sides = (
        _adjacency(users, items, None, nothing, ratings.n_users),
        _adjacency(items, users, None, nothing, ratings.n_items),
    )
    return BlockObjective("likes", BERNOULLI, TWO_SETS, sides)


def multinomial(ratings: Ratings) -> BlockObjective:
    """Build the objective of ratings: one distribution over the levels per cell.

    S = sum_ij [g(d_ij.) - sum_r g(d_ijr)]; unrated pairs do not count. One channel per level, and
    one for their sum."""
    values = len(ratings.values)
    total = np.full(len(ratings), values, np.int32)
    ones = np.ones(len(ratings))
    signs = (1.0,) * values + (-1.0,)
    return _channels("ratings", ratings, [(ratings.codes, ones), (total, ones)], signs, 0.0)


def binomial(ratings: Ratings) -> BlockObjective:
    """Build the binomial objective: the number of a rating's level is Binomial(R - 1, p_ij).

    Three channels: successes, failures, and their sum."""
    top = len(ratings.values) - 1.0
    code = ratings.codes.astype(np.float64)
    zero = np.zeros(len(ratings), np.int32)
    parts = [(zero, code), (zero + 1, top - code), (zero + 2, np.full(len(ratings), top))]
    ways = gammaln(top + 1) - gammaln(code + 1) - gammaln(top - code + 1)
    return _channels("binomial", ratings, parts, (1.0, 1.0, -1.0), -float(ways.sum()))


def _channels(
    name: str,
    ratings: Ratings,
    parts: list[tuple[np.ndarray, np.ndarray]],
    signs: tuple[float, ...],
    constant: float,
) -> BlockObjective:
    """Build an objective where rating i counts weights[i] in channels[i], for each of `parts`."""
    users, items = np.tile(ratings.users, len(parts)), np.tile(ratings.items, len(parts))
    channels = np.concatenate([channel for channel, _ in parts]).astype(np.int32)
    weights = np.concatenate([weight for _, weight in parts])
    some = weights > 0
    users, items, channels, weights = users[some], items[some], channels[some], weights[some]
    sides = (
        _adjacency(users, items, channels, weights, ratings.n_users),
        _adjacency(items, users, channels, weights, ratings.n_items),
    )
    return BlockObjective(name, PLAIN, TWO_SETS, sides, signs, constant)


def _adjacency(
    rows: np.ndarray, columns: np.ndarray, channels: np.ndarray | None, weights: np.ndarray, n: int
) -> Adjacency:
    """Return the entries as compressed sparse rows."""
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return Adjacency(
        indptr,
        columns[order].astype(np.int32),
        np.zeros(0, np.int32) if channels is None else channels[order],
        weights[order] if len(weights) else weights,
    )
