"""The cost of Dask compared with threads, network traffic, and sharding of 100 million edges.

    python benchmarks/distributed.py mmsbm hard      # about four minutes
    python benchmarks/distributed.py shard           # needs 8 GB of disk, about three minutes
    python benchmarks/distributed.py best            # 10 million nodes: an hour, 12 GB, 6 GB disk
    python benchmarks/distributed.py --small         # a tenth of the size or less

The local engine with two threads and a local Dask cluster of two single-threaded workers fit the
same model to the same data, in turns of a few iterations, and must reach the same entropies. The
table has the median time per iteration, the ratio, and the bytes that the loopback device counted
next to the formula of docs/benchmarks/scaling.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

# This file has the name of Dask's own package: its folder goes to the end of the search path, so
# that Dask finds its own package first.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _HERE] + [str(_HERE)]

# ruff: noqa: E402
import argparse
import contextlib
import json
import resource
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import psutil

import coterie as ct
from coterie.base.progress import Progress
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.engine import Engine, LocalEngine
from coterie.engine.dask import DaskEngine
from description import kept
from record import Recorder, add_options, show

_WORKERS = 2
_ITERATIONS = 30
_TURN = 5  # iterations
_BOTH = -1  # both may run


class Turns:
    """Run two fits in turns of a few iterations, so that other load disturbs both alike."""

    def __init__(self) -> None:
        self.turn, self.waiting = 0, threading.Condition()

    def take(self, mine: int) -> None:
        with self.waiting:
            self.waiting.wait_for(lambda: self.turn in (mine, _BOTH))

    def pass_on(self, turn: int) -> None:
        with self.waiting:
            if self.turn != _BOTH:
                self.turn = turn
            self.waiting.notify_all()


class Meter:
    """Time and loopback bytes per iteration, from the callback of a fit.

    The iteration after a change of turns is not counted: part of it may have run before."""

    def __init__(self, mine: int, turns: Turns) -> None:
        self.mine, self.turns = mine, turns
        self.seconds: list[float] = []
        self.bytes: list[int] = []
        self.entropies: list[float | None] = []
        self.last: tuple[float, int] | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.stage != "fit":
            return
        now = time.perf_counter(), psutil.net_io_counters(pernic=True)["lo"].bytes_sent
        if self.last is not None:
            self.seconds.append(now[0] - self.last[0])
            self.bytes.append(now[1] - self.last[1])
        self.last = now
        self.entropies.append(progress.entropy)
        if progress.done % _TURN == 0:
            self.turns.pass_on(1 - self.mine)
            self.turns.take(self.mine)
            self.last = None

    def fit(self, model: Any, data: Any, engine: Engine) -> None:
        self.turns.take(self.mine)
        try:
            model.fit(data, engine=engine, callback=self)
        finally:
            self.turns.pass_on(_BOTH)


def compare(
    record: Recorder, section: str, what: str, model: Any, data: Any, formula: float
) -> None:
    """Fit with both engines and record time per iteration and traffic."""
    turns = Turns()
    local, dask = Meter(0, turns), Meter(1, turns)
    with LocalEngine(_WORKERS) as threads, DaskEngine(workers=_WORKERS) as cluster:
        runs = ThreadPoolExecutor(2)
        fits = [
            runs.submit(local.fit, copy(model), data, threads),
            runs.submit(dask.fit, copy(model), data, cluster),
        ]
        for fit in fits:
            fit.result()
    if local.entropies != dask.entropies:
        raise AssertionError("the engines differ")
    here, there = float(np.median(local.seconds)), float(np.median(dask.seconds))
    row = {
        "model": what,
        "local_seconds": here,
        "dask_seconds": there,
        "ratio": there / here,
        "megabytes": float(np.mean(dask.bytes)) / 1e6,
        "formula_megabytes": formula / 1e6,
    }
    show(row)
    record.add(
        section,
        [row],
        title="Dask compared with threads on the same machine",
        data="generated (seed 0)",
        asked="Both engines fit the same model to the same data in turns of five iterations and "
        "reach the same entropies, bit for bit; median seconds per iteration",
        threads=f"{_WORKERS} threads; {_WORKERS} single-threaded Dask workers",
    )


def mmsbm(record: Recorder, small: bool) -> None:
    n, users, items = (300_000, 10_000, 4_000) if small else (10_000_000, 100_000, 20_000)
    k = 20
    ratings, _ = mmsbm_ratings(users, items, n, (k, k), values=np.arange(1, 11), rng=0)
    formula = soft_bytes(min(users, items), k, len(ratings.values))
    model = ct.MMSBM(n_groups=(k, k), max_iter=_ITERATIONS, tol=0, rng=0)
    what = f"MMSBM, {len(ratings):,} ratings, {k} x {k} groups"
    compare(record, "mmsbm", what, model, ratings, formula)


def soft_bytes(columns: int, k: int, values: int) -> float:
    """Return bytes per iteration: sums to one worker, new columns and theta to the others."""
    state = 8 * k * (columns + k * values)
    return 2 * (_WORKERS - 1) * state


def hard(record: Recorder, small: bool) -> None:
    n, m, k = (100_000, 1_000_000, 100) if small else (1_000_000, 10_000_000, 100)
    graph, _ = planted_partition(n, k, mean_degree=2 * m / n, rng=0)
    model = ct.GeneralizedKMeans(k, search="paper", max_iter=_ITERATIONS, tol=0, rng=0)
    what = f"hard clustering, {n:,} nodes, {graph.n_edges:,} edges, {k} blocks"
    compare(record, "hard", what, model, graph, hard_bytes(n, k, 0.1))


def hard_bytes(n: int, k: int, alpha: float) -> float:
    """Return bytes per iteration: labels, a batch and its plans, statistics and their changes."""
    label = np.min_scalar_type(k - 1).itemsize
    batch = 2 * alpha * n * (4 + label + 8)
    return (_WORKERS + 1) * (label * n + 8 * k * k) + batch + 2 * _WORKERS * 8 * k * k


def shard(record: Recorder, small: bool) -> None:
    edges = 2_000_000 if small else 100_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        write_edges(path, edges)
        code = (
            "import json, resource, sys, time\n"
            "from coterie.engine.sharding import shard_graph\n"
            "t = time.perf_counter(); made = shard_graph(*sys.argv[1:3])\n"
            "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6\n"
            "print(made.shards, made.n_edges, time.perf_counter() - t, peak)"
        )
        command = [sys.executable, "-c", code, str(path), str(Path(folder) / "shards")]
        count, kept, seconds, peak = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.split()
        size = path.stat().st_size / 1e9
    row = {
        "input": f"{edges:,} edges, {edges // 5:,} nodes, integer ids, {size:.1f} GB of text",
        "shards": int(count),
        "edges_kept": int(kept),
        "seconds": float(seconds),
        "peak_gb": float(peak),
    }
    show(row)
    record.add(
        "shard",
        [row],
        title="Cutting an edge list into shards",
        data="random edges (generated, seed 0)",
        asked="shard_graph in a separate process",
        threads=str(_WORKERS),
    )


def write_edges(path: Path, edges: int) -> None:
    """Write random edges between a fifth as many nodes, in pieces."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    options = csv.WriteOptions(include_header=False, delimiter="\t")
    with path.open("wb") as file:
        for start in range(0, edges, 1 << 22):
            ends = rng.integers(0, edges // 5, (2, min(1 << 22, edges - start)))
            csv.write_csv(pa.table({"s": ends[0], "t": ends[1]}), file, options)


def best(record: Recorder, small: bool, nodes: int | None = None) -> None:
    """Cut a planted graph into shards and cluster them, with threads and with Dask."""
    n, k, degree = nodes or (200_000 if small else 10_000_000), 100, 20
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_planted(folder, n, k, degree)
        cut = run_measured(["shard", "edges.txt", "--out", "shards"], folder)
        found = []
        for engine in ("local", "dask"):
            out = folder / f"{engine}.parquet"
            command = ["cluster", "shards", "--blocks", str(k), "--engine", engine]
            done = run_measured([*command, "--truth", "truth.parquet", "--out", out.name], folder)
            found.append(out.read_bytes())
            rows.append(
                {
                    "nodes": n,
                    "edges": done.printed["edges"],
                    "k": k,
                    "engine": engine,
                    "seconds": done.printed["seconds"],
                    "wall_seconds": done.seconds,
                    "cpu_seconds": done.cpu_seconds,
                    "peak_gb": done.peak_gb,
                    "entropy": done.printed["entropy"],
                    "ari": done.printed["ari"],
                    "shard_seconds": cut.seconds,
                    "shard_peak_gb": cut.peak_gb,
                }
            )
            show(rows[-1])
        if found[0] != found[1]:
            raise AssertionError("the engines differ")
    record.add(
        "best",
        kept(record, "best", rows, "nodes", "engine"),
        title="The best search on shards",
        data=f"planted partition, {k} blocks, mean degree {degree} (generated, seed 0)",
        asked=f"coterie shard; coterie cluster shards --blocks {k} --engine local and dask, in "
        "separate processes. Both give the same labels. Seconds of the search, seconds and CPU "
        "seconds of the whole command; peak memory of all its processes together",
        threads=f"{_WORKERS} threads; {_WORKERS} single-threaded Dask workers and the threads of "
        "the driver",
    )


def write_planted(folder: Path, n: int, k: int, degree: float) -> None:
    """Write edges.txt and truth.parquet, in a process of its own: its memory is freed."""
    code = (
        "import sys\n"
        "sys.path.append(sys.argv[1])\n"
        "import distributed_graph\n"
        "distributed_graph.write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), "
        "float(sys.argv[5]))"
    )
    command = [sys.executable, "-c", code, str(_HERE), str(folder), str(n), str(k), str(degree)]
    subprocess.run(command, check=True)


class Measured(NamedTuple):
    """What a command printed, and what it used."""

    printed: dict[str, Any]
    seconds: float
    cpu_seconds: float
    peak_gb: float  # of all its processes together, looked at twice per second


def run_measured(arguments: list[str], folder: Path) -> Measured:
    """Run a command of coterie in a folder."""
    command = [sys.executable, "-m", "coterie", *arguments, "--threads", str(_WORKERS), "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output)
        watched, peak = psutil.Process(process.pid), 0
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):
                tree = [watched, *watched.children(recursive=True)]
                peak = max(peak, sum(each.memory_info().rss for each in tree))
            time.sleep(0.5)
        seconds = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(process.returncode)
        output.seek(0)
        printed = json.load(output)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(printed, seconds, cpu, peak / 1e9)


def main() -> None:
    parts = {"mmsbm": mmsbm, "hard": hard, "shard": shard, "best": best}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(parts)} (default: all)")
    parser.add_argument("--nodes", type=int, metavar="N", help="size of the graph of `best`")
    parser.add_argument("--small", action="store_true", help="a tenth of the size or less")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("distributed", given, ["dask", "distributed", "psutil"])
    for name in given.parts or parts:
        more = {"nodes": given.nodes} if name == "best" else {}
        parts[name](record, given.small, **more)


if __name__ == "__main__":
    main()
