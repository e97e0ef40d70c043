"""Seconds of first and later commands of a new user, whose cache of compiled kernels is empty.

Each command runs with an empty cache folder, then again. Recorded are processor and wall seconds,
and the seconds to the first line about compiling.

    python benchmarks/start_up.py --quiet-machine
    python benchmarks/start_up.py --only "cluster karate"      # only these; the others stay
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coterie
from record import Recorder, add_options, read_sections, show

_KARATE = Path(coterie.__file__).parent / "data" / "files" / "karate.csv"
_COTERIE = (sys.executable, "-m", "coterie")

# Name -> command line; `OUT` stands for a name that is new in every run
COMMANDS = {
    "import coterie (Python)": "python: import coterie",
    "GeneralizedKMeans(4).fit (Python, karate club)": (
        "python: import coterie as ct; "
        "ct.GeneralizedKMeans(4, rng=0).fit(ct.read_graph('karate.csv'))"
    ),
    "--help": "--help",
    "cluster karate --blocks auto": "cluster karate.csv --blocks auto",
    "cluster karate --blocks 4": "cluster karate.csv --blocks 4",
    "cluster karate --blocks 4 --search best": "cluster karate.csv --blocks 4 --search best",
    "cluster karate --blocks 4 --search paper": "cluster karate.csv --blocks 4 --search paper",
    "cluster, 300 people, --blocks auto": "cluster people.csv --blocks auto",
    "soft karate --groups 2": "soft karate.csv --groups 2",
    "recommend fit --model mmsbm, 2,000 ratings": (
        "recommend fit r2000.csv --model mmsbm --out OUT"
    ),
    "recommend fit --model mmsbm, 5,000 ratings": (
        "recommend fit r5000.csv --model mmsbm --out OUT"
    ),
    "recommend fit (best), 2,000 ratings": "recommend fit r2000.csv --out OUT",
    "recommend fit (best), 5,000 ratings": "recommend fit r5000.csv --out OUT",
    "recommend top (mmsbm)": "recommend top mmsbm.model --user 1",
    "recommend top (best)": "recommend top best.model --user 1",
    "anonymize, 300 people": "anonymize people.csv --out OUT --dataset OUT",
    "anonymize, 5,000 people": "anonymize many.csv --out OUT --dataset OUT",
    "compare, 300 people": "compare people.csv other.csv",
    "attack, 300 people": "attack people.csv other.csv --truth identity.csv",
    "sketch, 300 people": "sketch people.csv --dataset OUT --epsilon 2 --nodes 300 --out OUT",
    "draw, 300 people": "draw people.sketch --out OUT",
}
_PYTHON = "python: "


@dataclass(frozen=True)
class Timing:
    """What one run took, in seconds."""

    cpu: float
    wall: float
    first_line: float | None
    code: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="commands whose name contains this text")
    add_options(parser)
    given = parser.parse_args()
    recorder = Recorder("start-up", given)
    # With --only, the other rows stay
    section = read_sections(recorder.path).get("commands", {"rows": []})
    rows: dict[str, dict[str, Any]] = {row["command"]: row for row in section["rows"]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = _environment(folder)
        chosen = {k: v for k, v in COMMANDS.items() if given.only in k}
        _write_inputs(folder, environment, " ".join(chosen.values()))
        for place, (title, line) in enumerate(chosen.items()):
            cache = folder / f"cache{place}"
            here = {**environment, "NUMBA_CACHE_DIR": str(cache)}
            first = _run(line, f"{place}-1", folder, here)
            second = _run(line, f"{place}-2", folder, here)
            rows[title] = {
                "command": title,
                "first_cpu": round(first.cpu, 2),
                "first_wall": round(first.wall, 2),
                "first_line": first.first_line and round(first.first_line, 2),
                "second_cpu": round(second.cpu, 2),
                "second_wall": round(second.wall, 2),
            }
            show(rows[title])
            if failed := first.code or second.code:
                raise SystemExit(f"{title}: exit code {failed}")
            shutil.rmtree(cache, ignore_errors=True)
    recorder.add(
        "commands",
        [rows[title] for title in COMMANDS if title in rows],
        title="Seconds of a new user's first and second command",
        data="Zachary's karate club; generated: planted blocks (300 people with 900 edges, "
        "5,000 with 20,000) and ratings of 200 items",
        asked="each command with an empty cache of compiled kernels, then again",
        threads="default",
        remarks="Rows of several runs" if given.only else "",
    )


def _environment(folder: Path) -> dict[str, str]:
    """Return the environment of a person's terminal: bytecode is stored."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    kept["COTERIE_STATE"] = str(folder / "state")
    return kept


