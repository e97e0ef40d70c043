"""A chain of the additive block model: its state, and the sweeps that move it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from coterie.kernels.additive.response_styles import draw_styles, log_chances, move_cuts
from coterie.kernels.additive.sweep import (
    Last,
    SweepView,
    draw_col_offsets,
    draw_effects,
    draw_item_labels,
    draw_latent,
    draw_precision,
    draw_row_offsets,
    draw_user_labels,
    subtract,
)

# The prior of a precision is exp(-_FLOOR * precision): weak, so that what carries nothing shrinks.
_FLOOR = 0.001


class Chain(NamedTuple):
    """Everything a sweep changes. Arrays of one element are scalars that live on."""

    stream: np.ndarray  # uint64, 1: the random stream's state
    sweeps: np.ndarray  # int64, 1: sweeps done
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
    z: np.ndarray  # float32, rated edges: latent value
    x: np.ndarray  # float32, rated edges: its residual
    y: np.ndarray  # float32, presence edges: residual


class Schedule(NamedTuple):
    """When and how strongly the parts of the model are moved."""

    seen_weight: float  # weight of presence beside ratings in the choice of labels and effects
    effects_from: int  # sweep from which the precision of effects is drawn
    styles_from: int  # sweep from which styles are drawn …
    styles_every: int  # … and how often
    hold: float  # how strongly a style's cutpoints are held to the mean style
    grouped: bool  # whether labels and effects are drawn at all


@njit(nogil=True, cache=True)
def _draw_offsets(state, chain, rated, seen, tau):
    p = chain.precision
    state = draw_row_offsets(state, rated, chain.x, chain.b_user, 1.0, p[0])
    state = draw_col_offsets(state, rated, chain.x, chain.b_item, 1.0, p[1])
    state = draw_row_offsets(state, seen, chain.y, chain.c_user, tau, p[2])
    return draw_col_offsets(state, seen, chain.y, chain.c_item, tau, p[3])


@njit(nogil=True, cache=True)
def _draw_partitions(state, chain, rated, seen, seen_weight):
    L, k, l = chain.M.shape  # noqa: E741
    m = chain.h.shape[1]
    ratings, presence = SweepView(rated, chain.x, 1.0), SweepView(seen, chain.y, seen_weight)
    of_ratings, of_presence = np.empty((k, m, 2)), np.empty((k, m, 2))
    nothing = np.zeros((k, l))
    last = Last(chain.g[0], chain.h[0], nothing, nothing)
    for s in range(L):
        g, h, M, Q = chain.g[s], chain.h[s], chain.M[s], chain.Q[s]
        state = draw_user_labels(
            state, ratings, M, presence, Q, last, g, h, of_ratings, of_presence
        )
        state = draw_item_labels(state, of_ratings, M, 1.0, of_presence, Q, seen_weight, h)
        state = draw_effects(state, of_ratings, h, 1.0, chain.precision[4], M)
        state = draw_effects(state, of_presence, h, seen_weight, chain.precision[5], Q)
        last = Last(g, h, M, Q)
    subtract(rated, chain.x, last.M, last.g, last.h)
    subtract(seen, chain.y, last.Q, last.g, last.h)
    return state


@njit(nogil=True, cache=True)
def _draw_precisions(state, chain, with_effects):
    p = chain.precision
    state, p[0] = draw_precision(state, chain.b_user, _FLOOR)
    state, p[1] = draw_precision(state, chain.b_item, _FLOOR)
    state, p[2] = draw_precision(state, chain.c_user, _FLOOR)
    state, p[3] = draw_precision(state, chain.c_item, _FLOOR)
    if with_effects:
        state, p[4] = draw_precision(state, chain.M, _FLOOR)
        state, p[5] = draw_precision(state, chain.Q, _FLOOR)
    state, p[6] = draw_precision(state, chain.y, 1.0)
    return state


@njit(nogil=True, cache=True)
def advance(chain, rated, code, seen, schedule, sweeps):
    """Run `sweeps` sweeps of one chain, in place."""
    state = chain.stream[0]
    for _ in range(sweeps):
        done = chain.sweeps[0]
        state = draw_latent(state, rated, code, chain.style, chain.cuts, chain.z, chain.x)
        for _again in range(3 if done == 0 else 1):
            state = _draw_offsets(state, chain, rated, seen, chain.precision[6])
        if schedule.grouped:
            seen_weight = schedule.seen_weight * chain.precision[6]
            state = _draw_partitions(state, chain, rated, seen, seen_weight)
        if done >= schedule.styles_from and done % schedule.styles_every == 0:
            table = log_chances(chain.cuts)
            state = draw_styles(state, rated, code, chain.z, chain.x, table, chain.style)
            move_cuts(rated, code, chain.z, chain.x, chain.style, schedule.hold, chain.cuts)
        state = _draw_precisions(state, chain, schedule.grouped and done >= schedule.effects_from)
        chain.sweeps[0] = done + 1
    chain.stream[0] = state
