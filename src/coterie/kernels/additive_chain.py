"""A chain of the additive block model: its state, and the sweeps that move it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from coterie.kernels.additive_styles import draw_styles, log_chances, move_cuts
from coterie.kernels.additive_sweep import (
    Sums,
    col_sums,
    draw_col_offsets,
    draw_effects,
    draw_labels,
    draw_latent,
    draw_precision,
    draw_row_offsets,
    relabel_cols,
    relabel_rows,
    row_sums,
    subtract,
)


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
    n, m = chain.g.shape[1], chain.h.shape[1]
    user_rated = Sums(np.empty((n, l)), np.empty((n, l)))
    user_seen = Sums(np.empty((n, l)), np.empty((n, l)))
    item_rated = Sums(np.empty((m, k)), np.empty((m, k)))
    item_seen = Sums(np.empty((m, k)), np.empty((m, k)))
    fresh_g, fresh_h = np.empty(n, np.uint8), np.empty(m, np.uint8)
    M_step, Q_step = np.zeros((k, l), np.float32), np.zeros((k, l), np.float32)
    last = 0
    for s in range(L):
        g, h, M, Q = chain.g[s], chain.h[s], chain.M[s], chain.Q[s]
        g_last, h_last = chain.g[last], chain.h[last]
        row_sums(rated, chain.x, M_step, g_last, h_last, h, user_rated)
        row_sums(seen, chain.y, Q_step, g_last, h_last, h, user_seen)
        M_back, Q_back = np.ascontiguousarray(M.T), np.ascontiguousarray(Q.T)
        state = draw_labels(state, user_rated, M_back, user_seen, Q_back, seen_weight, g, fresh_g)
        relabel_rows(rated, chain.x, M, g, fresh_g, h)
        relabel_rows(seen, chain.y, Q, g, fresh_g, h)
        g[:] = fresh_g
        col_sums(rated, chain.x, g, item_rated)
        col_sums(seen, chain.y, g, item_seen)
        state = draw_labels(state, item_rated, M, item_seen, Q, seen_weight, h, fresh_h)
        relabel_cols(rated, chain.x, M, h, fresh_h, g)
        relabel_cols(seen, chain.y, Q, h, fresh_h, g)
        h[:] = fresh_h
        state = draw_effects(state, item_rated, h, 1.0, chain.precision[4], M, M_step)
        state = draw_effects(state, item_seen, h, seen_weight, chain.precision[5], Q, Q_step)
        last = s
    subtract(rated, chain.x, M_step, chain.g[last], chain.h[last])
    subtract(seen, chain.y, Q_step, chain.g[last], chain.h[last])
    return state


@njit(nogil=True, cache=True)
def _draw_precisions(state, chain, with_effects):
    p = chain.precision
    state, p[0] = draw_precision(state, chain.b_user, 0.3)
    state, p[1] = draw_precision(state, chain.b_item, 0.3)
    state, p[2] = draw_precision(state, chain.c_user, 0.1)
    state, p[3] = draw_precision(state, chain.c_item, 0.1)
    if with_effects:
        state, p[4] = draw_precision(state, chain.M, 0.01)
        state, p[5] = draw_precision(state, chain.Q, 0.01)
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
        seen_weight = schedule.seen_weight * chain.precision[6]
        state = _draw_partitions(state, chain, rated, seen, seen_weight)
        if done >= schedule.styles_from and done % schedule.styles_every == 0:
            table = log_chances(chain.cuts)
            state = draw_styles(state, rated, code, chain.z, chain.x, table, chain.style)
            move_cuts(rated, code, chain.z, chain.x, chain.style, schedule.hold, chain.cuts)
        state = _draw_precisions(state, chain, done >= schedule.effects_from)
        chain.sweeps[0] = done + 1
    chain.stream[0] = state
