"""One iteration of exact mixed-membership EM over one shard (Algorithm 8 of Prost & Yoon, MMSBM).

The update is the printed one, without the factor k·l per observation. Letters as in the paper,
with rows u and columns v (users and items, or the nodes of a graph):

    h_u   rows[u]         k memberships of a row, which sum to 1
    h_v   columns[v]      l memberships of a column
    Θ_r   theta[r]        k × l, the probability of level r between two groups
    x     h_u · Θ_r h_v   the probability of one observation (u, v, r)

A level is one value of a rating scale, or the state of a pair of nodes (the paper's configuration).
Observations are grouped by (u, r). For one group, t = Θ_rᵀ h_u and s = Σ h_v / x are computed once,
so an observation costs O(l), a group O(k l), and the whole pass O(|X| l + G k l) with G groups. The
numerators of the update follow:

    h_u  +=  h_u * Θ_r s          complete within the shard, which holds all of u's observations
    h_v  +=  h_v * t / x          a partial sum; the sums of all shards are added
    η_r  +=  h_u sᵀ               a partial sum; the numerator of Θ_r is Θ_r * η_r

The same pass gives the sum of -log x, the entropy of the state before the update.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.prefetch import prefetch_row

# The compiler may reorder sums, so that dot products use vector registers; NaN and inf keep their
# meaning. The order does not depend on the number of threads, because shards do not.
FAST = {"reassoc", "contract"}

IMPOSSIBLE = 1e-250  # an observation less likely than this is left out of the update
NEGLIGIBLE = 1e-100  # memberships and cells of theta below this become 0: denormals are slow
CACHED = 1 << 16  # numbers: a table up to this size stays in the L2 cache without prefetching
PREFETCH_AHEAD = 8  # observations between the prefetch of a table's row and its use
_LOG_BELOW = 1e-150


class Shard(NamedTuple):
    """A block of rows with all their observations, in groups of one row and one level."""

    ends: np.ndarray  # int64, groups + 1: group g holds the observations ends[g]:ends[g + 1]
    row: np.ndarray  # int32, group -> row, counted from the first row of the block
    level: np.ndarray  # int32, group -> level
    column: np.ndarray  # int32, observation -> column


class EMStats(NamedTuple):
    """Sums over one shard: the numerators of the update, and its part of the entropy."""

    rows: np.ndarray  # float64, rows of the shard × k: their numerators
    columns: np.ndarray  # float64, columns × l, or 0 × l if not requested
    eta: np.ndarray  # float64, levels × k × l
    entropy: float


@njit(nogil=True, cache=True, fastmath=FAST)
def expect(h, theta_r, t):
    """Set t = Θ_rᵀ h: the probability of this level for each group of the other side."""
    t[:] = 0.0
    for i in range(len(h)):
        if h[i] > 0.0:
            weight, cells = h[i], theta_r[i]
            for j in range(len(t)):
                t[j] += weight * cells[j]


@njit(nogil=True, cache=True, fastmath=FAST)
def dot(a, b):
    """Return the sum of a * b."""
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
    """Apply `credit` to four rows u and their s at once, so that Θ_r and η_r are read once."""
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
    """Apply `credit` to the groups first .. first + count - 1, at most four, of one level."""
    if count == 0:
        return
    u, r = shard.row[first : first + count], shard.level[first]
    if count == 4:
        credit_four(rows, u, theta[r], s, row_sums, eta[r])
        return
    for g in range(count):
        credit(rows[u[g]], theta[r], s[g], row_sums[u[g]], eta[r])


@njit(nogil=True, cache=True)
def add_log(x, product, entropy):
    """Return (product, entropy) after one more factor x: one logarithm serves many factors."""
    if x < _LOG_BELOW:
        return product, entropy - np.log(max(x, IMPOSSIBLE))
    product *= x
    if product < _LOG_BELOW:
        return 1.0, entropy - np.log(product)
    return product, entropy


@njit(nogil=True, cache=True, fastmath=FAST)
def accumulate(shard, rows, columns, theta, column_sums):
    """Return the statistics (EMStats) of one shard.

    IN   shard (Shard), rows (its rows × k), columns (m × l), theta (R × k × l), all float64
    OUT  column_sums (m × l, zeros): the columns' numerators. If it is 0 × l they are not computed
         (one undirected node set, where each pair appears in both rows).
    """
    width, last = columns.shape[1], len(shard.column) - 1
    with_columns, prefetching = len(column_sums) > 0, columns.size > CACHED
    row_sums, eta = np.zeros_like(rows), np.zeros_like(theta)
    t, sums_of_four = np.empty(width), np.empty((4, width))
    entropy, product = 0.0, 1.0
    waiting = 0
    for g in range(len(shard.row)):
        if waiting == 4 or (waiting > 0 and shard.level[g] != shard.level[g - 1]):
            credit_all(shard, g - waiting, waiting, rows, theta, sums_of_four, row_sums, eta)
            waiting = 0
        s = sums_of_four[waiting]
        waiting += 1
        expect(rows[shard.row[g]], theta[shard.level[g]], t)
        s[:] = 0.0
        for e in range(shard.ends[g], shard.ends[g + 1]):
            if prefetching:
                soon = shard.column[min(e + PREFETCH_AHEAD, last)]
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
    """Return the shard's part of the entropy, -Σ log x: the first half of `accumulate`."""
    t = np.empty(columns.shape[1])
    entropy, product = 0.0, 1.0
    for g in range(len(shard.row)):
        expect(rows[shard.row[g]], theta[shard.level[g]], t)
        for e in range(shard.ends[g], shard.ends[g + 1]):
            product, entropy = add_log(dot(columns[shard.column[e]], t), product, entropy)
    return entropy - np.log(product)


@njit(nogil=True, cache=True)
def new_memberships(numerators, old, prior):
    """Add the prior to the numerators, divide each row by its sum; an empty row keeps its value."""
    n, k = numerators.shape
    new = np.empty((n, k))
    for u in range(n):
        total = 0.0
        for i in range(k):
            total += numerators[u, i] + prior
        for i in range(k):
            share = (numerators[u, i] + prior) / total if total > 0.0 else old[u, i]
            new[u, i] = share if share > NEGLIGIBLE else 0.0
    return new


@njit(nogil=True, cache=True)
def new_theta(eta, old, prior):
    """Divide Θ * η plus prior by its sum over levels; an empty cell keeps its value."""
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
                new[r, i, j] = cell if cell > NEGLIGIBLE else 0.0
    return new