def _write_inputs(folder: Path, environment: dict[str, str], lines: str) -> None:
    """Write what the commands read; models and sketches only if they are needed."""
    shutil.copy(_KARATE, folder / "karate.csv")
    rng = random.Random(0)
    (folder / "people.csv").write_text(_blocks(rng, 300, 900))
    (folder / "other.csv").write_text(_blocks(rng, 300, 900))
    (folder / "many.csv").write_text(_blocks(rng, 5000, 20000))
    pairs = "".join(f"{i},{i}\n" for i in range(300))
    (folder / "identity.csv").write_text("original,published\n" + pairs)
    for count in (2000, 5000):
        (folder / f"r{count}.csv").write_text(_ratings(rng, count))
    environment = {**environment, "NUMBA_CACHE_DIR": str(folder / "prepared")}
    for name, line in {
        "mmsbm.model": "recommend fit r2000.csv --model mmsbm --out mmsbm.model",
        "best.model": "recommend fit r2000.csv --out best.model",
        "people.sketch": "sketch people.csv --dataset p --epsilon 2 --nodes 300 "
        "--out people.sketch",
    }.items():
        if name in lines:
            command = [*_COTERIE, *line.split()]
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    # Bytecode of the packages, which an installation has
    subprocess.run([*_COTERIE, "doctor"], cwd=folder, env=environment, capture_output=True)


def _blocks(rng: random.Random, nodes: int, edges: int) -> str:
    """Return an edge list in which seven of ten edges are inside one of the blocks."""
    size, found = max(nodes // 30, 25), set()
    for node in range(nodes):  # so that everybody has an edge
        found.add((node, node - 1 if node % size else (node + size - 1) % nodes))
    while len(found) < edges:
        a = rng.randrange(nodes)
        b = a - a % size + rng.randrange(size) if rng.random() < 0.7 else rng.randrange(nodes)
        if a != b and b < nodes and (b, a) not in found:
            found.add((a, b))
    return "from,to\n" + "".join(f"{a},{b}\n" for a, b in sorted(found))


def _ratings(rng: random.Random, count: int) -> str:
    users, items = count // 20, 200
    pairs = rng.sample([(u, i) for u in range(users) for i in range(items)], count)
    lines = (f"{u},{i},{1 + (u * 7 + i * 3 + rng.randrange(3)) % 5}\n" for u, i in pairs)
    return "user,item,rating\n" + "".join(lines)


def _run(line: str, mark: str, folder: Path, environment: dict[str, str]) -> Timing:
    """Run one command."""
    if line.startswith(_PYTHON):
        command = [sys.executable, "-c", line.removeprefix(_PYTHON)]
    else:
        command = [*_COTERIE, *(f"out-{mark}" if word == "OUT" else word for word in line.split())]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    lines: list[tuple[float, bytes]] = []

    def listen() -> None:
        assert process.stderr is not None
        lines.extend((time.perf_counter() - start, line) for line in process.stderr)

    thread = threading.Thread(target=listen)
    thread.start()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    thread.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    about = [seconds for seconds, line in lines if b"compil" in line]
    cpu = usage.ru_utime + usage.ru_stime
    return Timing(cpu, wall, about[0] if about else None, process.returncode)


if __name__ == "__main__":
    main()
