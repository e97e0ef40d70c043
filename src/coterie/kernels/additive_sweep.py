"""One sweep of the additive block model's Gibbs sampler: offsets, labels, effects, latent values.

Letters: u, v user (row) and item (column); e an edge's place in user order; s a partition;
i, j user and item group; g, h their labels; M (ratings) or Q (presence) the L x k x l effects;
b the offsets; x an edge's residual, its latent value minus everything the model says.

Both observations, the rating and the presence of one, have the same shape: edges seen from both
sides and a residual an edge (`Edges`). A partition's new effects are subtracted while the next
partition's sums are formed, so that each partition reads every edge once from each side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from coterie.kernels.additive_normal import between, gamma, normal
from coterie.kernels.random import uniform


class Edges(NamedTuple):
    """Observed pairs in user order, and the way to walk them in item order."""

    row_ptr: np.ndarray  # int64, users + 1
    col: np.ndarray  # uint32, edge -> item
    col_ptr: np.ndarray  # int64, items + 1
    row: np.ndarray  # uint32, edge in item order -> user
    place: np.ndarray  # uint32, edge in item order -> its place in user order


class Sums(NamedTuple):
    """Of each node's residuals, by the label at the other end."""

    total: np.ndarray  # float64, nodes x labels
    count: np.ndarray  # type: ignore[assignment]  # float64, nodes x labels


