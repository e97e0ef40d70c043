"""A Markov chain of the additive block model: its state, and the sweeps that update it.

`advance` is plain Python, which calls one kernel for every part of the model: a part that a table
does not have is then not compiled, and the others can be compiled at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.factors import (
    FactorSide,
    draw_column_precisions,
    draw_factors,
    draw_link_precisions,
    draw_links,
    prior_means,
    rescale_factors,
)
from coterie.kernels.additive.response_styles import (
    draw_styles,
    log_probabilities,
    move_cuts,
)
from coterie.kernels.additive.sweep import (
    Edges,
    SweepView,
    draw_col_offsets,
    draw_latent,
    draw_partitions,
    draw_precision,
    draw_row_offsets,
    rescale_offsets,
)

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


def advance(chain: Chain, data: ChainData, schedule: Schedule, sweeps: int) -> None:
    """Run this many sweeps of one chain, in place."""
    state = chain.stream[0]
    rated, level, seen = data.rated, data.level, data.seen
    K = chain.user_factors.shape[1]
    for _ in range(sweeps):
        done = int(chain.sweeps[0])
        with_scales = done >= schedule.scales_from
        state = _word(draw_latent(state, rated, level, chain.style, chain.cuts, chain.z, chain.x))
        for _again in range(3 if done == 0 else 1):
            state = _draw_offsets(state, chain, rated, seen, with_scales)
        if schedule.factored and K > 0:
            state = _draw_factors(state, chain, data, with_scales)
        if done >= schedule.links_from:
            state = _draw_regressions(state, chain, data, schedule)
        if schedule.grouped:
            state = _word(
                draw_partitions(
                    state,
                    SweepView(rated, chain.x, 1.0),
                    SweepView(seen, chain.y, schedule.seen_weight * float(chain.precision[6])),
                    chain.g,
                    chain.h,
                    chain.M,
                    chain.Q,
                    chain.precision[4:6],
                )
            )
        if done >= schedule.styles_from and done % schedule.styles_every == 0:
            state = _draw_styles(state, chain, rated, level, schedule.cut_shrinkage)
        state = _draw_precisions(state, chain, schedule.grouped and done >= schedule.effects_from)
        chain.sweeps[0] = done + 1
    chain.stream[0] = state


def _word(state: int) -> np.uint64:
    """Return the state of a random stream in the type that kernels expect."""
    return np.uint64(state)


def _draw_offsets(
    state: np.uint64, chain: Chain, rated: Edges, seen: Edges, with_scales: bool
) -> np.uint64:
    p, x, y = chain.precision.tolist(), chain.x, chain.y
    sides = (
        (draw_row_offsets, chain.b_user, chain.user_means, True),
        (draw_col_offsets, chain.b_item, chain.item_means, False),
    )
    for side, (draw, offsets, all_means, by_user) in enumerate(sides):
        means = np.ascontiguousarray(all_means[:, -1])
        state = _word(draw(state, rated, x, offsets, means, 1.0, p[side]))
        if with_scales:
            word, chain.precision[side] = rescale_offsets(
                state, rated, x, offsets, means, by_user, 1.0, p[side], _FLOOR
            )
            state = _word(word)
    if len(y):
        nothing = np.zeros(max(len(chain.c_user), len(chain.c_item)))
        state = _word(draw_row_offsets(state, seen, y, chain.c_user, nothing, p[6], p[2]))
        state = _word(draw_col_offsets(state, seen, y, chain.c_item, nothing, p[6], p[3]))
    return state


def _draw_factors(state: np.uint64, chain: Chain, data: ChainData, with_scales: bool) -> np.uint64:
    """Draw the factors of both sides, and their scales."""
    P, Q, x = chain.user_factors, chain.item_factors, chain.x
    K = P.shape[1]
    sides = (
        (data.by_user, P, Q, chain.user_means, chain.factor_precision[0]),
        (data.by_item, Q, P, chain.item_means, chain.factor_precision[1]),
    )
    for side, own, others, means, precision in sides:
        square, product = np.empty((K, K)), np.empty(K)
        state = _word(draw_factors(state, side, x, own, others, means, precision, square, product))
        if with_scales:
            state = _word(
                rescale_factors(
                    state, side, x, own, others, means, precision, square, product, _FLOOR
                )
            )
    return state


def _draw_regressions(
    state: np.uint64, chain: Chain, data: ChainData, schedule: Schedule
) -> np.uint64:
    """Draw the links of both sides and the precisions of their factors."""
    sides = (
        (
            data.by_user.ptr,
            data.user_features,
            schedule.user_columns,
            chain.user_factors,
            chain.b_user,
            chain.user_links,
            chain.user_means,
        ),
        (
            data.by_item.ptr,
            data.item_features,
            schedule.item_columns,
            chain.item_factors,
            chain.b_item,
            chain.item_links,
            chain.item_means,
        ),
    )
    for side, (ptr, features, used, factors, offsets, links, means) in enumerate(sides):
        own, of_links = chain.factor_precision[side], chain.factor_precision[2 + side]
        own[-1] = chain.precision[side]
        if used > 0:
            state = _word(
                draw_links(state, ptr, features, used, factors, offsets, own, of_links, links)
            )
            prior_means(features, used, links, means)
            state = _word(draw_link_precisions(state, links, used, _FLOOR, of_links))
        if factors.shape[1]:
            state = _word(draw_column_precisions(state, factors, means, _FLOOR, own))
    return state


def _draw_styles(
    state: np.uint64, chain: Chain, rated: Edges, level: np.ndarray, shrinkage: float
) -> np.uint64:
    table = log_probabilities(chain.cuts)
    state = _word(draw_styles(state, rated, level, chain.z, chain.x, table, chain.style))
    move_cuts(rated, level, chain.z, chain.x, chain.style, shrinkage, chain.cuts)
    return state


def _draw_precisions(state: np.uint64, chain: Chain, with_effects: bool) -> np.uint64:
    values = [
        chain.b_user - chain.user_means[:, -1],
        chain.b_item - chain.item_means[:, -1],
        chain.c_user,
        chain.c_item,
        chain.M.reshape(-1),
        chain.Q.reshape(-1),
        chain.y,
    ]
    for place, own in enumerate(values):
        if with_effects or place not in (4, 5):
            floor = 1.0 if place == 6 else _FLOOR
            word, chain.precision[place] = draw_precision(state, own, floor)
            state = _word(word)
    return state
