"""Algorithm 8 of Prost & Yoon (MMSBM) as printed: all pairs of groups per observation, O(|X| k l).

It exists to reproduce the paper's timings. `kernels/soft/em.py` computes the same update faster.

    h_u, h_v    memberships of users (n × k) and items (m × l)
    theta       R × k × l
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def accumulate(users, items, levels, h_u, h_v, theta):
    """Return the numerators of both memberships and of theta, and the entropy."""
    k, m = h_u.shape[1], h_v.shape[1]
    sum_u = np.zeros_like(h_u)
    sum_v = np.zeros_like(h_v)
    eta = np.zeros_like(theta)
    x = np.empty((k, m))
    entropy = 0.0
    for e in range(len(users)):
        u, v, r = users[e], items[e], levels[e]
        total = 0.0
        for i in range(k):
            for j in range(m):
                x[i, j] = h_u[u, i] * h_v[v, j] * theta[r, i, j]
                total += x[i, j]
        if total <= 0.0:
            total = 1e-300
        entropy -= math.log(total)
        for i in range(k):
            for j in range(m):
                share = x[i, j] / total
                sum_u[u, i] += share
                sum_v[v, j] += share
                eta[r, i, j] += share
    return sum_u, sum_v, eta, entropy
