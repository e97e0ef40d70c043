"""Shared fixtures. The big data sets are looked for in $COTERIE_DATA; without them tests skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the paper's data sets."""
    folder = os.environ.get("COTERIE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the paper's data sets are not here: set COTERIE_DATA to their folder")
    return Path(folder)
