"""Reading edges beside pandas.read_csv in the same run, peak memory, writing, and the generators.

    python benchmarks/io.py [--edges 10000000] [--nodes 1000000] [--repeats 3] [--text-ids]

The graph that `read_graph` returns is numbered, sorted, free of loops and repeats; pandas returns
the two columns. Peak memory is that of a process of its own: growth while it reads, after its
libraries are loaded and its kernels compiled.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coterie.data import Graph
from coterie.data.generators import degree_corrected_sbm, mmsbm_ratings, planted_partition
from coterie.data.readers import read_graph
from coterie.data.writers import write_graph

warnings.simplefilter("ignore")


def best(task: Callable[[], Any], repeats: int) -> float:
    """The shortest of `repeats` runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def final_bytes(graph: Graph) -> int:
    return graph.indptr.nbytes + graph.indices.nbytes + graph.ids.nbytes


def peak_megabytes() -> float:
    """The most memory this process ever held; /proc, as getrusage remembers the parent's."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_growth(path: str) -> None:
    """In a process of its own: megabytes before, added by reading, and of the final arrays."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.txt"
        small.write_text("0 1\n1 2\n5 7\n")
        read_graph(small)
    before = peak_megabytes()
    graph = read_graph(path)
    print(before, peak_megabytes() - before, final_bytes(graph) / 2**20)


def write_edges(path: Path, edges: int, nodes: int, separator: str, text_ids: bool) -> None:
    ends = np.random.default_rng(0).integers(0, nodes, (edges, 2))
    frame = pd.DataFrame(ends)
    if text_ids:
        frame = "n" + frame.astype(str)
    frame.to_csv(path, sep=separator, header=False, index=False)


def compare_reading(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for label, separator, name in (("blanks", " ", "e.txt"), ("comma", ",", "e.csv")):
            path = Path(folder) / name
            write_edges(path, args.edges, args.nodes, separator, args.text_ids)
            read_graph(path)  # compiles and warms the file cache
            theirs, ours = [], []
            for _ in range(args.repeats):  # in turns, so that both meet the same machine
                theirs.append(
                    best(lambda p=path, s=separator: pd.read_csv(p, sep=s, header=None), 1)
                )
                ours.append(best(lambda p=path: read_graph(p), 1))
            one = best(lambda p=path: read_graph(p, threads=1), 1)
            print(
                f"read {args.edges:,} edges, {label}: pandas {min(theirs):.2f} s, "
                f"read_graph {min(ours):.2f} s (one thread {one:.2f} s), "
                f"ratio {min(ours) / min(theirs):.2f} (target 1.5)"
            )
            command = [sys.executable, __file__, "--peak", str(path)]
            line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            before, growth, final = map(float, line.split())
            print(
                f"  peak memory: {growth:.0f} MB more than the {before:.0f} MB before reading; "
                f"final arrays {final:.0f} MB, ratio {growth / final:.2f} (target 4)"
            )
        graph = read_graph(Path(folder) / "e.txt")
        seconds = best(lambda: write_graph(graph, Path(folder) / "out.csv"), 1)
        print(f"write {graph.n_edges:,} edges as CSV: {seconds:.2f} s")


def time_generators(edges: int, nodes: int) -> None:
    degree = 2 * edges / nodes
    for name, task in (
        ("planted_partition", lambda: planted_partition(nodes, 100, mean_degree=degree)),
        ("degree_corrected_sbm", lambda: degree_corrected_sbm(nodes, 100, mean_degree=degree)),
        (
            "mmsbm_ratings (edges / 10)",
            lambda: mmsbm_ratings(nodes // 10, nodes // 50, edges // 10),
        ),
    ):
        planted_partition(100, 2, mean_degree=5)  # compiles
        seconds = best(task, 1)
        print(f"{name}: {seconds:.2f} s for {edges:,} edges (target 10 s)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--text-ids", action="store_true")
    parser.add_argument("--peak", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        peak_growth(args.peak)
        return
    compare_reading(args)
    time_generators(args.edges, args.nodes)


if __name__ == "__main__":
    main()
