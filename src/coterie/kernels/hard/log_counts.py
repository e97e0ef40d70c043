"""Logarithms of counts: factorials, multisets and restricted partitions of an integer.

Used by `description.py`. Small arguments come from tables, large ones from series. SciPy would take
0.2 s to load; `tests/kernels/hard/test_special_functions.py` compares with it.

    log_factorial(t, n)       log n!
    log_rise(t, n, x)         log (n + x)! - log n!
    log_multisets(t, p, e)    log of the ways to distribute e things over p places
    log_partitions(t, n, k)   log of the partitions of n into at most k parts: exact for
                              n <= EXACT, else the uniform asymptotics of Szekeres (1953)
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.compile import njit

FACTORIALS = 1 << 16  # entries of the tables of factorials and logarithms
EXACT = 1024  # partitions of larger integers are approximated
_GRID = 2048  # points of the asymptotic curve
_LOW, _HIGH = -7.0, 10.0  # its range, in log(k / sqrt(n)); beyond it the curve is flat
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_TERMS = 50  # of the series of the dilogarithm: 2^-50 / 50^2 is below the rounding of its sum


class CountTables(NamedTuple):
    """The tables of this file."""

    factorials: np.ndarray  # float64: log i!
    logs: np.ndarray  # float64: log i, 0 for i = 0
    partitions: np.ndarray  # float64: log q(n, k) at n (n + 1) / 2 + k
    curve: np.ndarray  # float64 (_GRID, 4): two functions of log(k / sqrt(n)) and their slopes


def log_factorials(count: int) -> np.ndarray:
    """Return log i! for i < count.

    >>> log_factorials(4).round(6).tolist()
    [0.0, 0.0, 0.693147, 1.791759]
    """
    return np.array([math.lgamma(i + 1.0) for i in range(count)], np.float64)


def dilogarithm(z: np.ndarray) -> np.ndarray:
    """Return Li2(z), the sum of z^k / k^2, for 0 <= z <= 1.

    Above 1/2 the series converges slowly, and Li2(z) + Li2(1 - z) = pi^2 / 6 - log(z) log(1 - z)
    gives the value.

    >>> dilogarithm(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 1.644934]
    """
    is_high = z > 0.5
    low = np.where(is_high, 1.0 - z, z)
    series = np.zeros_like(low)
    for k in range(_TERMS, 0, -1):
        series = (series + 1.0 / k**2) * low
    logs = np.log(np.where(low > 0.0, low, 1.0)) * np.log1p(-low)
    return np.where(is_high, math.pi**2 / 6 - logs - series, series)


@cache
def count_tables() -> CountTables:
    """Return the tables, computed once per process.

    >>> float(np.exp(count_tables().partitions[5 * 6 // 2 + 2]).round())  # 5, 4+1, 3+2
    3.0
    """
    i = np.arange(FACTORIALS, dtype=np.float64)
    exact = _exact_partitions()
    logs = np.log(np.maximum(i, 1.0))
    return CountTables(log_factorials(FACTORIALS), logs, exact, _curve())


def _curve() -> np.ndarray:
    """Return the two functions of Szekeres' formula on a grid, with slopes for interpolation."""
    z = np.linspace(_LOW, _HIGH, _GRID)
    u = np.exp(z)
    v = u.copy()
    for _ in range(10_000):
        before = v
        v = u * np.sqrt(dilogarithm(-np.expm1(-v)))
        if np.abs(v - before).max() < 1e-13 * max(1.0, float(v.max())):
            break
    absent = np.exp(-v)
    f = np.log(v) - 0.5 * np.log1p(-absent * (1 + u * u / 2))
    f -= 1.5 * math.log(2.0) + np.log(u) + math.log(math.pi)
    g = 2 * v / u - u * np.log1p(-absent)
    return np.ascontiguousarray(
        np.stack([f, np.gradient(f, z, edge_order=2), g, np.gradient(g, z, edge_order=2)], axis=1)
    )


def _exact_partitions() -> np.ndarray:
    """Return log q(n, k) for n <= EXACT, from q(n, k) = q(n, k - 1) + q(n - k, k).

    One row after the other in NumPy: compiling a loop would take longer than this."""
    table = np.zeros((EXACT + 1) * (EXACT + 2) // 2)
    for n in range(1, EXACT + 1):
        base = n * (n + 1) // 2
        k = np.arange(1, n + 1)
        m = n - k
        table[base] = -np.inf
        terms = table[m * (m + 1) // 2 + np.minimum(k, m)]
        table[base + 1 : base + n + 1] = np.logaddexp.accumulate(terms)
    return table


@njit(forceinline=True, cache=True)
def log_factorial(t, n):
    """Return log n!."""
    if n < FACTORIALS:
        return t.factorials[n]
    x = np.float64(n)
    return (
        x * math.log(x)
        - x
        + 0.5 * math.log(x)
        + _HALF_LOG_2PI
        + (1.0 - 1.0 / (30.0 * x * x)) / (12.0 * x)
    )


@njit(forceinline=True, cache=True)
def log_of(t, n):
    """Return log n, 0 for n = 0."""
    return t.logs[n] if n < FACTORIALS else math.log(np.float64(n))


@njit(forceinline=True, cache=True)
def log_rise(t, n, x):
    """Return log (n + x)! - log n!."""
    if x == 1:
        return log_of(t, n + 1)
    if x == 0:
        return 0.0
    return log_factorial(t, n + x) - log_factorial(t, n)


@njit(forceinline=True, cache=True)
def log_multisets(t, places, e):
    """Return log C(places + e - 1, e)."""
    if e == 0 or places <= 1:
        return 0.0
    return log_factorial(t, places + e - 1) - log_factorial(t, e) - log_factorial(t, places - 1)


@njit(forceinline=True, cache=True)
def log_choose(t, n, k):
    """Return log C(n, k)."""
    return log_factorial(t, n) - log_factorial(t, k) - log_factorial(t, n - k)


@njit(nogil=True, cache=True)
def log_partitions(t, n, k):
    """Return the log of the number of partitions of n into at most k parts."""
    if n <= 0 or k < 1:
        return 0.0
    if k > n:
        k = n
    if n <= EXACT:
        return t.partitions[n * (n + 1) // 2 + k]
    x = np.float64(n)
    fourth = np.float64(k) * k
    if fourth * fourth < x:
        return log_choose(t, n - 1, k - 1) - log_factorial(t, k)
    z = math.log(k / math.sqrt(x))
    step = (_HIGH - _LOW) / (_GRID - 1)
    place = min(max((z - _LOW) / step, 0.0), _GRID - 1.000001)
    i = np.int64(place)
    w = place - i
    a, b = t.curve[i], t.curve[i + 1]
    h = (1 - w) * (1 - w) * (1 + 2 * w)
    p = w * (1 - w) * (1 - w) * step
    q = -w * w * (1 - w) * step
    f = h * a[0] + (1 - h) * b[0] + p * a[1] + q * b[1]
    g = h * a[2] + (1 - h) * b[2] + p * a[3] + q * b[3]
    return f - math.log(x) + math.sqrt(x) * g
