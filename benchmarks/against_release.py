"""Compare two installed versions of coterie: results, processor time and memory.

    python benchmarks/against_release.py --old OLD/bin/python --new NEW/bin/python --out found.json

Runs six commands on generated data with both, twice each after a first run, and prints the best
processor time (user and system, of all threads), the largest memory, and the figure that must not
get worse. The exit code is 1 if a figure is worse by more than a thousandth, or the time by more
than half.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

RUNS = 2
WORSE, SLOWER = 1.001, 1.5

DATA = """
import coterie as ct
graph, _ = ct.generators.planted_partition(5000, 20, mean_degree=15, mixing=0.2, rng=0)
ct.write_graph(graph, "graph.csv")
ratings, _ = ct.generators.mmsbm_ratings(300, 200, 6_000, (4, 4), rng=0)
ct.write_ratings(ratings, "ratings.csv")
"""


class Case(NamedTuple):
    """A command and the key of its JSON output that must not grow."""

    name: str
    command: str
    key: str


CASES = (
    Case("cluster, 20 blocks", "cluster graph.csv --blocks 20", "entropy"),
    Case(
        "cluster, auto",
        "cluster graph.csv --blocks auto --objective degree-corrected",
        "description_length",
    ),
    Case("soft", "soft graph.csv --groups 5 --iterations 50", "entropy"),
    Case("evaluate, mmsbm", "recommend evaluate ratings.csv --model mmsbm --folds 2", "rmse"),
    Case("evaluate, best", "recommend evaluate ratings.csv --model best --folds 2", "rmse"),
    Case("compare", "compare graph.csv graph.csv", "degree_ks"),
)


def measure(python: str, case: Case, folder: Path) -> dict[str, Any]:
    """Run a case; return its figure, the least processor time and the largest memory (MB)."""
    command = [python, "-m", "coterie", *case.command.split(), "--json", "--quiet"]
    seconds, figure, memory = [], None, 0.0
    for _ in range(RUNS + 1):  # the first run compiles
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as messages:
            child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=messages)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            for file in (out, messages):
                file.seek(0)
            if child.returncode:
                return {"error": messages.read().decode().strip().splitlines()[-1:]}
            figure = json.load(out).get(case.key)
        seconds.append(used.ru_utime + used.ru_stime)
        memory = max(memory, used.ru_maxrss / 1024)
    return {"figure": figure, "cpu_seconds": round(min(seconds[1:]), 2), "memory_mb": round(memory)}


def verdict(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Say whether the new version is worse.

    >>> verdict({"figure": 10.0, "cpu_seconds": 1.0}, {"figure": 10.5, "cpu_seconds": 1.0})
    'worse result'
    >>> verdict({"figure": 10.0, "cpu_seconds": 1.0}, {"figure": 10.0, "cpu_seconds": 2.0})
    'slower'
    """
    if "error" in new:
        return "ends with an error"
    if "error" in old:
        return "new"
    if None not in (old["figure"], new["figure"]) and new["figure"] > WORSE * old["figure"] + 1e-9:
        return "worse result"
    return "slower" if new["cpu_seconds"] > SLOWER * old["cpu_seconds"] else "ok"


def main() -> int:
    """Compare, print the table, write the JSON file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--old", required=True, help="Python with the earlier version")
    parser.add_argument("--new", required=True, help="Python with this version")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    old, new = (os.path.abspath(python) for python in (options.old, options.new))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([new, "-c", DATA], cwd=name, check=True)
        for case in CASES:
            found = [measure(python, case, Path(name)) for python in (old, new)]
            rows.append(
                {"case": case.name, "old": found[0], "new": found[1], "verdict": verdict(*found)}
            )
            print(f"{case.name:<22}{rows[-1]['verdict']:<20}{found[0]} -> {found[1]}", flush=True)
    options.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return int(any(row["verdict"] not in ("ok", "new") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
