"""What a fitted soft model says about pairs, and where it puts a new row.

Letters as in kernels/soft.py: memberships h_u, h_v, and theta R × k × l.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from coterie.kernels.soft.em import FAST, IMPOSSIBLE, dot, expect


@njit(nogil=True, cache=True, fastmath=FAST)
def pair_probabilities(row, column, rows, columns, theta):
    """p[e, r] = h_u · Θ_r h_v for the pairs (row[e], column[e]), as the state has it.

    IN   row, column (int32); rows (n × k), columns (m × l), theta (R × k × l)
    Pairs of one row that follow each other share the O(R k l) part: sort by row.
    """
    count, width = len(theta), columns.shape[1]
    probabilities = np.empty((len(row), count))
    t = np.empty((count, width))
    last = -1
    for e in range(len(row)):
        if row[e] != last:
            last = row[e]
            for r in range(count):
                expect(rows[last], theta[r], t[r])
        h = columns[column[e]]
        for r in range(count):
            probabilities[e, r] = dot(h, t[r])
    return probabilities


@njit(nogil=True, cache=True, fastmath=FAST)
def fold_in(indptr, column, code, start, columns, theta, prior, max_iter, tol):
    """Memberships of rows by EM with everything else fixed (cl:alg3, line 7).

    IN   row u observed column[e] in configuration code[e] for e in indptr[u]:indptr[u + 1];
         start (n × k) memberships to begin from; prior, a pseudo-count on every group
    OUT  n × k. A row stops when no membership moves by tol. A row without observations keeps
         its start, or is even where there is a prior.
    """
    n, k = start.shape
    result = start.copy()
    longest = 0
    for u in range(n):
        longest = max(longest, indptr[u + 1] - indptr[u])
    likely = np.empty((longest, k))  # Θ_r h_v of each observation: fixed, so made once
    sums = np.empty(k)
    for u in range(n):
        first = indptr[u]
        size = indptr[u + 1] - first
        for e in range(size):
            h = columns[column[first + e]]
            cells = theta[code[first + e]]
            for i in range(k):
                likely[e, i] = dot(cells[i], h)
        for _ in range(max_iter):
            if em_row(result[u], likely[:size], sums, prior) < tol:
                break
    return result


@njit(nogil=True, cache=True, fastmath=FAST)
def em_row(h, likely, sums, prior):
    """Bring one row's memberships forward in place; how far the one that moved most went."""
    sums[:] = 0.0
    for e in range(len(likely)):
        x = dot(h, likely[e])
        if x > IMPOSSIBLE:
            weight, cells = 1.0 / x, likely[e]
            for i in range(len(h)):
                sums[i] += weight * cells[i]
    total = 0.0
    for i in range(len(h)):
        sums[i] = sums[i] * h[i] + prior
        total += sums[i]
    moved = 0.0
    if total > 0.0:
        for i in range(len(h)):
            share = sums[i] / total
            moved = max(moved, abs(share - h[i]))
            h[i] = share
    return moved
