"""One sweep of the additive block model's Gibbs sampler: offsets, labels, effects, latent values.

Letters: u, v user (row) and item (column); e the position of a pair in user order; s a partition;
i, j user and item group; g, h their labels; M (ratings) or Q (presence) the L x k x l effects;
b the offsets; x the residual of a pair, its latent value minus everything the model predicts.

Both kinds of observation, ratings and presence (who rated what), have the same form: pairs in user
order with one residual per pair (`SweepView`). The update of a partition reads each pair once, in
that order: it draws the label of a user while its residuals are in cache, and adds up per item what
the item labels and the effects need. Nothing reads the pairs in item order, because a large table
would not fit the cache.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.distributions import between, gamma, normal
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import uniform

# Bounds of a precision whose scale is drawn, and the number of slice sampling steps per draw
_LEAST_PRECISION, _MOST_PRECISION, _SLICES = 1e-3, 1e6, 3


class Edges(NamedTuple):
    """Observed pairs in user order."""

    row_ptr: np.ndarray  # int64, users + 1
    col: np.ndarray  # uint32, pair -> item


class SweepView(NamedTuple):
    """One kind of observation: its pairs, their residuals and its weight."""

    edges: Edges
    x: np.ndarray  # float32, residual of each pair
    weight: float


class PendingPartition(NamedTuple):
    """A partition whose effects are drawn but not yet subtracted from the residuals."""

    g: np.ndarray
    h: np.ndarray
    M: np.ndarray  # float64, k x l; zeros if there is nothing to subtract
    Q: np.ndarray


@njit(nogil=True, cache=True)
def draw_latent(state, edges, level, style, cuts, z, x):
    """Draw z from N(f, 1) truncated to the rating's interval; f = z - x is kept. OUT z, x."""
    for u in range(len(edges.row_ptr) - 1):
        mine = cuts[style[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            r = level[e]
            f = z[e] - x[e]
            state, noise = between(state, mine[r] - f, mine[r + 1] - f)
            x[e] = noise
            z[e] = f + noise
    return state


@njit(nogil=True, cache=True)
def draw_row_offsets(state, edges, x, b, mean, weight, precision):
    """Draw b_u ~ N((sum(x + b) w + mean precision) / (n w + precision), 1 / (n w + precision)).

    mean: prior mean of each offset. OUT b, x.
    """
    for u in range(len(edges.row_ptr) - 1):
        begin, end = edges.row_ptr[u], edges.row_ptr[u + 1]
        total = 0.0
        for e in range(begin, end):
            total += x[e]
        state, new = _offset(state, total, end - begin, b[u], mean[u], weight, precision)
        step = np.float32(b[u] - new)
        b[u] = new
        for e in range(begin, end):
            x[e] += step
    return state


@njit(nogil=True, cache=True)
def draw_col_offsets(state, edges, x, b, mean, weight, precision):
    """Draw the offsets of items in the same way, also reading the pairs in user order."""
    total, count = np.zeros(len(b)), np.zeros(len(b))
    for e in range(len(x)):
        total[edges.col[e]] += x[e]
        count[edges.col[e]] += 1.0
    step = np.empty(len(b), np.float32)
    for v in range(len(b)):
        state, new = _offset(state, total[v], count[v], b[v], mean[v], weight, precision)
        step[v] = b[v] - new
        b[v] = new
    for e in range(len(x)):
        x[e] += step[edges.col[e]]
    return state


@njit(forceinline=True, cache=True)
def _offset(state, total, n, old, mean, weight, precision):
    strength = n * weight + precision
    pull = (total + n * old) * weight + mean * precision
    state, noise = normal(state)
    return state, pull / strength + noise / math.sqrt(strength)


@njit(nogil=True, cache=True)
def draw_scale(state, square, product, precision, floor):
    """Draw the factor c by which values d are multiplied while their precision is divided by c^2.

    A draw of d given its precision and of the precision given d changes the scale of weakly
    determined values by a few per cent only. Along this direction the density of c, with respect
    to d(log c), is c^-2 exp(-floor precision / c^2 - square (c - 1)^2 / 2 + product (c - 1)):
    `square` is the sum of the squared effects of d on the residuals, `product` that of the effects
    times the residuals. Slice sampling in log c, between fixed bounds of the precision.
    """
    low, high = (
        0.5 * math.log(precision / _MOST_PRECISION),
        0.5 * math.log(precision / _LEAST_PRECISION),
    )
    if not low < 0.0 < high:
        return state, 1.0
    now = 0.0
    for _ in range(_SLICES):
        c = math.exp(now)
        gap = c - 1.0
        here = -2.0 * now - floor * precision / (c * c) - gap * (0.5 * square * gap - product)
        state, u = uniform(state)
        level = here + math.log(max(u, 1e-300))
        left, right = low, high
        while True:
            state, u = uniform(state)
            new = left + u * (right - left)
            c = math.exp(new)
            gap = c - 1.0
            there = -2.0 * new - floor * precision / (c * c) - gap * (0.5 * square * gap - product)
            if there >= level or right - left < 1e-9:
                break
            if new < now:
                left = new
            else:
                right = new
        now = new
    return state, math.exp(now)


@njit(nogil=True, cache=True)
def rescale_offsets(state, edges, x, b, mean, by_user, weight, precision, floor):
    """Draw the scale of the offsets around their prior means. OUT b, x; returns the new precision.

    Noise of the residuals has the precision `weight`.
    """
    square, product = 0.0, 0.0
    for u in range(len(edges.row_ptr) - 1):
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            node = u if by_user else edges.col[e]
            gap = b[node] - mean[node]
            square += gap * gap
            product += gap * x[e]
    state, c = draw_scale(state, weight * square, weight * product, precision, floor)
    step = np.empty(len(b), np.float32)
    for node in range(len(b)):
        gap = b[node] - mean[node]
        b[node] = mean[node] + c * gap
        step[node] = (1.0 - c) * gap
    for u in range(len(edges.row_ptr) - 1):
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            x[e] += step[u if by_user else edges.col[e]]
    return state, precision / (c * c)


@njit(nogil=True, cache=True)
def subtract(edges, x, M, g, h):
    """Subtract M[g_u, h_v] from x for every pair."""
    for u in range(len(edges.row_ptr) - 1):
        mine = M[g[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            x[e] -= mine[h[edges.col[e]]]


@njit(nogil=True, cache=True)
def gather(view, u, pending, h_pending, own, h, total, count):
    """Sum one user's residuals by item label, with this partition's effects added back.

    IN pending: the effects of the previous partition, not yet subtracted; own: those of this
    partition. Both are the user's rows. OUT x, total, count.
    """
    total[:] = 0.0
    count[:] = 0.0
    for e in range(view.edges.row_ptr[u], view.edges.row_ptr[u + 1]):
        v = view.edges.col[e]
        j = h[v]
        left = view.x[e] - pending[h_pending[v]] + own[j]
        view.x[e] = left
        total[j] += left
        count[j] += 1.0


@njit(nogil=True, cache=True)
def scatter(view, u, items):
    """Add one user's residuals to the items' sums over users of the same label.

    OUT items: sum and count of each item.
    """
    for e in range(view.edges.row_ptr[u], view.edges.row_ptr[u + 1]):
        item = items[view.edges.col[e]]
        item[0] += view.x[e]
        item[1] += 1.0


@njit(nogil=True, cache=True)
def label_weights(total, count, M, weight, score):
    """Add weight * sum_j (total_j M_ji - count_j M_ji^2 / 2) to score_i. OUT score.

    M: labels of the other side x own labels, so that the inner loop reads memory in order.
    """
    for j in range(M.shape[0]):
        if count[j] == 0.0:
            continue
        pull, drag = weight * total[j], -0.5 * weight * count[j]
        for i in range(M.shape[1]):
            score[i] += M[j, i] * (pull + drag * M[j, i])


@njit(nogil=True, cache=True)
def draw_category(state, score):
    """Return (new state, i) with P(i) proportional to exp(score_i); score is overwritten."""
    top, whole = score[0], 0.0
    for i in range(1, len(score)):
        top = max(top, score[i])
    for i in range(len(score)):
        if score[i] > top - 30.0:  # the rest weighs less than 1e-13
            whole += math.exp(score[i] - top)
        score[i] = whole
    state, u = uniform(state)
    for i in range(len(score) - 1):
        if u * whole < score[i]:
            return state, i
    return state, len(score) - 1


@njit(nogil=True, cache=True)
def draw_user_labels(state, rated, M, seen, Q, pending, g, h, rated_sums, seen_sums):
    """Draw every user's label in one partition, and compute the sums that the items need.

    IN M, Q: the partition's effects, k x l; pending: the previous partition. OUT g; OUT x of both
    views, without this partition's effects; OUT sums: k x items x 2, sum and count.
    """
    k, l = M.shape  # noqa: E741
    M_back, Q_back = np.ascontiguousarray(M.T), np.ascontiguousarray(Q.T)
    total, count, score = np.empty(l), np.empty(l), np.empty(k)
    rated_sums[:] = 0.0
    seen_sums[:] = 0.0
    for u in range(len(g)):
        score[:] = 0.0
        before = pending.g[u]
        gather(rated, u, pending.M[before], pending.h, M[g[u]], h, total, count)
        label_weights(total, count, M_back, rated.weight, score)
        gather(seen, u, pending.Q[before], pending.h, Q[g[u]], h, total, count)
        label_weights(total, count, Q_back, seen.weight, score)
        state, new = draw_category(state, score)
        g[u] = new
        scatter(rated, u, rated_sums[new])
        scatter(seen, u, seen_sums[new])
    return state


@njit(nogil=True, cache=True)
def draw_item_labels(state, rated_sums, M, rated_weight, seen_sums, Q, seen_weight, h):
    """Draw every item's label from its sums by user label. OUT h."""
    score = np.empty(M.shape[1])
    for v in range(len(h)):
        score[:] = 0.0
        label_weights(rated_sums[:, v, 0], rated_sums[:, v, 1], M, rated_weight, score)
        label_weights(seen_sums[:, v, 0], seen_sums[:, v, 1], Q, seen_weight, score)
        state, new = draw_category(state, score)
        h[v] = new
    return state


@njit(nogil=True, cache=True)
def draw_effects(state, sums, h, weight, precision, M):
    """Draw M_ij ~ N(S w / (n w + precision), 1 / (n w + precision)), S the items' sums. OUT M."""
    k, l = M.shape  # noqa: E741
    total = np.zeros((k, l))
    count = np.zeros((k, l))
    for i in range(k):
        for v in range(len(h)):
            total[i, h[v]] += sums[i, v, 0]
            count[i, h[v]] += sums[i, v, 1]
    for i in range(k):
        for j in range(l):
            strength = count[i, j] * weight + precision
            state, noise = normal(state)
            M[i, j] = total[i, j] * weight / strength + noise / math.sqrt(strength)
    return state


@njit(nogil=True, cache=True)
def draw_partitions(state, rated, seen, g, h, M, Q, precision):
    """Draw labels and effects of all partitions, one after the other. OUT g, h, M, Q, x.

    IN precision: of the effects on ratings and on presence.
    """
    L, k, l = M.shape  # noqa: E741
    m = h.shape[1]
    of_ratings, of_presence = np.empty((k, m, 2)), np.empty((k, m, 2))
    nothing = np.zeros((k, l))
    pending = PendingPartition(g[0], h[0], nothing, nothing)
    for s in range(L):
        state = draw_user_labels(
            state, rated, M[s], seen, Q[s], pending, g[s], h[s], of_ratings, of_presence
        )
        state = draw_item_labels(
            state, of_ratings, M[s], rated.weight, of_presence, Q[s], seen.weight, h[s]
        )
        state = draw_effects(state, of_ratings, h[s], rated.weight, precision[0], M[s])
        state = draw_effects(state, of_presence, h[s], seen.weight, precision[1], Q[s])
        pending = PendingPartition(g[s], h[s], M[s], Q[s])
    subtract(rated.edges, rated.x, pending.M, pending.g, pending.h)
    subtract(seen.edges, seen.x, pending.Q, pending.g, pending.h)
    return state


@njit(nogil=True, cache=True)
def draw_precision(state, values, floor):
    """Draw the precision of these values (1-D): Gamma(1 + n / 2) / (floor + sum x^2 / 2)."""
    square = 0.0
    for i in range(len(values)):
        square += values[i] * values[i]
    state, draw = gamma(state, 1.0 + 0.5 * len(values))
    return state, draw / (floor + 0.5 * square)
