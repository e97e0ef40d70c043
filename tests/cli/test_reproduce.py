"""`coterie reproduce` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def coterie(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "coterie", *arguments], capture_output=True, text=True, check=False
    )


def test_unknown_names_exit_2_and_leave_nothing(tmp_path: Path) -> None:
    done = coterie("reproduce", "fig99", "--out", str(tmp_path / "new"))
    assert done.returncode == 2
    assert "fig99" in done.stderr and "fig-tradeoff" in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_budget_of_nothing_is_refused(tmp_path: Path) -> None:
    done = coterie("reproduce", "fig4", "--out", str(tmp_path / "new"), "--budget", "0")
    assert done.returncode == 2


@pytest.mark.usefixtures("data_dir")
def test_one_figure_on_the_papers_data(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = coterie("reproduce", "fig-entropy", "--quick", "--out", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    rows = result["results"]["fig-entropy"]["rows"]
    best = {r["graph"]: r["entropy"] for r in rows if r["clustering"] == "best search"}
    optimized = {
        r["graph"]: r["entropy"] for r in rows if r["clustering"] == "optimized" and r["k"] == 100
    }
    assert best["CAIDA"] < optimized["CAIDA"] < 300_000
    assert (folder / "index.html").exists() and (folder / "fig-entropy-1.svg").exists()
