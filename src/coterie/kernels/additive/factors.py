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
from coterie.kernels.additive.sweep import draw_scale
from coterie.kernels.numba.compile import njit

_LEAST_PRECISION = (
    1e-3  # factors beyond 30 are never needed, as the noise of a rating has variance 1
)
_BLOCK = 512  # pairs whose products are added in float32 before they go to float64
_LANES = 8  # nodes whose equations are solved at once: one vector instruction serves all of them


class FactorSide(NamedTuple):
    """The pairs of every node of one side."""

    ptr: np.ndarray  # int64, nodes + 1
    other: np.ndarray  # uint32, the node at the other end of each pair
    place: np.ndarray  # uint32, where the pair's residual is


class NodeBatch(NamedTuple):
    """Memory for the equations of a batch of nodes."""

    part: np.ndarray  # float32, (K + 1) x K
    A: np.ndarray  # float64, K x K: of one node
    pull: np.ndarray  # float64, K: of one node
    U: np.ndarray  # float64, K x K x lanes
    b: np.ndarray  # float64, K x lanes
    moments: np.ndarray  # float32, lanes x K x K: sum of q q' of each node
    pulls: np.ndarray  # float64, lanes x K: sum of q (x + p . q)


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
    """Replace the upper triangle of a positive definite A by U, with U' U = A.

    Every inner loop reads one row in order, so that compilers vectorise it.
    """
    K = len(A)
    for j in range(K):
        pivot = A[j]
        scale = 1.0 / math.sqrt(max(pivot[j], 1e-12))  # rounding must not leave 0 or less
        for c in range(j, K):
            pivot[c] *= scale
        for i in range(j + 1, K):
            row, times = A[i], pivot[i]
            for c in range(i, K):
                row[c] -= times * pivot[c]


@njit(nogil=True, cache=True, fastmath=True)
def solve_lower(U, b):
    """Replace b by U'^-1 b."""
    K = len(b)
    for j in range(K):
        row = U[j]
        known = b[j] / row[j]
        b[j] = known
        for i in range(j + 1, K):
            b[i] -= row[i] * known


@njit(nogil=True, cache=True, fastmath=True)
def solve_upper(U, b):
    """Replace b by U^-1 b."""
    K = len(b)
    for i in range(K - 1, -1, -1):
        row = U[i]
        total = b[i]
        for j in range(i + 1, K):
            total -= row[j] * b[j]
        b[i] = total / row[i]


@njit(nogil=True, cache=True)
def solve(A, b):
    """Replace b by A^-1 b; A is positive definite, and its upper half is overwritten. OUT A, b."""
    cholesky(A)
    solve_lower(A, b)
    solve_upper(A, b)


@njit(nogil=True, cache=True, fastmath=True)
def _decompose(A):
    """Replace the upper triangles of a batch, K x K x lanes, by Cholesky factors U, U' U = A.

    The diagonals become 1 / U_jj.
    """
    K = len(A)
    for j in range(K):
        pivot = A[j]
        for t in range(_LANES):  # rounding must not leave 0 or less
            pivot[j, t] = 1.0 / math.sqrt(max(pivot[j, t], 1e-12))
        for c in range(j + 1, K):
            for t in range(_LANES):
                pivot[c, t] *= pivot[j, t]
        for i in range(j + 1, K):
            row = A[i]
            for c in range(i, K):
                for t in range(_LANES):
                    row[c, t] -= pivot[i, t] * pivot[c, t]


@njit(nogil=True, cache=True, fastmath=True)
def _solve_lower(U, b):
    """Replace b, K x lanes, by U'^-1 b."""
    K = len(b)
    for j in range(K):
        row = U[j]
        for t in range(_LANES):
            b[j, t] *= row[j, t]
        for i in range(j + 1, K):
            for t in range(_LANES):
                b[i, t] -= row[i, t] * b[j, t]


@njit(nogil=True, cache=True, fastmath=True)
def _solve_upper(U, b):
    """Replace b, K x lanes, by U^-1 b."""
    K = len(b)
    for i in range(K - 1, -1, -1):
        row = U[i]
        for j in range(i + 1, K):
            for t in range(_LANES):
                b[i, t] -= row[j, t] * b[j, t]
        for t in range(_LANES):
            b[i, t] *= row[i, t]


