"""Two special functions without SciPy, which takes 0.2 s to load.

Accurate to a few units in the last place: `tests/kernels/hard/test_special_functions.py` compares
them with SciPy.
"""

from __future__ import annotations

import math

import numpy as np

_TERMS = 50  # of the series of the dilogarithm: 2^-50 / 50^2 is below the rounding of its sum


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
