"""Special functions that are computed without SciPy."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln, spence

import coterie
from coterie.kernels.hard.log_counts import FACTORIALS
from coterie.kernels.hard.special_functions import dilogarithm, log_factorials

# SciPy's builds for other processors may join a product and a sum in one rounding
_SAME_BITS = platform.machine() in ("x86_64", "AMD64")


def test_log_factorials_are_those_of_scipy() -> None:
    _compare(log_factorials(FACTORIALS), gammaln(np.arange(FACTORIALS) + 1.0))


def test_few_log_factorials() -> None:
    _compare(log_factorials(3), gammaln(np.arange(3) + 1.0))


def test_dilogarithms_are_those_of_scipy() -> None:
    x = np.concatenate([np.linspace(0.0, 1.0, 10_001), 10.0 ** -np.linspace(0.0, 300.0, 2_000)])
    _compare(dilogarithm(x), spence(x))


def test_a_small_clustering_does_not_load_scipy() -> None:
    code = (
        "import sys; sys.argv = ['coterie', 'cluster', 'karate.csv', '--blocks', 'auto']\n"
        "from coterie.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'scipy.special' not in sys.modules\n"
    )
    files = Path(coterie.__file__).parent / "data" / "files"
    environment = {**os.environ, "COTERIE_KERNELS": "plain"}
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, cwd=files, env=environment, capture_output=True)


def _compare(ours: np.ndarray, scipys: np.ndarray) -> None:
    np.testing.assert_allclose(ours, scipys, rtol=1e-14, atol=1e-300)
    if _SAME_BITS:
        np.testing.assert_array_equal(ours, scipys)
