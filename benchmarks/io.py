"""Reading an edge list compared with pandas.read_csv, peak memory, writing, and the generators.

    python benchmarks/io.py                                    # 10 M edges, about two minutes
    python benchmarks/io.py --edges 1000000 --nodes 100000     # smaller
    python benchmarks/io.py --text-ids                         # ids such as "n123"

`read_graph` returns a graph: ids numbered, rows sorted, self-loops and repeated edges removed;
pandas returns two columns. Peak memory is the growth of a separate process while it reads, after
its libraries are loaded and its kernels compiled.
"""

from __future__ import annotations

import argparse
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

from coterie.base.machine import available_cores
from coterie.data import Graph
from coterie.data.generators import degree_corrected_sbm, mmsbm_ratings, planted_partition
from coterie.data.readers import read_graph
from coterie.data.writers import write_graph
from record import Recorder, add_options, peak_gigabytes, show

warnings.simplefilter("ignore")


def best(task: Callable[[], Any], repeats: int) -> float:
    """Return the shortest of `repeats` runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def final_bytes(graph: Graph) -> int:
    return graph.indptr.nbytes + graph.indices.nbytes + graph.ids.nbytes


def peak_growth(path: str) -> None:
    """Print megabytes before reading, added by reading, and of the final arrays."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.txt"
        small.write_text("0 1\n1 2\n5 7\n")
        read_graph(small)
    before = 1024 * peak_gigabytes()
    graph = read_graph(path)
    print(before, 1024 * peak_gigabytes() - before, final_bytes(graph) / 2**20)


def write_edges(path: Path, edges: int, nodes: int, separator: str, text_ids: bool) -> None:
    ends = np.random.default_rng(0).integers(0, nodes, (edges, 2))
    frame = pd.DataFrame(ends)
    if text_ids:
        frame = "n" + frame.astype(str)
    frame.to_csv(path, sep=separator, header=False, index=False)


def compare_reading(args: argparse.Namespace, record: Recorder) -> None:
    """Read one file with both libraries in turn, so that both meet the same machine."""
    rows = []
    ids = "text ids" if args.text_ids else "integer ids"
    with tempfile.TemporaryDirectory() as folder:
        for label, separator, name in (("spaces", " ", "e.txt"), ("commas", ",", "e.csv")):
            path = Path(folder) / name
            write_edges(path, args.edges, args.nodes, separator, args.text_ids)
            read_graph(path)  # compiles the kernels and warms the file cache
            theirs, ours = [], []
            for _ in range(args.repeats):
                theirs.append(
                    best(lambda p=path, s=separator: pd.read_csv(p, sep=s, header=None), 1)
                )
                ours.append(best(lambda p=path: read_graph(p), 1))
            one = best(lambda p=path: read_graph(p, threads=1), 1)
            command = [sys.executable, __file__, "--peak", str(path)]
            line = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            _, growth, final = map(float, line.split())
            rows.append(
                {
                    "file": f"{args.edges:,} edges, {label}, {ids}",
                    "seconds": min(ours),
                    "seconds_one_thread": one,
                    "pandas_seconds": min(theirs),
                    "peak_mb": growth,
                    "final_mb": final,
                }
            )
            show(rows[-1])
        graph = read_graph(Path(folder) / "e.txt")
        seconds = best(lambda: write_graph(graph, Path(folder) / "out.csv"), 1)
        written = {"task": f"write {graph.n_edges:,} edges as CSV", "seconds": seconds}
        show(written)
    record.add(
        "text-ids" if args.text_ids else "read",
        rows,
        title="Reading an edge list",
        data=f"{args.edges:,} random edges between {args.nodes:,} nodes, {ids}",
        asked="coterie: read_graph (a graph: ids numbered, rows sorted, self-loops and repeats "
        f"removed). pandas: read_csv (two columns). Shortest of {args.repeats} runs, in turn; "
        "peak memory is the growth of a separate process while it reads",
        threads=f"{available_cores()} (coterie; pandas uses one), and one",
    )
    record.add(
        "write",
        [written, *time_generators(args.edges, args.nodes)],
        title="Writing and generating",
        data="generated",
        asked="write_graph and the generators of coterie.data.generators; one run each",
        threads="1",
    )


def time_generators(edges: int, nodes: int) -> list[dict[str, Any]]:
    degree = 2 * edges / nodes
    planted_partition(100, 2, mean_degree=5)  # compiles the kernels
    rows = []
    for name, task in (
        (
            f"planted_partition, {edges:,} edges",
            lambda: planted_partition(nodes, 100, mean_degree=degree),
        ),
        (
            f"degree_corrected_sbm, {edges:,} edges",
            lambda: degree_corrected_sbm(nodes, 100, mean_degree=degree),
        ),
        (
            f"mmsbm_ratings, {edges // 10:,} ratings",
            lambda: mmsbm_ratings(nodes // 10, nodes // 50, edges // 10),
        ),
    ):
        rows.append({"task": f"generate by {name}", "seconds": best(task, 1)})
        show(rows[-1])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--edges", type=int, default=10_000_000, help="default 10,000,000")
    parser.add_argument("--nodes", type=int, default=1_000_000, help="default 1,000,000")
    parser.add_argument("--repeats", type=int, default=3, help="default 3")
    parser.add_argument("--text-ids", action="store_true", help='ids such as "n123"')
    parser.add_argument("--peak", metavar="FILE", help=argparse.SUPPRESS)
    add_options(parser)
    args = parser.parse_args()
    if args.peak:
        peak_growth(args.peak)
        return
    compare_reading(args, Recorder("io", args, ["pandas"]))


if __name__ == "__main__":
    main()
