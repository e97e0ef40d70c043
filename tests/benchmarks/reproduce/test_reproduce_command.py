"""`python -m benchmarks.reproduce`, which `make reproduce` runs, from outside."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.reproduce.__main__ import EXAMPLES
from tests.support.command_line import coterie, result_of

from benchmarks.reproduce import NAMES

RUN = {
    "program": (sys.executable, "-m", "benchmarks.reproduce"),
    "folder": Path(__file__).resolve().parents[3],
}


def test_unknown_names_exit_2_and_write_nothing(tmp_path: Path) -> None:
    done = coterie("fig99", "--out", tmp_path / "new", **RUN)
    assert done.returncode == 2
    assert "fig99" in done.stderr and "fig-tradeoff" in done.stderr
    assert not (tmp_path / "new").exists()


def test_help_lists_every_table_and_figure() -> None:
    assert [name for name in NAMES if name not in EXAMPLES] == []


def test_budget_of_zero_is_rejected(tmp_path: Path) -> None:
    done = coterie("fig4", "--out", tmp_path / "new", "--budget", 0, **RUN)
    assert done.returncode == 2


@pytest.mark.usefixtures("data_dir")
def test_one_figure_on_the_data_of_the_paper(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result = result_of("fig-entropy", "--quick", "--out", folder, **RUN)
    rows = result["results"]["fig-entropy"]["rows"]
    best = {r["graph"]: r["entropy"] for r in rows if r["clustering"] == "best search"}
    optimized = {
        r["graph"]: r["entropy"] for r in rows if r["clustering"] == "optimized" and r["k"] == 100
    }
    assert best["CAIDA"] < optimized["CAIDA"] < 300_000
    assert (folder / "index.html").exists() and (folder / "fig-entropy-1.svg").exists()
