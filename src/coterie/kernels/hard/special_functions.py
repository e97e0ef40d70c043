"""Two special functions as SciPy computes them, without loading SciPy: that takes 0.2 s.

Both follow the Cephes library (S. Moshier), operation by operation, so that tables made with them
have the same bits as those made with SciPy. `tests/kernels/hard/test_special_functions.py`
compares them.
"""

from __future__ import annotations

import math

import numpy as np

_HALF_LOG_2PI = 0.91893853320467274178
_SMALL, _LARGE = 13, 1000  # arguments between which one series is used, and above which another
_SERIES = (
    8.11614167470508450300e-4,
    -5.95061904284301438324e-4,
    7.93650340457716943945e-4,
    -2.77777777730099687205e-3,
    8.33333333333331927722e-2,
)
_SERIES_OF_LARGE = (
    7.9365079365079365079365e-4,
    -2.7777777777777777777778e-3,
    0.0833333333333333333333,
)
_NUMERATOR = (
    4.65128586073990045278e-5,
    7.31589045238094711071e-3,
    1.33847639578309018650e-1,
    8.79691311754530315341e-1,
    2.71149851196553469920e0,
    4.25697156008121755724e0,
    3.29771340985225106936e0,
    1.00000000000000000126e0,
)
_DENOMINATOR = (
    6.90990488912553276999e-4,
    2.54043763932544379113e-2,
    2.82974860602568089943e-1,
    1.41172597751831069617e0,
    3.63800533345137075418e0,
    5.03278880143316990390e0,
    3.54771340985225096217e0,
    9.99999999999999998740e-1,
)


def log_factorials(count: int) -> np.ndarray:
    """Return log i! for i < count.

    >>> log_factorials(4).round(6).tolist()
    [0.0, 0.0, 0.693147, 1.791759]
    """
    x = np.arange(1, count + 1, dtype=np.float64)
    result = (x - 0.5) * _log(x) - x + _HALF_LOG_2PI
    p = 1.0 / (x * x)
    result += np.where(x >= _LARGE, _polynomial(p, _SERIES_OF_LARGE), _polynomial(p, _SERIES)) / x
    few = min(count, _SMALL - 1)
    result[:few] = [math.log(math.factorial(i)) for i in range(few)]
    return result


def dilogarithm(x: np.ndarray) -> np.ndarray:
    """Return Spence's function, the dilogarithm of 1 - x, for 0 <= x <= 1.

    >>> dilogarithm(np.array([0.0, 1.0])).round(6).tolist()
    [1.644934, 0.0]
    """
    is_low = x < 0.5
    w = np.where(is_low, -x, x - 1.0)
    y = -w * _polynomial(w, _NUMERATOR) / _polynomial(w, _DENOMINATOR)
    inside = np.where((x > 0.0) & is_low, x, 0.25)
    low = math.pi * math.pi / 6.0 - _log(inside) * _log(1.0 - inside) - y
    y = np.where(is_low, low, y)
    return np.where(x == 0.0, math.pi * math.pi / 6.0, np.where(x == 1.0, 0.0, y))


def _polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Return a polynomial whose highest coefficient comes first."""
    result = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        result = result * x + c
    return result


def _log(x: np.ndarray) -> np.ndarray:
    """Return the logarithms as the C library rounds them; those of NumPy may differ."""
    return np.array([math.log(value) for value in x.tolist()], np.float64)
