"""Special functions that are computed without SciPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.special import gammaln, spence

import coterie
from coterie.kernels.hard.log_counts import FACTORIALS
from coterie.kernels.hard.special_functions import dilogarithm, log_factorials


def test_log_factorials_equal_those_of_scipy() -> None:
    expected = gammaln(np.arange(FACTORIALS) + 1.0)
    np.testing.assert_allclose(log_factorials(FACTORIALS), expected, rtol=2e-15, atol=0.0)


def test_dilogarithms_equal_those_of_scipy() -> None:
    z = np.concatenate([np.linspace(0.0, 1.0, 10_001), 10.0 ** -np.linspace(0.0, 15.0, 500)])
    np.testing.assert_allclose(dilogarithm(z), spence(1.0 - z), rtol=1e-14, atol=1e-15)


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
