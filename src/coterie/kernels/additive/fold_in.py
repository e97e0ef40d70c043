"""Add new users or items to a fitted additive block model, with everything else fixed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.distributions import between, normal
from coterie.kernels.additive.factors import cholesky, solve_lower, solve_upper
from coterie.kernels.additive.response_styles import exact_style_scores
from coterie.kernels.additive.sweep import draw_category, label_weights
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into
from coterie.kernels.numba.random import stream


class OtherSide(NamedTuple):
    """The samples of the side that does not change, and the effects seen from the added nodes."""

    labels: np.ndarray  # uint8, T x nodes x L
    offsets: np.ndarray  # float32, T x nodes
    factors: np.ndarray  # float32, T x nodes x K
    styles: np.ndarray  # uint8, T x nodes; of raters, if items are added
    effects: np.ndarray  # float32, T x L x own groups x other groups
    cuts: np.ndarray  # float32, T x S x (R + 1)
    moments: np.ndarray  # float64, T x K x K: roots of `factor_moments`


class Newcomers(NamedTuple):
    """The ratings of the added nodes, and what is known of them before any rating."""

    number: np.ndarray  # int64, one per node: the seed of its draws
    ptr: np.ndarray  # int64, nodes + 1
    other: np.ndarray  # int64, who is at the other end of each rating
    level: np.ndarray  # uint8
    features: np.ndarray  # float32, nodes x features
    links: np.ndarray  # float32, T x features x (K + 1)
    precisions: np.ndarray  # float32, T: of the offsets
    factor_precisions: np.ndarray  # float32, T x (K + 1)


class Placed(NamedTuple):
    """Labels, offsets, spreads, styles and factors of the added nodes in every sample."""

    labels: np.ndarray  # uint8, T x nodes x L
    offsets: np.ndarray  # float32, T x nodes
    spreads: np.ndarray  # float32, T x nodes
    styles: np.ndarray  # uint8, T x nodes
    factors: np.ndarray  # float32, T x nodes x K


@njit(nogil=True, cache=True)
def fold_in(side, new, own_style, sweeps, begin, end):
    """Draw labels, offset, factors (and style, of users) of nodes begin..end in each sample.

    Each sample starts from the previous one and makes this many sweeps. The draws of a node depend
    on its number only, not on the nodes that are added with it.
    """
    T, L, _, l = side.effects.shape  # noqa: E741
    S, K, count = side.cuts.shape[1], side.factors.shape[2], end - begin
    placed = Placed(
        np.zeros((T, count, L), np.uint8),
        np.zeros((T, count), np.float32),
        np.zeros((T, count), np.float32),
        np.zeros((T, count), np.uint8),
        np.zeros((T, count, K), np.float32),
    )
    states = np.empty(count, np.uint64)
    offset, factors = np.zeros(count), np.zeros((count, K))
    for p in range(count):
        states[p] = stream(new.number[begin + p], 0)
    total, number = np.zeros(l), np.zeros(l)
    style_score = np.zeros(S)
    mean = np.zeros(K + 1)
    A, whole, pull = np.zeros((K, K)), np.zeros((K, K)), np.zeros(K)
    for t in range(T):
        bounds = side.cuts[t].astype(np.float64)
        M = side.effects[t].astype(np.float64)
        M_back = np.ascontiguousarray(M.transpose(0, 2, 1))
        partitions = L if np.any(M != 0.0) else 0  # labels without effects need not be drawn
        for p in range(count):
            node, state = begin + p, states[p]
            a, b = new.ptr[node], new.ptr[node + 1]
            others, levels, n = new.other[a:b], new.level[a:b], b - a
            own, style = placed.labels[t, p], placed.styles[t - 1, p] if t > 0 else np.uint8(0)
            if t > 0:
                copy_into(own, placed.labels[t - 1, p])
            _regression(new.features[node], new.links[t], mean)
            if t == 0:
                offset[p] = mean[K]
                copy_into(factors[p], mean[:K])
            prior, f, x = new.precisions[t], np.empty(n), np.empty(n)
            _locations(side, t, others, offset[p], factors[p], own[:partitions], M, f)
            posterior_root(side.factors[t], others, new.factor_precisions[t], A)
            for _ in range(sweeps):
                if own_style:
                    style_score[:] = 0.0
                    exact_style_scores(levels, f, bounds, style_score)
                    state, drawn = draw_category(state, style_score)
                    style = np.uint8(drawn)
                for e in range(n):
                    c = bounds[style if own_style else side.styles[t, others[e]]]
                    state, x[e] = between(state, c[levels[e]] - f[e], c[levels[e] + 1] - f[e])
                state, noise = normal(state)
                strength = n + prior
                fresh = (x.sum() + n * offset[p] + prior * mean[K]) / strength
                fresh += noise / math.sqrt(strength)
                for e in range(n):
                    x[e] -= fresh - offset[p]
                    f[e] += fresh - offset[p]
                offset[p] = fresh
                for s in range(partitions):
                    labels = side.labels[t, :, s]
                    state, own[s] = _draw_label(
                        state, labels, others, M[s], M_back[s], own[s], total, number, x, f
                    )
                if K > 0:
                    _pull(side.factors[t], others, x, factors[p], mean, new, t, pull)
                    _solve(A, pull)
                    copy_into(placed.factors[t, p], pull)
                    for i in range(K):
                        state, pull[i] = normal(state)
                    solve_upper(A, pull)
                    for i in range(K):
                        pull[i] += placed.factors[t, p, i] - factors[p, i]
                        factors[p, i] += pull[i]
                    _move(side.factors[t], others, pull, x, f)
            if K > 0:
                _pull(side.factors[t], others, x, factors[p], mean, new, t, pull)
                _solve(A, pull)
                copy_into(placed.factors[t, p], pull)
            placed.styles[t, p] = style
            pulled = x.sum() + n * offset[p] + prior * mean[K]
            placed.offsets[t, p] = pulled / (n + prior)
            placed.spreads[t, p] = 1.0 / (n + prior) + _added_variance(A, side.moments[t], whole)
            states[p] = state
    return placed


@njit(nogil=True, cache=True)
def _locations(side, t, others, offset, factors, own, M, f):
    """Set f to the locations of a node's ratings in sample t. OUT f."""
    for e in range(len(others)):
        f[e] = offset + side.offsets[t, others[e]]
        for i in range(len(factors)):
            f[e] += factors[i] * side.factors[t, others[e], i]
        for s in range(len(own)):
            f[e] += M[s, own[s], side.labels[t, others[e], s]]


