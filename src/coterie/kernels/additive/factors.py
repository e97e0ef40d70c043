"""Low-rank term of the additive block model: f_uv gains p_u . q_v, drawn by Gibbs steps.

Letters: K the rank; p (own) and q (others) the factors of the two sides; x the residual of a pair;
mu the prior mean of a node's factors, a regression on its features; lambda_k the prior precision of
factor k around it.

    p_u ~ N(A^-1 (diag(lambda) mu_u + sum_v q_v (x_uv + p_u . q_v)), A^-1),
    A = diag(lambda) + sum_v q_v q_v'

All factors of a node are drawn together, which mixes much faster than one factor at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.additive.distributions import gamma, normal
from coterie.kernels.numba.dispatch import njit

_LEAST_PRECISION = (
    1e-3  # factors beyond 30 are never needed, as the noise of a rating has variance 1
)
_BLOCK = 512  # pairs whose products are added in float32 before they go to float64


class FactorSide(NamedTuple):
    """The pairs of every node of one side."""

    ptr: np.ndarray  # int64, nodes + 1
    other: np.ndarray  # uint32, the node at the other end of each pair
    place: np.ndarray  # int64, where the pair's residual is


@njit(nogil=True, cache=True, fastmath=True)
def _add_products(others, side, begin, end, x, part, A, b):
    """Add sum q q' to A and sum q x to b, over the pairs begin..end of one node.

    Four pairs at a time: A is then read and written once per four products.
    """
    K = others.shape[1]
    for start in range(begin, end, _BLOCK):
        stop = min(start + _BLOCK, end)
        part[:] = 0.0
        e = start
        while e + 4 <= stop:
            q0, q1 = others[side.other[e]], others[side.other[e + 1]]
            q2, q3 = others[side.other[e + 2]], others[side.other[e + 3]]
            x0, x1 = x[side.place[e]], x[side.place[e + 1]]
            x2, x3 = x[side.place[e + 2]], x[side.place[e + 3]]
            for i in range(K):
                row = part[i]
                a0, a1, a2, a3 = q0[i], q1[i], q2[i], q3[i]
                for j in range(K):
                    row[j] += a0 * q0[j] + a1 * q1[j] + a2 * q2[j] + a3 * q3[j]
            last = part[K]
            for j in range(K):
                last[j] += x0 * q0[j] + x1 * q1[j] + x2 * q2[j] + x3 * q3[j]
            e += 4
        while e < stop:
            q0, x0 = others[side.other[e]], x[side.place[e]]
            for i in range(K):
                row = part[i]
                a0 = q0[i]
                for j in range(K):
                    row[j] += a0 * q0[j]
            last = part[K]
            for j in range(K):
                last[j] += x0 * q0[j]
            e += 1
        for i in range(K):
            b[i] += part[K, i]
            for j in range(K):
                A[i, j] += part[i, j]


@njit(nogil=True, cache=True, fastmath=True)
def cholesky(A):
    """Replace the lower triangle of a positive definite A by its Cholesky factor."""
    K = len(A)
    for i in range(K):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i == j:  # rounding must not leave 0 or less
                A[i, i] = math.sqrt(max(total, 1e-10 * A[i, i] + 1e-12))
            else:
                A[i, j] = total / A[j, j]


@njit(nogil=True, cache=True, fastmath=True)
def _condition(u, side, x, own, others, mean, precision, part, A, b):
    """Set A to the Cholesky factor L of node u's precision matrix, and b to L^-1 of its pull."""
    K = own.shape[1]
    A[:] = 0.0
    b[:] = 0.0
    _add_products(others, side, side.ptr[u], side.ptr[u + 1], x, part, A, b)
    for i in range(K):
        for j in range(K):
            b[i] += A[i, j] * own[u, j]
    for i in range(K):
        b[i] += precision[i] * mean[u, i]
        A[i, i] += precision[i]
    cholesky(A)
    for i in range(K):
        for j in range(i):
            b[i] -= A[i, j] * b[j]
        b[i] /= A[i, i]


@njit(nogil=True, cache=True, fastmath=True)
def _solve_transposed(A, b):
    """Replace b by L'^-1 b, L the lower triangle of A."""
    for i in range(len(b) - 1, -1, -1):
        for j in range(i + 1, len(b)):
            b[i] -= A[j, i] * b[j]
        b[i] /= A[i, i]


