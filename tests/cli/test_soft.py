"""`coterie soft` from outside."""

from __future__ import annotations

import csv
import signal
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import coterie, result_of, started, wait_for_file

from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.data.writers import write_graph, write_table


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("soft")
    graph, _ = planted_partition(60, 2, mean_degree=12, mixing=0.1, rng=0)
    write_graph(graph, folder / "graph.csv")
    ratings, _ = mmsbm_ratings(200, 100, 4_000, (2, 3), rng=0)
    write_table(
        folder / "ratings.csv",
        {"user": ratings.users, "item": ratings.items, "rating": ratings.ratings},
    )
    return folder


def test_json_and_memberships_of_a_graph(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "memberships.csv"
    result = result_of(
        "soft", files / "graph.csv", "--groups", 2, "--iterations", 300, "--out", out
    )
    assert result["nodes"] == 60 and result["groups"] == 2
    assert result["iterations"] == len(result["history"])
    assert result["history"][0].keys() == {"iteration", "seconds", "entropy"}
    assert result["entropy"] <= result["history"][-1]["entropy"]
    assert result["seconds"] > 0 and "locally_optimal" not in result
    rows = list(csv.DictReader(out.open()))
    assert list(rows[0]) == ["node", "g_0", "g_1"] and len(rows) == 60
    np.testing.assert_allclose([float(r["g_0"]) + float(r["g_1"]) for r in rows], 1)


def test_report_is_written_and_its_path_printed(files: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = coterie(
        "soft", files / "graph.csv", "--groups", 2, "--iterations", 3, "--report", report
    )
    assert done.returncode == 0, done.stderr
    assert str(report) in done.stdout
    assert "<html" in report.read_text()


def test_absent_is_a_second_name_of_absent_pairs(files: Path) -> None:
    given = ("soft", files / "graph.csv", "--groups", 2, "--iterations", 3)
    entropies = [
        result_of(*given, option, "sampled")["entropy"] for option in ("--absent-pairs", "--absent")
    ]
    assert entropies[0] == entropies[1]


def test_ratings_give_the_same_memberships_on_any_number_of_threads(
    files: Path, tmp_path: Path
) -> None:
    given = (
        *("soft", files / "ratings.csv", "--objective", "ratings", "--groups", "2,3"),
        *("--iterations", 20, "--method", "monte-carlo"),
    )
    tables = []
    for threads in (1, 2):
        out = tmp_path / f"{threads}.csv"
        result = result_of(*given, "--threads", threads, "--out", out)
        tables.append(out.read_text())
    assert result["groups"] == [2, 3] and result["nodes"] == [200, 100]
    assert tables[0] == tables[1]
    rows = list(csv.DictReader(tables[0].splitlines()))
    assert list(rows[0]) == ["side", "node", "g_0", "g_1", "g_2"]
    assert {row["side"] for row in rows if row["g_2"] == ""} == {"user"}


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--groups", "0"], "--groups"),
        (["--groups", "two"], "--groups"),
        (["--groups", "2", "--resume"], "--checkpoint"),
        (["--groups", "2", "--samples", "5"], "monte-carlo"),
        (["--groups", "2", "--absent-pairs", "ignored"], "--absent-pairs"),
        (["--groups", "2,3"], "--groups"),
    ],
)
def test_bad_usage_exits_2_and_names_the_option(
    files: Path, arguments: list[str], word: str
) -> None:
    done = coterie("soft", files / "graph.csv", *arguments)
    assert done.returncode == 2
    assert word in done.stderr and "Traceback" not in done.stderr


def test_killed_and_resumed_run_equals_an_uninterrupted_one(files: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    given = [
        *("soft", files / "ratings.csv", "--objective", "ratings", "--groups", 3),
        *("--method", "monte-carlo", "--samples", 20, "--iterations", 150, "--tol", 0, "--seed", 3),
    ]
    whole = result_of(*given)
    process = started(*given, "--checkpoint", file)
    wait_for_file(file, process)
    process.kill()
    assert process.wait() == -signal.SIGKILL  # it was still running
    resumed = result_of(*given, "--checkpoint", file, "--resume")
    assert resumed["iterations"] == whole["iterations"] == 150
    assert resumed["entropy"] == whole["entropy"]
    entropies = [[i["entropy"] for i in result["history"]] for result in (resumed, whole)]
    assert entropies[0] == entropies[1]


def test_the_default_start_is_a_hard_clustering_and_it_is_compared(files: Path) -> None:
    given = ("soft", files / "graph.csv", "--groups", 2, "--iterations", 200)
    result = result_of(*given)
    hard = result_of("cluster", files / "graph.csv", "--blocks", 2)
    assert result["init"] == "hard"
    assert result["hard_entropy"] == pytest.approx(hard["entropy"], rel=0.01)
    assert result["entropy"] < result["hard_entropy"]
    random = result_of(*given, "--init", "random")
    assert random["init"] == "random" and random["hard_entropy"] is None
    assert result["entropy"] <= random["entropy"] * 1.001
    printed = coterie(*given).stdout
    assert "hard clustering" in printed and "mixed memberships lower it by" in printed