@njit(nogil=True, cache=True)
def _draw_label(state, labels, others, M, M_back, old, total, number, x, f):
    """Draw a node's label in one partition; return (state, label). OUT total, number, x, f."""
    total[:] = 0.0
    number[:] = 0.0
    for e in range(len(others)):
        j = labels[others[e]]
        total[j] += x[e] + M[old, j]
        number[j] += 1.0
    score = np.zeros(len(M))
    label_weights(total, number, M_back, 1.0, score)
    state, drawn = draw_category(state, score)
    if drawn != old:
        for e in range(len(others)):
            step = M[drawn, labels[others[e]]] - M[old, labels[others[e]]]
            x[e] -= step
            f[e] += step
    return state, drawn


@njit(nogil=True, cache=True)
def _move(factors, others, step, x, f):
    """Move the locations of a node whose factors change by `step`. OUT x, f."""
    for e in range(len(others)):
        change = 0.0
        for i in range(len(step)):
            change += step[i] * factors[others[e], i]
        x[e] -= change
        f[e] += change


@njit(nogil=True, cache=True)
def factor_moments(factors):
    """Return a root of the mean of q q' over all nodes in every sample: T x K x K.

    Each root R is a lower triangle, R R' = mean of q q'.
    """
    T, n, K = factors.shape
    roots, moment = np.zeros((T, K, K)), np.zeros((K, K))
    for t in range(T):
        moment[:] = 0.0
        for v in range(n):
            q = factors[t, v]
            for i in range(K):
                for j in range(i, K):
                    moment[i, j] += q[i] * q[j]
        for i in range(K):
            for j in range(i, K):
                moment[i, j] /= max(n, 1)
        cholesky(moment)
        for i in range(K):
            for j in range(i + 1):
                roots[t, i, j] = moment[j, i]
    return roots


@njit(nogil=True, cache=True, fastmath=True)
def _regression(features, links, mean):
    """Set mean to features . links; the inner loop reads memory in order."""
    mean[:] = 0.0
    for d in range(len(features)):
        value = np.float64(features[d])
        for i in range(len(mean)):
            mean[i] += value * links[d, i]


@njit(nogil=True, cache=True, fastmath=True)
def posterior_root(factors, others, precision, A):
    """Set the upper triangle of A to the Cholesky factor of diag(precision) + sum q q'."""
    K = len(A)
    A[:] = 0.0
    for e in range(len(others)):
        q = factors[others[e]]
        for i in range(K):
            row, times = A[i], np.float64(q[i])
            for j in range(i, K):
                row[j] += times * q[j]
    for i in range(K):
        A[i, i] += precision[i]
    cholesky(A)


@njit(nogil=True, cache=True, fastmath=True)
def _pull(factors, others, x, own, mean, new, t, pull):
    """Set pull to diag(precision) mean + sum q (x + own . q)."""
    K = len(pull)
    for i in range(K):
        pull[i] = new.factor_precisions[t, i] * mean[i]
    for e in range(len(others)):
        q = factors[others[e]]
        whole = x[e]
        for i in range(K):
            whole += own[i] * q[i]
        for i in range(K):
            pull[i] += whole * q[i]


@njit(nogil=True, cache=True)
def _solve(A, b):
    """Replace b by (U' U)^-1 b."""
    solve_lower(A, b)
    solve_upper(A, b)


@njit(nogil=True, cache=True, fastmath=True)
def _added_variance(U, root, X):
    """Return |U'^-1 root|^2: the mean variance of p . q over the other side.

    root is a lower triangle, so X = U'^-1 root is one too. OUT X: memory for it.
    """
    K, total = len(U), 0.0
    for i in range(K):
        row, scale = X[i], 1.0 / U[i, i]
        for k in range(i + 1):
            row[k] = root[i, k]
        for j in range(i):
            above, times = X[j], U[j, i]
            for k in range(j + 1):
                row[k] -= times * above[k]
        for k in range(i + 1):
            row[k] *= scale
            total += row[k] * row[k]
    return total