@njit(nogil=True, cache=True, fastmath=True)
def _condition(first, count, side, x, own, others, mean, precision, work):
    """Set work.U to the Cholesky factors of the nodes' precision matrices, work.b to U'^-1 pull.

    A batch of nodes from `first` on: one lane per node, and identity matrices beyond `count`.
    """
    K = own.shape[1]
    A, b = work.A, work.pull
    for t in range(_LANES):
        if t < count:
            u = first + t
            A[:] = 0.0
            b[:] = 0.0
            _add_products(others, side, side.ptr[u], side.ptr[u + 1], x, work.part, A, b)
            for i in range(K):
                row, times = A[i], np.float64(own[u, i])
                for j in range(K):
                    b[j] += row[j] * times
            for i in range(K):  # to assign whole rows takes two seconds longer to compile
                work.pulls[t, i] = b[i]
                for j in range(K):
                    work.moments[t, i, j] = A[i, j]
            for i in range(K):
                work.b[i, t] = b[i] + precision[i] * mean[u, i]
                for j in range(i, K):
                    work.U[i, j, t] = A[i, j]
                work.U[i, i, t] += precision[i]
        else:
            for i in range(K):
                work.b[i, t] = 0.0
                for j in range(i, K):
                    work.U[i, j, t] = 1.0 if i == j else 0.0
    _decompose(work.U)
    _solve_lower(work.U, work.b)


@njit(nogil=True, cache=True)
def _batch(K):
    """Return the memory that a batch of nodes needs."""
    return NodeBatch(
        np.empty((K + 1, K), np.float32),
        np.empty((K, K)),
        np.empty(K),
        np.empty((K, K, _LANES)),
        np.empty((K, _LANES)),
        np.empty((_LANES, K, K), np.float32),
        np.empty((_LANES, K)),
    )


@njit(nogil=True, cache=True)
def draw_factors(state, side, x, own, others, mean, precision, square, product):
    """Draw the factors of every node of one side, and update x. OUT own, x, square, product.

    `square` (K x K) and `product` (K) are what `rescale_factors` needs: the sums of w w' and of w x
    over the pairs, where w_uv holds the effects (p_u - mu_u) q_v of the K factors on a pair.
    """
    n, K = own.shape
    work = _batch(K)
    step = np.empty(K, np.float32)
    square[:] = 0.0
    product[:] = 0.0
    for first in range(0, n, _LANES):
        count = min(_LANES, n - first)
        _condition(first, count, side, x, own, others, mean, precision, work)
        for t in range(count):
            for i in range(K):
                state, noise = normal(state)
                work.b[i, t] += noise
        _solve_upper(work.U, work.b)
        for t in range(count):
            u = first + t
            for i in range(K):
                new = np.float32(work.b[i, t])
                step[i] = new - own[u, i]
                own[u, i] = new
            _subtract_products(others, side, side.ptr[u], side.ptr[u + 1], step, x)
            _add_effects(work.moments[t], work.pulls[t], own[u], mean[u], square, product)
    return state


@njit(nogil=True, cache=True, fastmath=True)
def _add_effects(moment, pull, own, mean, square, product):
    """Add the sums of one node, from sum q q' (moment) and sum q (x + p . q) (pull)."""
    K = len(own)
    for i in range(K):
        row, gap = moment[i], own[i] - mean[i]
        left, into = pull[i], square[i]
        for j in range(K):
            left -= row[j] * own[j]
            into[j] += gap * row[j] * (own[j] - mean[j])
        product[i] += gap * left


@njit(nogil=True, cache=True)
def rescale_factors(state, side, x, own, others, mean, precision, square, product, floor):
    """Draw the scale of each factor around its prior mean. OUT own, x, precision; product is used.

    See `draw_scale`; the factors follow one after the other.
    """
    n, K = own.shape
    step = np.empty(K, np.float32)
    scale = np.empty(K)
    for k in range(K):
        state, c = draw_scale(state, square[k, k], product[k], precision[k], floor)
        precision[k] /= c * c
        scale[k] = c
        for j in range(K):
            product[j] -= square[j, k] * (c - 1.0)
    for u in range(n):
        for k in range(K):
            new = np.float32(mean[u, k] + scale[k] * (own[u, k] - mean[u, k]))
            step[k] = new - own[u, k]
            own[u, k] = new
        _subtract_products(others, side, side.ptr[u], side.ptr[u + 1], step, x)
    return state


