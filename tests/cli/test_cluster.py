"""`coterie cluster` from outside: JSON, files, exit codes, Ctrl-C."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import numpy as np
import pytest
from tests.support.command_line import coterie, result_of, started, wait_for_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of three planted groups with named nodes, its truth, and some ratings."""
    path = tmp_path_factory.mktemp("cluster")
    rng = np.random.default_rng(0)
    edges = [
        (u, v)
        for u in range(90)
        for v in range(u)
        if rng.random() < (0.4 if u % 3 == v % 3 else 0.02)
    ]
    (path / "g.txt").write_text("".join(f"n{u} n{v}\n" for u, v in edges))
    (path / "truth.csv").write_text("node,block\n" + "".join(f"n{u},{u % 3}\n" for u in range(90)))
    rows = "".join(f"u{i % 20},i{i % 7},{1 + (i * i) % 5}\n" for i in range(140))
    (path / "r.csv").write_text("user,item,rating\n" + rows)
    return path


def test_json_labels_picture_report_and_truth(folder: Path) -> None:
    out, plot, report = folder / "labels.csv", folder / "p.svg", folder / "r.html"
    result = result_of(
        "cluster", folder / "g.txt", "--blocks", 3, "--truth", folder / "truth.csv",
        "--out", out, "--plot", plot, "--report", report,
    )  # fmt: skip
    assert result["nodes"] == 90 and result["blocks"] == 3 and result["objective"] == "simple"
    assert result["ari"] > 0.9 and result["ami"] > 0.9 and result["compared"] == 90
    assert result["converged"] is True
    assert result["iterations"] == len(result["history"])
    assert set(result["history"][0]) == {"iteration", "seconds", "entropy", "moved"}
    with out.open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["node", "block"] and len(rows) == 91 and rows[1][0].startswith("n")
    picture = plot.read_text("utf-8")
    assert picture.startswith("<svg ") and "The block matrix" in picture
    assert "<html" in report.read_text()


def test_best_search_is_locally_optimal_and_an_unfinished_search_is_not(folder: Path) -> None:
    given = ("cluster", folder / "g.txt", "--blocks", 3)
    assert result_of(*given)["locally_optimal"] is True
    unfinished = result_of(*given, "--search", "paper", "--iterations", 1)
    assert unfinished["locally_optimal"] is False and unfinished["converged"] is False
    printed = coterie(*given, "--search", "paper", "--iterations", 1).stdout
    assert "increase --iterations" in printed and "try --search best" in printed


def test_the_advice_to_increase_the_iterations_works_with_resume(
    folder: Path, tmp_path: Path
) -> None:
    given = (
        "cluster", folder / "g.txt", "--blocks", 3, "--search", "paper",
        "--checkpoint", tmp_path / "run.ckpt",
    )  # fmt: skip
    assert "1 (not converged; increase --iterations)" in coterie(*given, "--iterations", 1).stdout
    resumed = result_of(*given, "--iterations", 20, "--tol", 0, "--resume")
    assert resumed["iterations"] == 20


def test_table_of_ratings_counts_users_items_and_ratings(folder: Path) -> None:
    printed = coterie(
        "cluster", folder / "r.csv", "--objective", "ratings", "--blocks", "2,3"
    ).stdout
    names = [line.split()[0] for line in printed.splitlines()]
    assert names[:4] == ["users", "items", "ratings", "blocks"]


def test_ratings_are_written_by_side(folder: Path) -> None:
    out = folder / "two.csv"
    result = result_of(
        "cluster", folder / "r.csv", "--objective", "ratings", "--blocks", "2,3", "--out", out
    )
    assert result["nodes"] == [20, 7]
    lines = out.read_text().splitlines()
    assert lines[0] == "side,node,block" and len(lines) == 28


