"""A Markov chain of the additive block model: its state, and the sweeps that update it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.factors import (
    FactorSide,
    draw_column_precisions,
    draw_factors,
    draw_links,
    prior_means,
    rescale_factors,
)
from coterie.kernels.additive.response_styles import draw_styles, log_probabilities, move_cuts
from coterie.kernels.additive.sweep import (
    Edges,
    PendingPartition,
    SweepView,
    draw_col_offsets,
    draw_effects,
    draw_item_labels,
    draw_latent,
    draw_precision,
    draw_row_offsets,
    draw_user_labels,
    rescale_offsets,
    subtract,
)
from coterie.kernels.numba.dispatch import njit

# The prior of a precision is exp(-_FLOOR * precision): weak, so that unused effects shrink to 0.
_FLOOR = 0.001


class Chain(NamedTuple):
    """Everything a sweep changes. Arrays of one element are scalars that are updated in place."""

    stream: np.ndarray  # uint64, 1: state of the random stream
    sweeps: np.ndarray  # int64, 1: number of sweeps done
    style: np.ndarray  # uint8, users
    cuts: np.ndarray  # float64, styles x (R + 1)
    g: np.ndarray  # uint8, L x users
    h: np.ndarray  # uint8, L x items
    M: np.ndarray  # float64, L x k x l: effects on the rating
    Q: np.ndarray  # float64, L x k x l: effects on presence
    b_user: np.ndarray  # float64, offsets on the rating
    b_item: np.ndarray
    c_user: np.ndarray  # float64, offsets on presence
    c_item: np.ndarray
    precision: np.ndarray  # float64, 7: b_user, b_item, c_user, c_item, M, Q, tau
    user_factors: np.ndarray  # float32, users x K
    item_factors: np.ndarray  # float32, items x K
    user_links: np.ndarray  # float64, features x (K + 1): regression of factors and offset
    item_links: np.ndarray
    user_means: np.ndarray  # float64, users x (K + 1): prior means of factors and offset
    item_means: np.ndarray
    factor_precision: np.ndarray  # float64, 4 x (K + 1): user, item factors; user, item links
    z: np.ndarray  # float32, rated pairs: latent value
    x: np.ndarray  # float32, rated pairs: residual of the latent value
    y: np.ndarray  # float32, rated and sampled unrated pairs: residual of presence


class ChainData(NamedTuple):
    """What a chain observes: ratings, presence, and features of users and items."""

    rated: Edges
    level: np.ndarray  # uint8, level of each rating
    seen: Edges  # rated and sampled unrated pairs
    by_user: FactorSide
    by_item: FactorSide
    user_features: np.ndarray  # float32, users x features, orthogonal columns
    item_features: np.ndarray


class Schedule(NamedTuple):
    """When and how strongly a sweep updates each part of the model."""

    seen_weight: float  # weight of presence relative to ratings for labels and effects
    effects_from: int  # first sweep that draws the precision of effects
    styles_from: int  # first sweep that draws styles …
    styles_every: int  # … and the number of sweeps between two draws
    cut_shrinkage: float  # how strongly a style's cutpoints are pulled to the mean style
    grouped: bool  # whether labels and effects are drawn at all
    factored: bool  # whether factors are drawn at all
    user_columns: int  # number of features that the chain uses, the first ones
    item_columns: int
    links_from: int  # first sweep that draws links and precisions of factors
    scales_from: int  # first sweep that draws the scales of offsets and factors


@njit(nogil=True, cache=True)
def _draw_offsets(state, chain, rated, seen, tau, with_scales):
    p, K = chain.precision, chain.user_factors.shape[1]
    user_means, item_means = chain.user_means[:, K], chain.item_means[:, K]
    x = chain.x
    state = draw_row_offsets(state, rated, x, chain.b_user, user_means, 1.0, p[0])
    if with_scales:
        state, p[0] = rescale_offsets(
            state, rated, x, chain.b_user, user_means, True, 1.0, p[0], _FLOOR
        )
    state = draw_col_offsets(state, rated, x, chain.b_item, item_means, 1.0, p[1])
    if with_scales:
        state, p[1] = rescale_offsets(
            state, rated, x, chain.b_item, item_means, False, 1.0, p[1], _FLOOR
        )
    if len(chain.y):
        nothing = np.zeros(max(len(chain.c_user), len(chain.c_item)))
        state = draw_row_offsets(state, seen, chain.y, chain.c_user, nothing, tau, p[2])
        state = draw_col_offsets(state, seen, chain.y, chain.c_item, nothing, tau, p[3])
    return state


@njit(nogil=True, cache=True)
def _draw_factors(state, chain, own, others, side, means, precision, with_scales):
    """Draw the factors of one side, and their scales."""
    K = own.shape[1]
    square, product = np.empty((K, K)), np.empty(K)
    state = draw_factors(state, side, chain.x, own, others, means, precision, square, product)
    if with_scales:
        state = rescale_factors(
            state, side, chain.x, own, others, means, precision, square, product, _FLOOR
        )
    return state


@njit(nogil=True, cache=True)
def _draw_regressions(state, chain, ptr, features, used, factors, offsets, links, means, side):
    """Draw the links of one side (0 users, 1 items) and the precisions of its factors."""
    own, of_links = chain.factor_precision[side], chain.factor_precision[2 + side]
    own[len(own) - 1] = chain.precision[side]
    if used > 0:
        state = draw_links(state, ptr, features, used, factors, offsets, own, of_links, links)
        prior_means(features, used, links, means)
        nothing = np.zeros(links.shape)
        state = draw_column_precisions(state, links, nothing, used, _FLOOR, of_links)
    return draw_column_precisions(state, factors, means, len(factors), _FLOOR, own)


@njit(nogil=True, cache=True)
def _draw_partitions(state, chain, rated, seen, seen_weight):
    L, k, l = chain.M.shape  # noqa: E741
    m = chain.h.shape[1]
    ratings, presence = SweepView(rated, chain.x, 1.0), SweepView(seen, chain.y, seen_weight)
    of_ratings, of_presence = np.empty((k, m, 2)), np.empty((k, m, 2))
    nothing = np.zeros((k, l))
    pending = PendingPartition(chain.g[0], chain.h[0], nothing, nothing)
    for s in range(L):
        g, h, M, Q = chain.g[s], chain.h[s], chain.M[s], chain.Q[s]
        state = draw_user_labels(
            state, ratings, M, presence, Q, pending, g, h, of_ratings, of_presence
        )
        state = draw_item_labels(state, of_ratings, M, 1.0, of_presence, Q, seen_weight, h)
        state = draw_effects(state, of_ratings, h, 1.0, chain.precision[4], M)
        state = draw_effects(state, of_presence, h, seen_weight, chain.precision[5], Q)
        pending = PendingPartition(g, h, M, Q)
    subtract(rated, chain.x, pending.M, pending.g, pending.h)
    subtract(seen, chain.y, pending.Q, pending.g, pending.h)
    return state


@njit(nogil=True, cache=True)
def _draw_precisions(state, chain, with_effects):
    p = chain.precision
    K = chain.user_factors.shape[1]
    state, p[0] = draw_precision(state, chain.b_user - chain.user_means[:, K], _FLOOR)
    state, p[1] = draw_precision(state, chain.b_item - chain.item_means[:, K], _FLOOR)
    state, p[2] = draw_precision(state, chain.c_user, _FLOOR)
    state, p[3] = draw_precision(state, chain.c_item, _FLOOR)
    if with_effects:
        state, p[4] = draw_precision(state, chain.M, _FLOOR)
        state, p[5] = draw_precision(state, chain.Q, _FLOOR)
    state, p[6] = draw_precision(state, chain.y, 1.0)
    return state


@njit(nogil=True, cache=True)
def advance(chain, data, schedule, sweeps):
    """Run this many sweeps of one chain, in place."""
    state = chain.stream[0]
    rated, level, seen = data.rated, data.level, data.seen
    with_factors = schedule.factored and chain.user_factors.shape[1] > 0
    for _ in range(sweeps):
        done = chain.sweeps[0]
        with_scales = done >= schedule.scales_from
        state = draw_latent(state, rated, level, chain.style, chain.cuts, chain.z, chain.x)
        for _again in range(3 if done == 0 else 1):
            state = _draw_offsets(state, chain, rated, seen, chain.precision[6], with_scales)
        if with_factors:
            P, Q, of_sides = chain.user_factors, chain.item_factors, chain.factor_precision
            state = _draw_factors(
                state, chain, P, Q, data.by_user, chain.user_means, of_sides[0], with_scales
            )
            state = _draw_factors(
                state, chain, Q, P, data.by_item, chain.item_means, of_sides[1], with_scales
            )
        if done >= schedule.links_from:
            state = _draw_regressions(
                state,
                chain,
                data.by_user.ptr,
                data.user_features,
                schedule.user_columns,
                chain.user_factors,
                chain.b_user,
                chain.user_links,
                chain.user_means,
                0,
            )
            state = _draw_regressions(
                state,
                chain,
                data.by_item.ptr,
                data.item_features,
                schedule.item_columns,
                chain.item_factors,
                chain.b_item,
                chain.item_links,
                chain.item_means,
                1,
            )
        if schedule.grouped:
            seen_weight = schedule.seen_weight * chain.precision[6]
            state = _draw_partitions(state, chain, rated, seen, seen_weight)
        if done >= schedule.styles_from and done % schedule.styles_every == 0:
            table = log_probabilities(chain.cuts)
            state = draw_styles(state, rated, level, chain.z, chain.x, table, chain.style)
            move_cuts(
                rated, level, chain.z, chain.x, chain.style, schedule.cut_shrinkage, chain.cuts
            )
        state = _draw_precisions(state, chain, schedule.grouped and done >= schedule.effects_from)
        chain.sweeps[0] = done + 1
    chain.stream[0] = state
