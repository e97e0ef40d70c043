"""`coterie cluster` from outside: JSON, files, exit codes, Ctrl-C."""

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


def coterie(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "coterie", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **options,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
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


def test_json_files_and_truth(folder):
    out, plot, report = folder / "labels.csv", folder / "p.svg", folder / "r.html"
    done = coterie(
        "cluster", folder / "g.txt", "--blocks", 3, "--runs", 5, "--truth", folder / "truth.csv",
        "--out", out, "--plot", plot, "--report", report, "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["nodes"] == 90 and result["blocks"] == 3
    assert result["ari"] > 0.9 and result["ami"] > 0.9 and result["compared"] == 90
    assert result["converged"] is True and result["locally_optimal"] in (True, False)
    assert result["iterations"] == len(result["history"])
    assert set(result["history"][0]) == {"iteration", "seconds", "entropy", "moved"}
    with out.open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["node", "block"] and len(rows) == 91 and rows[1][0].startswith("n")
    assert plot.read_text().lstrip().startswith("<?xml") and "</svg>" in plot.read_text()
    assert "<html" in report.read_text()


def test_ratings_are_written_by_side(folder):
    out = folder / "two.csv"
    done = coterie(
        "cluster",
        folder / "r.csv",
        "--objective",
        "ratings",
        "--blocks",
        "2,3",
        "--out",
        out,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["nodes"] == [20, 7]
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
    ],
    ids=" ".join,
)
def test_bad_usage_is_exit_2_in_two_lines(folder, arguments):
    done = coterie("cluster", folder / "g.txt", *arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert len([line for line in done.stderr.splitlines() if line]) <= 4


def test_ctrl_c_writes_the_best_labels_so_far(folder):
    out = folder / "kept.csv"
    running = subprocess.Popen(
        [
            sys.executable, "-m", "coterie", "cluster", str(folder / "g.txt"), "--blocks", "3",
            "--iterations", "100000000", "--tol", "0", "--out", str(out), "--json",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        for _ in range(120):  # kernels may have to be compiled first
            time.sleep(1)
            if running.poll() is not None or _past_compiling(running.pid):
                break
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 130, stderr
    assert json.loads(stdout)["interrupted"] is True
    assert len(out.read_text().splitlines()) == 91


def _past_compiling(pid: int) -> bool:
    """Whether the search itself has been running: the kernels are on disk since the tests above."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 12


def test_killed_and_resumed(folder, tmp_path):
    """SIGKILL in the middle of a fit; the resumed run ends as if nothing had been."""
    file = tmp_path / "run.ckpt"
    given = [folder / "g.txt", "--blocks", 5, "--iterations", 1500, "--tol", 0, "--seed", 3]
    process = subprocess.Popen(
        [sys.executable, "-m", "coterie", "cluster", *map(str, given), "--checkpoint", str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while not file.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL  # it was still at work
    kept = ("--checkpoint", file, "--resume", "--json")
    resumed, whole = (
        json.loads(coterie("cluster", *given, *more).stdout) for more in (kept, ["--json"])
    )
    told = [
        (r["entropy"], r["locally_optimal"], [(i["entropy"], i["moved"]) for i in r["history"]])
        for r in (resumed, whole)
    ]
    assert told[0] == told[1] and len(whole["history"]) == 1500
