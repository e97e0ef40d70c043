"""The same models on Dask: what it costs beside threads, what crosses the network, how fast
100 million edges are sharded.

    python benchmarks/distributed.py [mmsbm] [hard] [shard] [--small]

The local engine with 2 threads and a LocalCluster of 2 single-threaded workers fit the same model
to the same data, by turns of a few iterations, and must come to the same entropies. Printed are the
medians of the time an iteration and their ratio, and the bytes that the loopback device counted,
beside the formula of docs/scaling.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

# This file has the name of Dask's own package: without this line it would be imported instead.
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).parent]

# ruff: noqa: E402
import argparse
import resource
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import Any

import numpy as np
import psutil

import coterie as ct
from coterie.base.progress import Progress
from coterie.data.generators import mmsbm_ratings, planted_partition
from coterie.engine import Engine, LocalEngine
from coterie.engine.dask import DaskEngine

_WORKERS = 2
_ITERATIONS = 30
_TURN = 5  # iterations
_BOTH = -1  # nobody waits any more


class Turns:
    """Two fits by turns, a few iterations each: what disturbs the machine disturbs both."""

    def __init__(self) -> None:
        self.whose, self.waiting = 0, threading.Condition()

    def take(self, mine: int) -> None:
        with self.waiting:
            self.waiting.wait_for(lambda: self.whose in (mine, _BOTH))

    def pass_on(self, whose: int) -> None:
        with self.waiting:
            if self.whose != _BOTH:
                self.whose = whose
            self.waiting.notify_all()


class Meter:
    """Time and loopback bytes of every iteration, from the callback of a fit.

    An iteration that follows a change of turns is not counted: a part of it may have been done
    before."""

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


def compare(name: str, model: Any, data: Any, formula: float, target: float) -> None:
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
    sent = float(np.mean(dask.bytes))
    print(
        f"{name}: local {here:.3f} s, dask {there:.3f} s an iteration; ratio {there / here:.2f} "
        f"(target {target}); {sent / 1e6:.2f} MB an iteration, formula {formula / 1e6:.2f} MB "
        f"({100 * (sent / formula - 1):+.0f} %)",
        flush=True,
    )


def mmsbm(small: bool) -> None:
    n, users, items = (300_000, 10_000, 4_000) if small else (10_000_000, 100_000, 20_000)
    k = 20
    ratings, _ = mmsbm_ratings(users, items, n, (k, k), values=np.arange(1, 11), rng=0)
    formula = soft_bytes(min(users, items), k, len(ratings.values))
    model = ct.MMSBM(n_groups=(k, k), max_iter=_ITERATIONS, tol=0, rng=0)
    compare(f"MMSBM, {len(ratings):,} ratings, k = l = {k}", model, ratings, formula, 1.3)


def soft_bytes(columns: int, k: int, values: int) -> float:
    """docs/scaling.md: sums to the worker that renews columns and theta, these to the others."""
    state = 8 * k * (columns + k * values)
    return 2 * (_WORKERS - 1) * state


def hard(small: bool) -> None:
    n, m, k = (100_000, 1_000_000, 100) if small else (1_000_000, 10_000_000, 100)
    graph, _ = planted_partition(n, k, mean_degree=2 * m / n, rng=0)
    model = ct.GeneralizedKMeans(k, search="paper", max_iter=_ITERATIONS, tol=0, rng=0)
    name = f"hard, {n:,} nodes, {graph.n_edges:,} edges, k = {k}"
    compare(name, model, graph, hard_bytes(n, k, 0.1), 1.5)


def hard_bytes(n: int, k: int, alpha: float) -> float:
    """docs/scaling.md: labels, a batch and its plans, statistics and their changes."""
    label = np.min_scalar_type(k - 1).itemsize
    batch = 2 * alpha * n * (4 + label + 8)
    return (_WORKERS + 1) * (label * n + 8 * k * k) + batch + 2 * _WORKERS * 8 * k * k


def shard(small: bool) -> None:
    edges = 2_000_000 if small else 100_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.txt"
        write_edges(path, edges)
        code = (
            "import json, resource, sys, time\n"
            "from coterie.engine.sharding import shard_graph\n"
            "t = time.perf_counter(); made = shard_graph(*sys.argv[1:3])\n"
            "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6\n"
            "print(made['shards'], made['n_edges'], time.perf_counter() - t, peak)"
        )
        command = [sys.executable, "-c", code, str(path), str(Path(folder) / "shards")]
        count, kept, seconds, peak = subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.split()
        size = path.stat().st_size / 1e9
    print(
        f"sharding {edges:,} edges ({size:.2f} GB of text, {int(kept):,} kept) into {count} "
        f"shards: {float(seconds):.0f} s, peak {float(peak):.2f} GB (targets: 600 s, 4 GB)",
        flush=True,
    )


def write_edges(path: Path, edges: int) -> None:
    """Random edges among a fifth as many nodes, in pieces."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    options = csv.WriteOptions(include_header=False, delimiter="\t")
    with path.open("wb") as file:
        for start in range(0, edges, 1 << 22):
            ends = rng.integers(0, edges // 5, (2, min(1 << 22, edges - start)))
            csv.write_csv(pa.table({"s": ends[0], "t": ends[1]}), file, options)


def main() -> None:
    parts = {"mmsbm": mmsbm, "hard": hard, "shard": shard}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(parts)}; all if none")
    parser.add_argument("--small", action="store_true", help="a tenth of the size or less")
    given = parser.parse_args()
    for name in given.parts or parts:
        parts[name](given.small)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"peak memory of the driver {peak:.2f} GB")


if __name__ == "__main__":
    main()
