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

from coterie.kernels.memory import prefetch_row

# Sums may be reordered, so that dot products fill the vector registers; NaN and inf keep their
# meaning. The order is the same for any number of threads, since shards are.
FAST = {"reassoc", "contract"}

IMPOSSIBLE = 1e-250  # an observation below this says nothing about who made it
NOTHING = 1e-100  # a membership or a theta cell below this becomes 0: denormal numbers are slow
AHEAD = 8  # observations between asking for a row of a table and using it
_LOG_SOON = 1e-150


class Shard(NamedTuple):
    """A block of rows with all their observations, in groups of one row and one configuration."""

    ends: np.ndarray  # int64, groups + 1: group g holds the observations ends[g]:ends[g + 1]
    row: np.ndarray  # int32, group -> row, counted from the first row of the block
    code: np.ndarray  # int32, group -> configuration
    column: np.ndarray  # int32, observation -> column


class Stats(NamedTuple):
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
    Returns Stats.
    """
    width, last = columns.shape[1], len(shard.column) - 1
    with_columns = len(column_sums) > 0
    row_sums, eta = np.zeros_like(rows), np.zeros_like(theta)
    t, s = np.empty(width), np.empty(width)
    entropy, product = 0.0, 1.0
    for g in range(len(shard.row)):
        u, r = shard.row[g], shard.code[g]
        expect(rows[u], theta[r], t)
        s[:] = 0.0
        for e in range(shard.ends[g], shard.ends[g + 1]):
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
            for j in range(width):
                s[j] += weight * h[j]
            if with_columns:
                sums = column_sums[v]
                for j in range(width):
                    sums[j] += weight * t[j]
        credit(rows[u], theta[r], s, row_sums[u], eta[r])
    column_sums *= columns[: len(column_sums)]
    return Stats(row_sums, column_sums, eta, entropy - np.log(product))


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