@njit(nogil=True, cache=True, fastmath=True)
def factor_posterior(side, x, own, others, mean, precision, root):
    """Return the conditional mean of each node's factors, and the variance that they add to f.

    The variance of p . q is q' A^-1 q. Its mean over the ratings is |U'^-1 root|^2, where U' U = A
    and root root' (K x K) is the mean of q q'. The root is lower triangular, so the solution of its
    column k begins at row k.
    """
    n, K = own.shape
    work, column = _batch(K), np.empty((K, _LANES))
    center, spread = np.empty((n, K), np.float32), np.zeros(n, np.float32)
    for first in range(0, n, _LANES):
        count = min(_LANES, n - first)
        _condition(first, count, side, x, own, others, mean, precision, work)
        _solve_upper(work.U, work.b)
        for t in range(count):
            for i in range(K):
                center[first + t, i] = work.b[i, t]
        for k in range(K):
            for i in range(k, K):
                for t in range(_LANES):
                    column[i, t] = root[i, k]
            _solve_lower(work.U[k:, k:], column[k:])
            for t in range(count):
                for i in range(k, K):
                    spread[first + t] += column[i, t] * column[i, t]
    return center, spread


@njit(nogil=True, cache=True, fastmath=True)
def _subtract_products(others, side, begin, end, step, x):
    for e in range(begin, end):
        q = others[side.other[e]]
        total = np.float32(0.0)
        for j in range(len(step)):
            total += step[j] * q[j]
        x[side.place[e]] -= total


@njit(nogil=True, cache=True, fastmath=True)
def _dot(first, second):
    total = 0.0
    for d in range(len(second)):
        total += first[d] * second[d]
    return total


@njit(nogil=True, cache=True)
def draw_links(state, ptr, features, used, factors, offsets, precision, link_precision, links):
    """Draw the regression of the factors and of the offsets (last column) on features. OUT links.

    The prior mean of factor k of node u is sum_d features[u, d] links[d, k]. The columns of the
    features are orthogonal over the nodes with ratings (IN ptr), so each coefficient is drawn
    alone, from these nodes; the others follow the regression. Columns beyond `used` stay 0.
    IN precision: K + 1, of the factors and of the offsets around their prior means.
    """
    K = factors.shape[1]
    cross, square = np.zeros((K + 1, used)), np.zeros(used)
    for u in range(len(offsets)):
        if ptr[u + 1] == ptr[u]:
            continue
        row = features[u]
        for d in range(used):
            square[d] += row[d] * row[d]
        for k in range(K):  # many features, few factors: the inner loop is the long one
            into, factor = cross[k], factors[u, k]
            for d in range(used):
                into[d] += row[d] * factor
        into, offset = cross[K], offsets[u]
        for d in range(used):
            into[d] += row[d] * offset
    for k in range(K + 1):
        for d in range(used):
            strength = precision[k] * square[d] + link_precision[k]
            state, noise = normal(state)
            links[d, k] = precision[k] * cross[k, d] / strength + noise / math.sqrt(strength)
    return state


@njit(nogil=True, cache=True)
def prior_means(features, used, links, means):
    """Set means (nodes x (K + 1)) to features @ links."""
    by_factor = np.ascontiguousarray(links[:used].T)
    for u in range(len(means)):
        row = features[u, :used]
        for k in range(means.shape[1]):
            means[u, k] = _dot(row, by_factor[k])


@njit(nogil=True, cache=True)
def draw_column_precisions(state, values, means, floor, precision):
    """Draw the precision of each column of values - means: Gamma(1 + n/2) / (floor + sum x^2/2).

    A lower bound keeps the scales of the two sides, of which only the product is known, from
    drifting apart.
    """
    n, K = values.shape
    square = np.zeros(K)
    for u in range(n):
        for k in range(K):
            gap = values[u, k] - means[u, k]
            square[k] += gap * gap
    return _draw_precisions(state, n, floor, square, precision)


@njit(nogil=True, cache=True)
def draw_link_precisions(state, links, used, floor, precision):
    """Draw the precision of each column of the links, of which `used` rows are used."""
    K = links.shape[1]
    square = np.zeros(K)
    for d in range(used):
        for k in range(K):
            square[k] += links[d, k] * links[d, k]
    return _draw_precisions(state, used, floor, square, precision)


@njit(nogil=True, cache=True)
def _draw_precisions(state, n, floor, square, precision):
    for k in range(len(square)):
        state, draw = gamma(state, 1.0 + 0.5 * n)
        precision[k] = max(draw / (floor + 0.5 * square[k]), _LEAST_PRECISION)
    return state
