"""One side of alternating least squares over all pairs, observed or not (iALS).

Letters: Y (m × f) the factors of the other side, G = a YᵀY with the weight a of every pair, and for
row u the set O of its observed pairs. The loss of a row x is

    Σ_{v in O} (x·y_v - 1)² + a Σ_v (x·y_v)² + p |x|²

and its minimum solves (G + Σ_O y_v y_vᵀ + p I) x = Σ_O y_v: the absent pairs cost f², not m.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.additive.factors import solve
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into


@njit(nogil=True, cache=True)
def solve_rows(begins, observed, Y, G, penalties, begin, end):
    """Return the factors of rows begin..end-1; a row without an observed pair is 0.

    IN   begins (int64, rows + 1), observed (int64): the observed pairs of each row; Y, G;
         penalties (float64, one per row)
    """
    f = Y.shape[1]
    out = np.zeros((end - begin, f))
    A = np.empty((f, f))
    x = np.empty(f)
    for u in range(begin, end):
        if begins[u] == begins[u + 1]:
            continue
        for a in range(f):
            x[a] = 0.0
            for b in range(a, f):
                A[a, b] = G[a, b]
            A[a, a] += penalties[u]
        for e in range(begins[u], begins[u + 1]):
            y = Y[observed[e]]
            for a in range(f):
                x[a] += y[a]
                for b in range(a, f):
                    A[a, b] += y[a] * y[b]
        solve(A, x)
        copy_into(out[u - begin], x)
    return out