@njit(nogil=True, cache=True)
def draw_latent(state, edges, code, style, cuts, z, x):
    """z from N(f, 1) cut to the rating's interval, with f = z - x before and after. OUT z, x."""
    for u in range(len(edges.row_ptr) - 1):
        mine = cuts[style[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            r = code[e]
            f = z[e] - x[e]
            state, noise = between(state, mine[r] - f, mine[r + 1] - f)
            x[e] = noise
            z[e] = f + noise
    return state


@njit(nogil=True, cache=True)
def draw_row_offsets(state, edges, x, b, weight, precision):
    """b_u ~ N(sum(x + b) w / (n w + precision), 1 / (n w + precision)); x follows."""
    for u in range(len(edges.row_ptr) - 1):
        begin, end = edges.row_ptr[u], edges.row_ptr[u + 1]
        total = 0.0
        for e in range(begin, end):
            total += x[e]
        state, new = _offset(state, total, end - begin, b[u], weight, precision)
        step = np.float32(b[u] - new)
        b[u] = new
        for e in range(begin, end):
            x[e] += step
    return state


@njit(nogil=True, cache=True)
def draw_col_offsets(state, edges, x, b, weight, precision):
    """The same for items."""
    for v in range(len(edges.col_ptr) - 1):
        begin, end = edges.col_ptr[v], edges.col_ptr[v + 1]
        total = 0.0
        for t in range(begin, end):
            total += x[edges.place[t]]
        state, new = _offset(state, total, end - begin, b[v], weight, precision)
        step = np.float32(b[v] - new)
        b[v] = new
        for t in range(begin, end):
            x[edges.place[t]] += step
    return state


@njit(inline="always", cache=True)
def _offset(state, total, n, old, weight, precision):
    strength = n * weight + precision
    state, noise = normal(state)
    return state, (total + n * old) * weight / strength + noise / math.sqrt(strength)


@njit(nogil=True, cache=True)
def subtract(edges, x, step, g, h):
    """x -= step[g_u, h_v] on every edge."""
    for u in range(len(edges.row_ptr) - 1):
        mine = step[g[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            x[e] -= mine[h[edges.col[e]]]


@njit(nogil=True, cache=True)
def row_sums(edges, x, step, g_last, h_last, h, sums):
    """Subtract the last partition's change of effects; OUT sums of x by user and item label."""
    total, count = sums
    total[:] = 0.0
    count[:] = 0.0
    for u in range(len(edges.row_ptr) - 1):
        mine = step[g_last[u]]
        for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
            v = edges.col[e]
            left = x[e] - mine[h_last[v]]
            x[e] = left
            j = h[v]
            total[u, j] += left
            count[u, j] += 1.0


@njit(nogil=True, cache=True)
def col_sums(edges, x, g, sums):
    """OUT sums of x by item and user label."""
    total, count = sums
    total[:] = 0.0
    count[:] = 0.0
    for v in range(len(edges.col_ptr) - 1):
        for t in range(edges.col_ptr[v], edges.col_ptr[v + 1]):
            i = g[edges.row[t]]
            total[v, i] += x[edges.place[t]]
            count[v, i] += 1.0


@njit(nogil=True, cache=True)
def label_weights(total, count, M, weight, score):
    """score_i += weight * sum_j (total_j M_ji - count_j M_ji^2 / 2). OUT score.

    M: labels of the other side x own labels, so that the inner loop runs along memory.
    """
    for j in range(M.shape[0]):
        pull, drag = weight * total[j], -0.5 * weight * count[j]
        for i in range(M.shape[1]):
            score[i] += M[j, i] * (pull + drag * M[j, i])


@njit(nogil=True, cache=True)
def draw_category(state, score):
    """(new state, i with probability proportional to exp(score_i)); score is overwritten."""
    top = score.max()
    whole = 0.0
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
def draw_labels(state, rated, M, seen, Q, seen_weight, label, fresh):
    """New labels of every node of one side, given both observations. OUT fresh.

    IN rated, seen: sums that still lack the partition's own effects; they are completed here.
    M, Q: labels of the other side x own labels.
    """
    score = np.empty(M.shape[1])
    for a in range(len(label)):
        old = label[a]
        for j in range(M.shape[0]):
            rated.total[a, j] += rated.count[a, j] * M[j, old]
            seen.total[a, j] += seen.count[a, j] * Q[j, old]
        score[:] = 0.0
        label_weights(rated.total[a], rated.count[a], M, 1.0, score)
        label_weights(seen.total[a], seen.count[a], Q, seen_weight, score)
        state, new = draw_category(state, score)
        fresh[a] = new
    return state


@njit(nogil=True, cache=True)
def relabel_rows(edges, x, M, old, new, h):
    """Residuals after users moved from label `old` to `new`."""
    for u in range(len(old)):
        if old[u] != new[u]:
            step = (M[old[u]] - M[new[u]]).astype(np.float32)
            for e in range(edges.row_ptr[u], edges.row_ptr[u + 1]):
                x[e] += step[h[edges.col[e]]]


@njit(nogil=True, cache=True)
def relabel_cols(edges, x, M, old, new, g):
    """Residuals after items moved from label `old` to `new`."""
    for v in range(len(old)):
        if old[v] != new[v]:
            step = (M[:, old[v]] - M[:, new[v]]).astype(np.float32)
            for t in range(edges.col_ptr[v], edges.col_ptr[v + 1]):
                x[edges.place[t]] += step[g[edges.row[t]]]


@njit(nogil=True, cache=True)
def draw_effects(state, sums, h, weight, precision, M, step):
    """M_ij ~ N(S w / (n w + precision), 1 / (n w + precision)) from the items' completed sums.

    OUT M; OUT step: new minus old, still to be subtracted from the residuals.
    """
    k, l = M.shape  # noqa: E741
    total = np.zeros((k, l))
    count = np.zeros((k, l))
    for v in range(len(h)):
        for i in range(k):
            total[i, h[v]] += sums.total[v, i]
            count[i, h[v]] += sums.count[v, i]
    for i in range(k):
        for j in range(l):
            strength = count[i, j] * weight + precision
            state, noise = normal(state)
            new = total[i, j] * weight / strength + noise / math.sqrt(strength)
            step[i, j] = new - M[i, j]
            M[i, j] = new
    return state


@njit(nogil=True, cache=True)
def draw_precision(state, values, floor):
    """Gamma(1 + n / 2) / (floor + sum x^2 / 2): the precision of a prior, given what it governs."""
    square = 0.0
    for x in values.flat:
        square += x * x
    state, draw = gamma(state, 1.0 + 0.5 * values.size)
    return state, draw / (floor + 0.5 * square)
