"""tools/equality.py finds differences, and permits only what its tables list."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "equality.py"


def compared(folder: Path, before: Any, after: Any) -> tuple[int, str]:
    for name, content in (("before", before), ("after", after)):
        (folder / name / "cluster").mkdir(parents=True)
        (folder / name / "cluster" / "01.json").write_text(json.dumps(content))
    command = [sys.executable, str(TOOL), "compare", str(folder / "before"), str(folder / "after")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("before", "after", "code", "verdict"),
    [
        ({"entropy": 0.1, "seconds": 1}, {"entropy": 0.1, "seconds": 2}, 0, "1 equal"),
        ({"risk": {"a1": 3}}, {"risk": {"class_size": 3}}, 0, "1 equal after renames"),
        ({"stderr": ["took 3 s"]}, {"stderr": ["took 0.1 s"]}, 0, "1 equal"),
        ({"stderr": ["a word"]}, {"stderr": ["another"]}, 1, "1 different words"),
        ({"entropy": 0.1}, {"entropy": 0.1 + 2e-17}, 1, "1 different"),
        ({"labels": [1, 2]}, {"labels": [1, 2, 3]}, 1, "1 different"),
        ({"risk": {"a1": 3}}, {"risk": {"class_size": 4}}, 1, "1 different"),
        ({"files": {"work/a.csv": ["1"]}}, {"files": {}}, 1, "1 different"),
    ],
)
def test_verdict(tmp_path: Path, before: Any, after: Any, code: int, verdict: str) -> None:
    found, printed = compared(tmp_path, {"stdout": before}, {"stdout": after})
    assert (found, printed.splitlines()[-1]) == (code, verdict), printed


def test_the_first_difference_is_printed(tmp_path: Path) -> None:
    _, printed = compared(tmp_path, {"stdout": {"blocks": 3}}, {"stdout": {"blocks": 4}})
    assert "/stdout/blocks\n      before: 3\n      after:  4" in printed
