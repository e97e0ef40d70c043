"""The entropy of one cell of the block matrix, and its changes, without cancellation.

Used by every kernel of hard clustering. The letters are those of Prost & Yoon:

    d   total of the cell (edges, weight, ratings of one level), float64
    D   number of pairs in the cell
    g   x log x, with g(0) = 0: from a table for small integers, by a logarithm for the rest
    F   the Bernoulli cell, g(D) - g(d) - g(D - d): one term of the paper's entropy S(Z)
    H   the Poisson cell, d - d log(d / D)

Counts are float64, which holds integers exactly (to 2**53), so the same code serves graphs with
and without fractional weights. Differences of g at 5e9 lose five digits; therefore all formulas
use `tail`, which has no large terms that cancel.

The kind of a model is an integer, not a function argument: Numba then compiles one kernel for all
models and can cache it on disk.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from coterie.kernels.numba.compile import njit

BERNOULLI = 0  # simple and directed graphs, likes
POISSON = 1  # weighted graphs
PLAIN = 2  # sums of g only: degree-corrected graphs, ratings

TABLE = 1 << 16  # for larger counts the rounding of g(d) would affect a move that gains 1e-9
SERIES = 1.0 / 64.0  # the five terms of `short_tail` are exact to 1e-13 below it


@functools.cache
def g_table() -> np.ndarray:
    """Return g(0) .. g(TABLE - 1), float64; one array for all models.

    >>> g_table()[:2].tolist()
    [0.0, 0.0]
    """
    x = np.arange(TABLE, dtype=np.float64)
    return x * np.log(np.maximum(x, 1.0))


@njit(forceinline=True, cache=True)
def short_tail(t):
    """Return tail(t) for t < SERIES."""
    return t * (0.5 + t * (1 / 6 + t * (1 / 12 + t * (1 / 20 + t * (1 / 30)))))


@njit(forceinline=True, cache=True)
def tail(t):
    """Return 1 + (1 - t) log(1 - t) / t for 0 <= t <= 1, which is small where t is small.

    g(M) - g(M - x) = x (log M + 1 - tail(x / M)), F(d, D) = d (log D + 1 - tail(d / D)) - g(d)"""
    if t < SERIES:
        return short_tail(t)
    return 1.0 + (1.0 - t) * math.log1p(-t) / t if t < 1.0 else 1.0


@njit(nogil=True, cache=True)
def g_drop(table, M, x):
    """Return g(M) - g(M - x) for 0 <= x <= M."""
    if x <= 0.0:
        return 0.0
    if x >= M:
        return M * math.log(M)
    low = int(M - x)
    if M < TABLE and low == M - x and int(M) == M:
        return table[int(M)] - table[low]
    return x * (math.log(M) + 1.0 - tail(x / M))


@njit(nogil=True, cache=True)
def gain(kind, table, d, N, x):
    """Return cell(d + x, N) - cell(d, N): x more edges in a cell of N pairs (PLAIN ignores N)."""
    if x == 0.0:
        return 0.0
    fewer = -g_drop(table, d + x, x)
    if kind == BERNOULLI:
        return fewer + g_drop(table, N - d, x)
    if kind == POISSON:
        return fewer + x * (1.0 + math.log(N))
    return fewer


@njit(nogil=True, cache=True)
def widen(kind, d, D, c):
    """Return cell(d, D + c) - cell(d, D): c more pairs without an edge; 0 if d exceeds D."""
    if d <= 0.0 or c <= 0.0 or D <= 0.0 or kind == PLAIN:
        return 0.0
    if kind == POISSON:
        return d * math.log1p(c / D)
    return d * (math.log1p(c / D) + tail(d / D) - tail(d / (D + c))) if d <= D else 0.0


@njit(nogil=True, cache=True)
def cell(kind, d, D):
    """Return the entropy of a cell: F, H, or -g(d)."""
    if d <= 0.0:
        return 0.0
    if kind == BERNOULLI:
        return d * (1.0 - math.log(d / D) - tail(d / D))
    if kind == POISSON:  # rounding of fractions may leave d > 0 in a cell without pairs
        return d * (1.0 - math.log(d / D)) if D > 0.0 else 0.0
    return -d * math.log(d)


@njit(nogil=True, cache=True)
def inner_gain(kind, table, d, N, x):
    """Return `gain` on the diagonal, where degree correction counts both ends of an edge."""
    if kind == PLAIN:
        return 0.5 * gain(kind, table, 2.0 * d, N, 2.0 * x)
    return gain(kind, table, d, N, x)


@njit(nogil=True, cache=True)
def inner_cell(kind, d, D):
    """Return `cell` on the diagonal."""
    if kind == PLAIN:
        return 0.5 * cell(kind, 2.0 * d, D)
    return cell(kind, d, D)
