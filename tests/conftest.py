"""Shared fixtures. The big data sets are looked for in $COTERIE_DATA; without them tests skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The tests check the compiled kernels, as large inputs use them, also in other processes.
# tests/kernels/test_plain_kernels.py compares them with the plain ones.
os.environ.setdefault("COTERIE_KERNELS", "compiled")

# `make test` tries the same cases on every machine, so that a red run is the change's own doing;
# `make fuzz` tries new ones, and what it finds becomes an @example.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None)
settings.load_profile(os.environ.get("COTERIE_HYPOTHESIS", "fixed"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the paper's data sets."""
    folder = os.environ.get("COTERIE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the paper's data sets are not here: set COTERIE_DATA to their folder")
    return Path(folder)
