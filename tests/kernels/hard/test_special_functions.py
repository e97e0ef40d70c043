"""Special functions that are computed without SciPy."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, spence

from coterie.kernels.hard.log_counts import FACTORIALS, dilogarithm, log_factorials


def test_log_factorials_equal_those_of_scipy() -> None:
    expected = gammaln(np.arange(FACTORIALS) + 1.0)
    np.testing.assert_allclose(log_factorials(FACTORIALS), expected, rtol=2e-15, atol=0.0)


def test_dilogarithms_equal_those_of_scipy() -> None:
    z = np.concatenate([np.linspace(0.0, 1.0, 10_001), 10.0 ** -np.linspace(0.0, 15.0, 500)])
    np.testing.assert_allclose(dilogarithm(z), spence(1.0 - z), rtol=1e-14, atol=1e-15)
