"""The Monte Carlo update of one shard (Algorithm 3 of Prost & Yoon, MCMMSBM).

For an observation (u, v, r) draw s pairs i ~ h_u, j ~ h_v. With T the sum of theta_ijr over the
draws, each draw adds theta_ijr / T to h_u(i), to h_v(j) and to theta_ijr. (The printed algorithm
divides by T once per draw, even if a group is drawn twice; here every draw is divided once.)
Letters as in `kernels/soft/em.py`. A draw from an alias table is O(1), an observation O(s).
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.alias import draw
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import stream
from coterie.kernels.soft.em import FAST, IMPOSSIBLE, EMStats, credit, dot, expect


@njit(nogil=True, cache=True)
def accumulate_sampled(
    shard, rows, columns, theta, row_tables, column_tables, samples, key, column_sums
):
    """Return the sampled statistics (EMStats) of one shard.

    `entropy` stays 0, because -log(T / s) would be a biased estimate.

    IN   as `em.accumulate`; alias tables of rows and columns; `samples` = s draws per
         observation; `key` (uint64), the random stream of this shard in this iteration
    OUT  column_sums as in `em.accumulate`
    """
    with_columns = len(column_sums) > 0
    row_sums, eta = np.zeros_like(rows), np.zeros_like(theta)
    i, j = np.empty(samples, np.uint64), np.empty(samples, np.uint64)
    t, s = np.empty(columns.shape[1]), np.empty(columns.shape[1])
    state = stream(key, 0)
    for g in range(len(shard.row)):
        u, r = shard.row[g], shard.level[g]
        keep_u, other_u, theta_r, eta_r = row_tables.keep[u], row_tables.other[u], theta[r], eta[r]
        for e in range(shard.ends[g], shard.ends[g + 1]):
            v = shard.column[e]
            keep_v, other_v = column_tables.keep[v], column_tables.other[v]
            total = 0.0
            for d in range(samples):
                state, i[d] = draw(keep_u, other_u, state)
                state, j[d] = draw(keep_v, other_v, state)
                total += theta_r[i[d], j[d]]
            if total < IMPOSSIBLE:
                exact_edge(rows[u], columns[v], theta_r, t, s, row_sums[u], eta_r, column_sums[v:])
                continue
            weight = 1.0 / total
            for d in range(samples):
                share = theta_r[i[d], j[d]] * weight
                row_sums[u, i[d]] += share
                eta_r[i[d], j[d]] += weight
                if with_columns:
                    column_sums[v, j[d]] += share
    return EMStats(row_sums, column_sums, eta, 0.0)


@njit(nogil=True, cache=True, fastmath=FAST)
def exact_edge(h_u, h_v, theta_r, t, s, row_sum, eta_r, column_sum):
    """Apply the exact update to one observation if theta is 0 for all of its draws."""
    expect(h_u, theta_r, t)
    x = dot(h_v, t)
    if x < IMPOSSIBLE:
        return
    for n in range(len(h_v)):
        s[n] = h_v[n] / x
        if len(column_sum) > 0:
            column_sum[0, n] += s[n] * t[n]
    credit(h_u, theta_r, s, row_sum, eta_r)
