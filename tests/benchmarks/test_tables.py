"""The tables of README.md and docs/ come from benchmarks/results/*.json."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import pytest

from benchmarks import record, tables

PAGE = "# Title\n\n<!-- table:cluster-growth -->\nold\n<!-- /table -->\n\nText.\n"


@pytest.fixture
def results() -> dict[tuple[str, str], dict[str, object]]:
    return tables.read_results(tables.RESULTS)


@pytest.mark.parametrize("name", sorted([*tables.TABLES, *tables.SUMMARIES]))
def test_every_table_has_results_and_states_its_conditions(name, results):
    text = tables.render(name, results)
    head, rule, *_ = text.splitlines()
    assert head.count("|") == rule.count("|") > 2
    assert "Machine: " in text
    assert "coterie" in text


def test_every_recorded_section_states_its_conditions(results):
    for key, section in results.items():
        for field in ("title", "data", "asked", "threads", "command", "date", "source", "commit"):
            assert section[field], (key, field)
        assert isinstance(section["quiet"], bool), key
        assert section["rows"], key


def test_pages_agree_with_the_results(results):
    for page in tables.pages(tables.ROOT):
        text = page.read_text(encoding="utf-8")
        assert tables.filled(text, results) == text, page


def test_a_page_is_filled_and_stays_the_same_afterwards(results):
    once = tables.filled(PAGE, results)
    assert "old" not in once
    assert "milliseconds per iteration" in once
    assert once.startswith("# Title\n\n<!-- table:cluster-growth -->")
    assert once.endswith("<!-- /table -->\n\nText.\n")
    assert tables.filled(once, results) == once


def test_a_changed_figure_is_drift(results):
    once = tables.filled(PAGE, results)
    section = results["cluster", "growth"]
    changed = {**section, "rows": [{"k": 50, "milliseconds": 9.9e3}]}
    assert tables.filled(once, {**results, ("cluster", "growth"): changed}) != once


def test_check_reports_drift_and_leaves_the_page_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    page = tmp_path / "README.md"
    page.write_text(PAGE, encoding="utf-8")
    assert tables.main() == 1
    assert "README.md: a table differs" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == PAGE
    monkeypatch.setattr("sys.argv", ["tables.py"])
    assert tables.main() == 0
    monkeypatch.setattr("sys.argv", ["tables.py", "--check"])
    assert tables.main() == 0


def test_an_unknown_table_is_an_error(results):
    with pytest.raises(KeyError, match="no table 'no-such'"):
        tables.filled(PAGE.replace("cluster-growth", "no-such"), results)


def test_a_marker_without_an_end_is_an_error(results):
    with pytest.raises(ValueError, match="no <!-- /table -->"):
        tables.filled("<!-- table:cluster-growth -->\ntext\n", results)


def test_a_value_that_was_not_recorded_is_a_dash():
    assert tables._formatted("{seconds:.1f} s", {"seconds": None}) == "–"
    assert tables._formatted("{seconds:.1f} s", {"seconds": 2.04}) == "2.0 s"


def test_the_comparison_prefers_equal_thread_counts():
    def row(library: str, threads: int, seconds: float) -> dict[str, object]:
        return {
            "graph": "as-caida",
            "library": library,
            "threads": threads,
            "entropy": 10.0,
            "seconds": seconds,
        }

    rows = [row("coterie 1", 1, 5), row("coterie 1", 2, 3), row("peer 2", 1, 9)]
    ours, theirs = tables._same_threads(rows, "as-caida")
    assert (ours["threads"], ours["seconds"]) == (1, 5)
    assert (theirs["threads"], theirs["seconds"]) == (1, 9)


def test_a_cell_of_the_comparison_has_one_figure(results):
    table = tables.comparison(results).split("<small>")[0]
    for row in table.strip().splitlines()[2:]:
        ours, peer = (cell.strip() for cell in row.strip("|").split("|")[1:3])
        assert re.fullmatch(r"[\d.,]+", ours), row
        assert re.fullmatch(r"[\w +.-]+: [\d.,]+", peer), row
        assert len(row) < 160


def test_a_recorder_replaces_its_section_and_keeps_the_others(tmp_path: Path):
    given = argparse.Namespace(results=tmp_path, quiet_machine=True)
    for section, value in (("a", 1), ("b", 2), ("a", 3)):
        record.Recorder("trial", given, ["no-such-distribution"]).add(
            section,
            [{"value": value, "missing": float("nan")}],
            title="t",
            data="d",
            asked="q",
            threads="1",
        )
    found = json.loads((tmp_path / "trial.json").read_text(encoding="utf-8"))["sections"]
    assert [found[name]["rows"] for name in ("a", "b")] == [
        [{"value": 3, "missing": None}],
        [{"value": 2, "missing": None}],
    ]
    assert found["a"]["quiet"] is True
    assert found["a"]["versions"]["no-such-distribution"] == "not installed"
    assert found["a"]["machine"]["cores"] >= 1
    assert found["a"]["commit"]


def test_the_recorded_command_leaves_out_where_the_results_go(monkeypatch):
    argv = ["/x/cluster.py", "--only", "best", "--results", "/tmp/r", "--quiet-machine"]
    monkeypatch.setattr("sys.argv", argv)
    assert record.command_line() == "python benchmarks/cluster.py --only best"