@pytest.mark.parametrize(
    "arguments",
    [
        ["--blocks", "0"],
        ["--blocks", "91"],
        ["--blocks", "three"],
        ["--blocks", "3", "--alpha", "0"],
        ["--blocks", "3", "--alpha", "1.5"],
        ["--blocks", "30", "--min-block-size", "4"],
        ["--blocks", "3", "--objective", "weighted"],
        ["--blocks", "3", "--resume"],
        ["--blocks", "auto", "--engine", "dask"],
        ["--blocks", "3", "--scheduler", "tcp://localhost:1"],
    ],
    ids=" ".join,
)
def test_bad_usage_exits_2_with_a_short_message(folder: Path, arguments: list[str]) -> None:
    done = coterie("cluster", folder / "g.txt", *arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert len([line for line in done.stderr.splitlines() if line]) <= 4


def test_ctrl_c_writes_the_best_labels_so_far(folder: Path, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "kept.csv", tmp_path / "run.ckpt"
    process = started(
        "cluster", folder / "g.txt", "--blocks", 3, "--search", "paper", "--tol", 0,
        "--iterations", 100_000_000, "--checkpoint", checkpoint, "--out", out, "--json",
    )  # fmt: skip
    try:
        wait_for_file(checkpoint, process)  # the search is running
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    assert json.loads(stdout)["interrupted"] is True
    assert len(out.read_text().splitlines()) == 91


def test_killed_and_resumed_run_equals_an_uninterrupted_one(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.ckpt"
    given = [
        *("cluster", folder / "g.txt", "--blocks", 5, "--search", "paper"),
        *("--iterations", 1500, "--tol", 0, "--seed", 3),
    ]
    process = started(*given, "--checkpoint", file)
    wait_for_file(file, process)
    process.kill()
    assert process.wait() == -signal.SIGKILL  # it was still running
    resumed = result_of(*given, "--checkpoint", file, "--resume")
    whole = result_of(*given)
    compared = [
        (r["entropy"], r["locally_optimal"], [(i["entropy"], i["moved"]) for i in r["history"]])
        for r in (resumed, whole)
    ]
    assert compared[0] == compared[1] and len(whole["history"]) == 1500


@pytest.fixture
def club(tmp_path: Path) -> Path:
    import networkx

    path = tmp_path / "club.txt"
    networkx.write_edgelist(networkx.karate_club_graph(), path, data=False)
    return path


def test_predicted_links_are_absent_and_sorted(club: Path) -> None:
    result = result_of(
        "cluster", club, "--blocks", 2, "--objective", "degree-corrected", "--predict-links", 25
    )
    pairs = {tuple(map(int, line.split())) for line in club.read_text().splitlines()}
    links = [(link["source"], link["target"]) for link in result["links"]]
    assert len(set(links)) == 25
    assert not {pair for a, b in links for pair in ((a, b), (b, a))} & pairs
    probabilities = [link["probability"] for link in result["links"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert all(0 < p < 1 for p in probabilities)
    printed = coterie("cluster", club, "--blocks", 2, "--predict-links", 25).stdout
    assert "links to expect" in printed and "5 more with --json" in printed


def test_connected_option_and_explanation(club: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    plain = result_of("cluster", club, "--blocks", 4, "--report", report)
    assert "--objective communities with --blocks auto" in report.read_text()
    assert plain["explanation"][0].startswith("These blocks are roles, not communities")
    assert "--objective communities with --blocks auto" in plain["explanation"][0]
    assert "2 of the 4 blocks are not connected inside" in plain["explanation"][1]
    connected = result_of("cluster", club, "--blocks", 4, "--connected")
    assert connected["blocks"] == 4
    assert not any("not connected" in sentence for sentence in connected["explanation"])


def test_too_many_blocks_for_the_memory_are_refused(tmp_path: Path) -> None:
    """The tables of 200,000 blocks need 7 TB."""
    path = tmp_path / "path.txt"
    path.write_text("".join(f"{v} {v + 1}\n" for v in range(200_000)))
    done = coterie("cluster", path, "--blocks", 200_000)
    assert done.returncode == 2
    assert "blocks need tables of about" in done.stderr and "--blocks" in done.stderr
