"""One iteration of exact mixed-membership EM over one shard, without the k·l factor an edge.

The letters, as in the paper (cl:alg3), with rows u and columns v:

    h_u   rows[u]         k memberships of a row, they sum to 1
    h_v   columns[v]      l memberships of a column
    Θ_r   theta[r]        k × l, the probability of configuration r between two groups
    x     h_u · Θ_r h_v   the probability of one observation (u, v, r)

Observations are grouped by (u, r). For one group t = Θ_rᵀ h_u and s = Σ h_v / x are made once, so
an observation costs O(l), a group O(k l), and the whole pass O(|X| l + G k l). The numerators of
the update follow from them:

    h_u  +=  h_u * Θ_r s          complete within the shard, which holds all of u's observations
    h_v  +=  h_v * t / x          a partial sum; shards are merged
    η_r  +=  h_u sᵀ               a partial sum; the numerator of Θ_r is Θ_r * η_r

The sum of -log x, the entropy of the state that came in, is free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from coterie.kernels.numba.prefetch import prefetch_row

# Sums may be reordered, so that dot products fill the vector registers; NaN and inf keep their
# meaning. The order is the same for any number of threads, since shards are.
FAST = {"reassoc", "contract"}

IMPOSSIBLE = 1e-250  # an observation below this says nothing about who made it
NOTHING = 1e-100  # a membership or a theta cell below this becomes 0: denormal numbers are slow
NEAR = 1 << 16  # numbers: a table of this size stays in the second cache by itself
AHEAD = 8  # observations between asking for a row of a table and using it
_LOG_SOON = 1e-150


class Shard(NamedTuple):
    """A block of rows with all their observations, in groups of one row and one configuration."""

    ends: np.ndarray  # int64, groups + 1: group g holds the observations ends[g]:ends[g + 1]
    row: np.ndarray  # int32, group -> row, counted from the first row of the block
    code: np.ndarray  # int32, group -> configuration
    column: np.ndarray  # int32, observation -> column


class EMStats(NamedTuple):
    """What a shard gives back: numerators of the update, and its part of the entropy."""

    rows: np.ndarray  # float64, rows of the shard × k: its rows' numerators
    columns: np.ndarray  # float64, columns × l, or 0 × l if columns were not asked for
    eta: np.ndarray  # float64, configurations × k × l
    entropy: float


@njit(nogil=True, cache=True, fastmath=FAST)
def expect(h, theta_r, t):
    """t = Θ_rᵀ h: how likely a column's groups make this configuration with this row."""
    t[:] = 0.0
    for i in range(len(h)):
        if h[i] > 0.0:
            weight, cells = h[i], theta_r[i]
            for j in range(len(t)):
                t[j] += weight * cells[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def dot(a, b):
    """The sum of a * b."""
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(nogil=True, cache=True, fastmath=FAST)
def credit(h, theta_r, s, numerator, eta_r):
    """Add h * Θ_r s to the row's numerator and h sᵀ to η_r."""
    for i in range(len(h)):
        if h[i] > 0.0:
            weight, cells, sums = h[i], theta_r[i], eta_r[i]
            gain = 0.0
            for j in range(len(s)):
                gain += cells[j] * s[j]
                sums[j] += weight * s[j]
            numerator[i] += weight * gain


@njit(nogil=True, cache=True, fastmath=FAST)
def credit_four(rows, u, theta_r, s, row_sums, eta_r):
    """`credit` for the four rows u and their s at once: Θ_r and η_r are read a fourth as often."""
    s_0, s_1, s_2, s_3 = s[0], s[1], s[2], s[3]
    for i in range(rows.shape[1]):
        h_0, h_1, h_2, h_3 = rows[u[0], i], rows[u[1], i], rows[u[2], i], rows[u[3], i]
        if h_0 + h_1 + h_2 + h_3 > 0.0:
            cells, sums = theta_r[i], eta_r[i]
            gain_0 = gain_1 = gain_2 = gain_3 = 0.0
            for j in range(len(s_0)):
                gain_0 += cells[j] * s_0[j]
                gain_1 += cells[j] * s_1[j]
                gain_2 += cells[j] * s_2[j]
                gain_3 += cells[j] * s_3[j]
                sums[j] += h_0 * s_0[j] + h_1 * s_1[j] + h_2 * s_2[j] + h_3 * s_3[j]
            row_sums[u[0], i] += h_0 * gain_0
            row_sums[u[1], i] += h_1 * gain_1
            row_sums[u[2], i] += h_2 * gain_2
            row_sums[u[3], i] += h_3 * gain_3


@njit(nogil=True, cache=True, fastmath=FAST)
def credit_all(shard, first, count, rows, theta, s, row_sums, eta):
    """`credit` for the groups first .. first + count - 1, at most four, of one configuration."""
    if count == 0:
        return
    u, r = shard.row[first : first + count], shard.code[first]
    if count == 4:
        credit_four(rows, u, theta[r], s, row_sums, eta[r])
        return
    for g in range(count):
        credit(rows[u[g]], theta[r], s[g], row_sums[u[g]], eta[r])


@njit(nogil=True, cache=True)
def add_log(x, product, entropy):
    """(product, entropy) after one more factor x: one logarithm for many factors."""
    if x < _LOG_SOON:
        return product, entropy - np.log(max(x, IMPOSSIBLE))
    product *= x
    if product < _LOG_SOON:
        return 1.0, entropy - np.log(product)
    return product, entropy


@njit(nogil=True, cache=True, fastmath=FAST)
def accumulate(shard, rows, columns, theta, column_sums):
    """The statistics of one shard.

    IN   shard (Shard), rows (its rows × k), columns (m × l), theta (R × k × l), all float64
    OUT  column_sums (m × l, zeros), the columns' numerators; or 0 × l: they are not made (one
         undirected node set, where each pair stands in both rows)
    Returns EMStats.
    """
    width, last = columns.shape[1], len(shard.column) - 1
    with_columns, far = len(column_sums) > 0, columns.size > NEAR
    row_sums, eta = np.zeros_like(rows), np.zeros_like(theta)
    t, sums_of_four = np.empty(width), np.empty((4, width))
    entropy, product = 0.0, 1.0
    waiting = 0
    for g in range(len(shard.row)):
        if waiting == 4 or (waiting > 0 and shard.code[g] != shard.code[g - 1]):
            credit_all(shard, g - waiting, waiting, rows, theta, sums_of_four, row_sums, eta)
            waiting = 0
        s = sums_of_four[waiting]
        waiting += 1
        expect(rows[shard.row[g]], theta[shard.code[g]], t)
        s[:] = 0.0
        for e in range(shard.ends[g], shard.ends[g + 1]):
            if far:
                soon = shard.column[min(e + AHEAD, last)]
                prefetch_row(columns, soon)
                if with_columns:
                    prefetch_row(column_sums, soon)
            v = shard.column[e]
            h = columns[v]
            x = dot(h, t)
            product, entropy = add_log(x, product, entropy)
            if x < IMPOSSIBLE:
                continue
            weight = 1.0 / x
            if with_columns:
                sums = column_sums[v]
                for j in range(width):
                    s[j] += weight * h[j]
                    sums[j] += weight * t[j]
            else:
                for j in range(width):
                    s[j] += weight * h[j]
    credit_all(shard, len(shard.row) - waiting, waiting, rows, theta, sums_of_four, row_sums, eta)
    column_sums *= columns[: len(column_sums)]
    return EMStats(row_sums, column_sums, eta, entropy - np.log(product))


@njit(nogil=True, cache=True, fastmath=FAST)
def entropy_of(shard, rows, columns, theta):
    """The shard's part of S = -Σ log x: the first half of `accumulate`."""
    t = np.empty(columns.shape[1])
    entropy, product = 0.0, 1.0
    for g in range(len(shard.row)):
        expect(rows[shard.row[g]], theta[shard.code[g]], t)
        for e in range(shard.ends[g], shard.ends[g + 1]):
            product, entropy = add_log(dot(columns[shard.column[e]], t), product, entropy)
    return entropy - np.log(product)


@njit(nogil=True, cache=True)
def new_memberships(numerators, old, prior):
    """Numerators plus prior, each row divided by its sum; a row without mass stays as it was."""
    n, k = numerators.shape
    new = np.empty((n, k))
    for u in range(n):
        total = 0.0
        for i in range(k):
            total += numerators[u, i] + prior
        for i in range(k):
            share = (numerators[u, i] + prior) / total if total > 0.0 else old[u, i]
            new[u, i] = share if share > NOTHING else 0.0
    return new


@njit(nogil=True, cache=True)
def new_theta(eta, old, prior):
    """Θ * η plus prior, divided by the sum over configurations; a cell without mass stays."""
    count, height, width = eta.shape
    new = np.empty_like(eta)
    for i in range(height):
        for j in range(width):
            total = 0.0
            for r in range(count):
                total += old[r, i, j] * eta[r, i, j] + prior
            for r in range(count):
                cell = old[r, i, j]
                if total > 0.0:
                    cell = (cell * eta[r, i, j] + prior) / total
                new[r, i, j] = cell if cell > NOTHING else 0.0
    return new
