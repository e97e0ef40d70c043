"""Probabilities of pairs under a fitted soft model, and memberships of new rows.

Letters as in `kernels/soft/em.py`: memberships h_u, h_v, and theta R × k × l.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.soft.em import FAST, IMPOSSIBLE, dot, expect


@njit(nogil=True, cache=True, fastmath=FAST)
def pair_probabilities(row, column, rows, columns, theta):
    """Return p[e, r] = h_u · Θ_r h_v for the pairs (row[e], column[e]), not normalised.

    IN   row, column (int32); rows (n × k), columns (m × l), theta (R × k × l)
    Consecutive pairs of one row share the O(R k l) part, so sort the pairs by row.
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
def fold_in(indptr, column, level, start, columns, theta, prior, max_iter, tol):
    """Compute memberships of rows by EM with all else fixed (Algorithm 8 of Prost & Yoon, line 7).

    IN   row u observed column[e] at level[e] for e in indptr[u]:indptr[u + 1]; start (n × k), the
         initial memberships; prior, a pseudo-count on every group
    OUT  n × k. A row stops when no membership changes by tol. A row without observations keeps
         its start, or becomes uniform if there is a prior.
    """
    n, k = start.shape
    result = start.copy()
    longest = 0
    for u in range(n):
        longest = max(longest, indptr[u + 1] - indptr[u])
    likelihoods = np.empty((longest, k))  # Θ_r h_v of each observation: fixed, so computed once
    sums = np.empty(k)
    for u in range(n):
        first = indptr[u]
        size = indptr[u + 1] - first
        for e in range(size):
            h = columns[column[first + e]]
            cells = theta[level[first + e]]
            for i in range(k):
                likelihoods[e, i] = dot(cells[i], h)
        for _ in range(max_iter):
            if em_row(result[u], likelihoods[:size], sums, prior) < tol:
                break
    return result


@njit(nogil=True, cache=True, fastmath=FAST)
def em_row(h, likelihoods, sums, prior):
    """Update one row's memberships in place; return the largest change."""
    sums[:] = 0.0
    for e in range(len(likelihoods)):
        x = dot(h, likelihoods[e])
        if x > IMPOSSIBLE:
            weight, cells = 1.0 / x, likelihoods[e]
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
