"""Predictions of a saved model load neither its search nor the other models."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "files"
COUNT = """
import sys
from coterie.cli.main import main
sys.argv = ["coterie", "recommend", "top", sys.argv[1], "--user", "u1"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*(name for name in sys.modules if name.startswith("coterie")))
"""


@pytest.mark.parametrize("name", ["best", "mmsbm", "hard"])
def test_recommend_top_loads_fewer_than_100_modules(name: str) -> None:
    file = FILES / f"{name}-format-4.coterie"
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(file)], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()[-1].split()
    assert 20 < len(loaded) < 100, len(loaded)
    searches = {"coterie.models.additive.sampling", "coterie.models.soft.em"}
    assert not searches & set(loaded)
    assert not [module for module in loaded if module.startswith("coterie.models.hard.search")]