@njit(nogil=True, cache=True)
def draw_factors(state, side, x, own, others, mean, precision):
    """Draw the factors of every node of one side, and update x. OUT own, x."""
    K = own.shape[1]
    part = np.empty((K + 1, K), np.float32)
    A, b = np.empty((K, K)), np.empty(K)
    step = np.empty(K, np.float32)
    for u in range(len(own)):
        _condition(u, side, x, own, others, mean, precision, part, A, b)
        for i in range(K):
            state, noise = normal(state)
            b[i] += noise
        _solve_transposed(A, b)
        for i in range(K):
            new = np.float32(b[i])
            step[i] = new - own[u, i]
            own[u, i] = new
        _subtract_products(others, side, side.ptr[u], side.ptr[u + 1], step, x)
    return state


@njit(nogil=True, cache=True, fastmath=True)
def factor_posterior(side, x, own, others, mean, precision, root):
    """Return the conditional mean of each node's factors, and the variance that they add to f.

    The variance of p . q is q' A^-1 q. Its mean over the ratings is |L^-1 root|^2, where L L' = A
    and root root' (K x K) is the mean of q q'.
    """
    n, K = own.shape
    part = np.empty((K + 1, K), np.float32)
    A, b, row = np.empty((K, K)), np.empty(K), np.empty(K)
    center, spread = np.empty((n, K), np.float32), np.empty(n, np.float32)
    for u in range(n):
        _condition(u, side, x, own, others, mean, precision, part, A, b)
        _solve_transposed(A, b)
        center[u] = b
        total = 0.0
        for k in range(K):
            for i in range(K):
                row[i] = root[i, k]
                for j in range(i):
                    row[i] -= A[i, j] * row[j]
                row[i] /= A[i, i]
                total += row[i] * row[i]
        spread[u] = total
    return center, spread


@njit(nogil=True, cache=True, fastmath=True)
def _subtract_products(others, side, begin, end, step, x):
    for e in range(begin, end):
        q = others[side.other[e]]
        total = np.float32(0.0)
        for j in range(len(step)):
            total += step[j] * q[j]
        x[side.place[e]] -= total


@njit(nogil=True, cache=True)
def draw_links(state, ptr, features, used, factors, offsets, precision, link_precision, links):
    """Draw the regression of the factors and of the offsets (last column) on features. OUT links.

    The prior mean of factor k of node u is sum_d features[u, d] links[d, k]. The columns of the
    features are orthogonal over the nodes with ratings (IN ptr), so each coefficient is drawn
    alone, from these nodes; the others follow the regression. Columns beyond `used` stay 0.
    IN precision: K + 1, of the factors and of the offsets around their prior means.
    """
    K = factors.shape[1]
    cross, square = np.zeros((used, K + 1)), np.zeros(used)
    for u in range(len(offsets)):
        if ptr[u + 1] == ptr[u]:
            continue
        for d in range(used):
            value = features[u, d]
            square[d] += value * value
            for k in range(K):
                cross[d, k] += value * factors[u, k]
            cross[d, K] += value * offsets[u]
    for k in range(K + 1):
        for d in range(used):
            strength = precision[k] * square[d] + link_precision[k]
            state, noise = normal(state)
            links[d, k] = precision[k] * cross[d, k] / strength + noise / math.sqrt(strength)
    return state


@njit(nogil=True, cache=True)
def prior_means(features, used, links, means):
    """Set means (nodes x (K + 1)) to features @ links."""
    means[:] = 0.0
    for u in range(len(means)):
        for d in range(used):
            value = features[u, d]
            for k in range(means.shape[1]):
                means[u, k] += value * links[d, k]


@njit(nogil=True, cache=True)
def draw_column_precisions(state, values, means, rows, floor, precision):
    """Draw the precision of each column of values - means: Gamma(1 + n/2) / (floor + sum x^2/2).

    A lower bound keeps the scales of the two sides, of which only the product is known, from
    drifting apart.
    """
    K = values.shape[1]
    square = np.zeros(K)
    for u in range(rows):
        for k in range(K):
            gap = values[u, k] - means[u, k]
            square[k] += gap * gap
    for k in range(K):
        state, draw = gamma(state, 1.0 + 0.5 * rows)
        precision[k] = max(draw / (floor + 0.5 * square[k]), _LEAST_PRECISION)
    return state
