"""The same models on Dask: what it costs beside threads, what crosses the network, how fast
100 million edges are sharded.

    python benchmarks/distributed.py [mmsbm] [hard] [shard] [--small]

Every part runs the local engine with 2 threads and a LocalCluster of 2 single-threaded workers in
the same process tree, on the same data, and prints the ratio of the time an iteration. The bytes
are those that the loopback device counted, beside the formula of docs/scaling.md.
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
import time

import numpy as np
import psutil

import coterie as ct
from coterie.engine import Engine, LocalEngine
from coterie.engine.dask import DaskEngine
from coterie.graph.generators import mmsbm_ratings, planted_partition

_WORKERS = 2


class Meter:
    """Time and loopback bytes of every iteration, from the callback of a fit."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.bytes: list[int] = []

    def __call__(self, progress: object) -> None:
        if getattr(progress, "stage", "") == "fit":
            self.seconds.append(time.perf_counter())
            self.bytes.append(psutil.net_io_counters(pernic=True)["lo"].bytes_sent)

    def an_iteration(self) -> float:
        return float(np.median(np.diff(self.seconds)))

    def bytes_an_iteration(self) -> float:
        return float(np.median(np.diff(self.bytes)))


def measured(model: object, data: object, engine: Engine) -> Meter:
    meter = Meter()
    model.fit(data, engine=engine, callback=meter)  # type: ignore[attr-defined]
    return meter


def compare(name: str, model: object, data: object, formula: float, target: float) -> None:
    with LocalEngine(_WORKERS) as engine:
        local = measured(model, data, engine)
    with DaskEngine(workers=_WORKERS) as engine:
        dask = measured(model, data, engine)
    ratio = dask.an_iteration() / local.an_iteration()
    sent = dask.bytes_an_iteration()
    print(
        f"{name}: local {local.an_iteration():.3f} s, dask {dask.an_iteration():.3f} s an "
        f"iteration; ratio {ratio:.2f} (target {target}); {sent / 1e6:.2f} MB an iteration, "
        f"formula {formula / 1e6:.2f} MB ({100 * (sent / formula - 1):+.0f} %)",
        flush=True,
    )


def mmsbm(small: bool) -> None:
    n, users, items = (300_000, 10_000, 4_000) if small else (10_000_000, 100_000, 20_000)
    k = 20
    ratings, _ = mmsbm_ratings(users, items, n, (k, k), values=np.arange(1, 11), rng=0)
    formula = soft_bytes(ratings, k)
    model = ct.MMSBM(n_groups=(k, k), max_iter=6, tol=0, rng=0)
    compare(f"MMSBM, {len(ratings):,} ratings, k = l = {k}", model, ratings, formula, 1.3)


def soft_bytes(ratings: ct.Ratings, k: int) -> float:
    """docs/scaling.md: out and back, column memberships and theta, for every worker."""
    state = 8 * k * (min(ratings.n_users, ratings.n_items) + k * len(ratings.values))
    return state * (1 + _WORKERS + 2 * _WORKERS)


def hard(small: bool) -> None:
    n, m, k = (100_000, 1_000_000, 100) if small else (1_000_000, 10_000_000, 100)
    graph, _ = planted_partition(n, k, mean_degree=2 * m / n, rng=0)
    model = ct.GeneralizedKMeans(k, max_iter=6, tol=0, rng=0)
    compare(f"hard, {n:,} nodes, {graph.n_edges:,} edges, k = {k}", model, graph, 1.0, 1.5)


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
