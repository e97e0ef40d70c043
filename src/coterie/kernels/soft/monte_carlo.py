"""The Monte-Carlo update of one shard (cl:alg4 as design 3.2 mends it).

For an observation (u, v, r) draw s pairs i ~ h_u, j ~ h_v. With T the sum of theta_ijr over the
draws, each draw gives theta_ijr / T to h_u(i), to h_v(j) and to theta_ijr. Letters as in
kernels/soft.py; a draw is O(1) from alias tables, so an observation costs O(s).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from coterie.kernels.numba.alias import draw
from coterie.kernels.numba.random import stream
from coterie.kernels.soft.em import FAST, IMPOSSIBLE, EMStats, credit, dot, expect


@njit(nogil=True, cache=True)
def accumulate_sampled(
    shard, rows, columns, theta, row_tables, column_tables, samples, key, column_sums
):
    """The sampled statistics of one shard; `entropy` is left 0, -log(T / s) being biased.

    IN   as `soft.accumulate`; alias tables of rows and columns; `samples` = s draws an
         observation; `key` (uint64), the stream of this shard in this iteration
    OUT  column_sums as in `soft.accumulate`
    """
    with_columns = len(column_sums) > 0
    row_sums, eta = np.zeros_like(rows), np.zeros_like(theta)
    i, j = np.empty(samples, np.uint64), np.empty(samples, np.uint64)
    t, s = np.empty(columns.shape[1]), np.empty(columns.shape[1])
    state = stream(key, 0)
    for g in range(len(shard.row)):
        u, r = shard.row[g], shard.code[g]
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
    """The exact update for one observation whose draws all had theta 0."""
    expect(h_u, theta_r, t)
    x = dot(h_v, t)
    if x < IMPOSSIBLE:
        return
    for n in range(len(h_v)):
        s[n] = h_v[n] / x
        if len(column_sum) > 0:
            column_sum[0, n] += s[n] * t[n]
    credit(h_u, theta_r, s, row_sum, eta_r)
