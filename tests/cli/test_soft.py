"""`coterie soft` from outside."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.data.writers import write_graph, write_table

COMMAND = [sys.executable, "-m", "coterie", "soft"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soft")
    graph, _ = planted_partition(60, 2, mean_degree=12, mixing=0.1, rng=0)
    write_graph(graph, folder / "graph.csv")
    ratings, _ = mmsbm_ratings(200, 100, 4_000, (2, 3), rng=0)
    write_table(
        folder / "ratings.csv",
        {"user": ratings.users, "item": ratings.items, "rating": ratings.ratings},
    )
    return folder


def soft(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=170, check=False
    )


def result(*arguments: object) -> dict[str, object]:
    done = soft(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_graph(files, tmp_path):
    out, report = tmp_path / "memberships.csv", tmp_path / "report.html"
    told = result(
        files / "graph.csv", "--groups", 2, "--iterations", 300, "--out", out, "--report", report
    )
    assert told["nodes"] == 60 and told["groups"] == 2
    assert told["iterations"] == len(told["history"])
    assert told["history"][0].keys() == {"iteration", "seconds", "entropy"}
    assert told["entropy"] <= told["history"][-1]["entropy"]
    assert told["seconds"] > 0
    rows = list(csv.DictReader(out.open()))
    assert list(rows[0]) == ["node", "g_0", "g_1"] and len(rows) == 60
    np.testing.assert_allclose([float(r["g_0"]) + float(r["g_1"]) for r in rows], 1)
    assert "<html" in report.read_text()


def test_ratings_and_threads(files, tmp_path):
    given = (files / "ratings.csv", "--objective", "ratings", "--groups", "2,3", "--iterations", 20)
    tables = []
    for threads in (1, 2):
        out = tmp_path / f"{threads}.csv"
        told = result(*given, "--threads", threads, "--out", out, "--method", "monte-carlo")
        tables.append(out.read_text())
    assert told["groups"] == [2, 3] and told["nodes"] == [200, 100]
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
        (["--groups", "2", "--absent", "ignored"], "looks the same"),
        (["--groups", "2,3"], "share one set"),
    ],
)
def test_bad_usage_is_exit_2_and_says_why(files, arguments, word):
    done = soft(files / "graph.csv", *arguments)
    assert done.returncode == 2
    assert word in done.stderr and "Traceback" not in done.stderr


def test_killed_and_resumed(files, tmp_path):
    """SIGKILL in the middle of a Monte-Carlo fit; the resumed run ends as if nothing had been."""
    file = tmp_path / "run.ckpt"
    given = [
        *(
            files / "ratings.csv",
            "--objective",
            "ratings",
            "--groups",
            3,
            "--method",
            "monte-carlo",
        ),
        *("--samples", 20, "--iterations", 150, "--tol", 0, "--seed", 3),
    ]
    whole = result(*given)
    process = subprocess.Popen(
        [*COMMAND, *map(str, given), "--checkpoint", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL  # it was still at work
    resumed = result(*given, "--checkpoint", file, "--resume")
    assert resumed["iterations"] == whole["iterations"] == 150
    assert resumed["entropy"] == whole["entropy"]
    entropies = [[i["entropy"] for i in told["history"]] for told in (resumed, whole)]
    assert entropies[0] == entropies[1]
