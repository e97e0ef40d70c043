"""Special functions without loading SciPy, which takes 0.2 s, for small arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_FEW = 1024  # entries up to which a loop in Python is quicker than loading SciPy


def gammaln(x: Any) -> Any:
    """Return the logarithm of the gamma function of every entry.

    The number of entries alone decides how it is computed, so that a result can be repeated.

    >>> gammaln(np.array([1.0, 5.0])).round(6).tolist()
    [0.0, 3.178054]
    >>> float(gammaln(0.0))
    inf
    """
    values = np.asarray(x, np.float64)
    if values.size > _FEW:
        from scipy.special import gammaln as scipy_gammaln

        return scipy_gammaln(values)
    result = np.array([_log_gamma(v) for v in values.ravel().tolist()], np.float64)
    return result.reshape(values.shape)[()]


def _log_gamma(v: float) -> float:
    """Return log gamma of v; infinity where it has a pole."""
    try:
        return math.lgamma(v)
    except ValueError:
        return math.inf
