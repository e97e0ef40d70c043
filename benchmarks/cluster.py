"""Hard clustering compared with graph-tool: entropy, seconds of the fit, threads, growth, size.

    python benchmarks/cluster.py --only best,paper,threads,growth     # about three minutes
    python benchmarks/cluster.py --only million                       # 10 M edges, about one minute
    python benchmarks/cluster.py --threads 1,2                        # both libraries, each number

`best` compares `search="best"` with graph-tool (skipped if /usr/bin/python3 does not have it). The
two libraries minimise different functions: coterie the entropy S at a fixed number of blocks,
graph-tool the description length with the number of blocks fixed. Both labellings are scored by S,
computed by coterie. Data: as-caida and ca-astroph, from $COTERIE_DATA or the cache.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct
from coterie.data import datasets
from coterie.data.generators import planted_partition
from coterie.engine import LocalEngine
from coterie.models.hard.costs import simple
from record import Recorder, add_options, peak_gigabytes, show

SECTIONS = ("best", "paper", "threads", "growth", "million")
GRAPHS = {"as-caida": (100, 300, 10.6), "ca-astroph": (300, 150, 26.0)}  # k, iterations, paper's s
DATA = "CAIDA (26,475 nodes, 53,381 edges), astro-ph (18,772 nodes, 198,050 edges)"
SYSTEM_PYTHON = "/usr/bin/python3"
GRAPH_TOOL = """
import json, sys, time
import numpy as np
import graph_tool.all as gt
edges, k, threads, out = np.load(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
gt.openmp_set_num_threads(threads)
gt.seed_rng(0); np.random.seed(0)
g = gt.Graph(directed=False)
g.add_vertex(int(edges.max()) + 1)
g.add_edge_list(edges)
began = time.perf_counter()
state = gt.minimize_blockmodel_dl(
    g, state_args=dict(deg_corr=False), multilevel_mcmc_args=dict(B_min=k, B_max=k))
for _ in range(10):
    if state.mcmc_sweep(niter=1, beta=np.inf)[2] == 0:
        break
seconds = time.perf_counter() - began
labels = np.unique(state.get_blocks().a, return_inverse=True)[1]
np.save(out, labels.astype(np.int32))
print(json.dumps({"seconds": seconds, "threads": gt.openmp_get_num_threads()}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated parts to run")
    parser.add_argument(
        "--threads",
        default="1,2",
        help="thread counts for coterie and for graph-tool, e.g. 1,2 (default). Other parts use "
        "the largest",
    )
    add_options(parser)
    given = parser.parse_args()
    counts = sorted({int(count) for count in given.threads.split(",")})
    record = Recorder("cluster", given)
    for name in given.only.split(","):
        if name == "best":
            best(record, counts)
        else:
            {"paper": paper, "threads": threads, "growth": growth, "million": million}[name](
                record, counts[-1]
            )


def read(name: str) -> ct.Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.read_graph(datasets.path(name))


def entropy(graph: ct.Graph, labels: np.ndarray) -> float:
    """Return the entropy S of any labelling, by coterie's own objective."""
    objective = simple(graph)
    return objective.entropy(objective.start((labels,), (int(labels.max()) + 1,)))


def fit(graph: ct.Graph, k: int, threads: int, **options: Any) -> ct.GeneralizedKMeans:
    with LocalEngine(threads) as engine:
        return ct.GeneralizedKMeans(k, rng=0, **options).fit(graph, engine=engine)


def graph_tool_version() -> str | None:
    """Return the version of graph-tool for the system's Python; None if it is not installed."""
    code = "import graph_tool; print(graph_tool.__version__.split()[0])"
    try:
        done = subprocess.run(
            [SYSTEM_PYTHON, "-c", code], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def graph_tool(graph: ct.Graph, k: int, threads: int) -> dict[str, Any]:
    """Cluster with graph-tool in a process of its own; its labels are scored by S."""
    with tempfile.TemporaryDirectory() as folder:
        edges, labels = Path(folder, "edges.npy"), Path(folder, "labels.npy")
        np.save(edges, np.column_stack(graph.edges()).astype(np.int64))
        done = subprocess.run(
            [SYSTEM_PYTHON, "-c", GRAPH_TOOL, str(edges), str(k), str(threads), str(labels)],
            capture_output=True,
            text=True,
            check=True,
        )
        said = json.loads(done.stdout.splitlines()[-1])
        return {
            "threads": said["threads"],
            "entropy": entropy(graph, np.load(labels)),
            "seconds": said["seconds"],
        }


def best(record: Recorder, counts: list[int]) -> None:
    """The lowest entropy that each library finds with k blocks, and the time it takes."""
    rows: list[dict[str, Any]] = []
    peer = graph_tool_version()
    if peer is None:
        print(f"graph-tool is not installed for {SYSTEM_PYTHON}: this run has no peer")
    for name, (k, _, _) in GRAPHS.items():
        graph = read(name)
        fit(graph, k, 1, search="best")  # compiles the kernels
        for count in counts:
            m = fit(graph, k, count, search="best")
            rows.append(
                {
                    "graph": name,
                    "k": k,
                    "library": f"coterie {ct.__version__}",
                    "minimises": "entropy S",
                    "threads": count,
                    "entropy": m.entropy_,
                    "seconds": m.seconds_,
                }
            )
            show(rows[-1])
        for count in counts if peer else ():
            found = graph_tool(graph, k, count)
            same = {"graph": name, "k": k, "library": f"graph-tool {peer}"}
            rows.append(same | {"minimises": "description length"} | found)
            show(rows[-1])
    record.add(
        "best",
        rows,
        title="Hard clustering with a fixed number of blocks",
        data=DATA,
        asked='coterie: GeneralizedKMeans(k, objective="simple", search="best", rng=0). '
        "graph-tool: minimize_blockmodel_dl without degree correction, B_min = B_max = k, then up "
        "to ten greedy sweeps (beta = inf), seed 0. graph-tool minimises the description length, "
        "coterie the entropy S; the column S scores both labellings by coterie's S. Seconds of the "
        "search alone",
        threads="see the column",
        versions={"graph-tool": peer or "not installed"},
    )


def paper(record: Recorder, count: int) -> None:
    """The search of Prost & Yoon with the iterations of their figures."""
    rows = []
    for name, (k, iterations, theirs) in GRAPHS.items():
        graph = read(name)
        for score in ("exact", "fixed"):
            m = fit(graph, k, count, search="paper", max_iter=iterations, tol=0, move_score=score)
            rows.append(
                {
                    "graph": name,
                    "k": k,
                    "score": score,
                    "iterations": iterations,
                    "threads": count,
                    "entropy": m.entropy_,
                    "seconds": m.seconds_,
                    "paper_seconds": theirs,
                }
            )
            show(rows[-1])
    record.add(
        "paper",
        rows,
        title="The search of Prost & Yoon",
        data=DATA,
        asked='coterie: GeneralizedKMeans(k, search="paper", alpha=0.1, tol=0, rng=0). The paper '
        "reports its own implementation (C++ and OpenMP on 32 cores) and no entropies",
        threads=str(count),
    )


def threads(record: Recorder, count: int) -> None:
    """The same fit on one thread and on several."""
    graph = read("ca-astroph")
    counts = (1, max(count, 2))
    runs = [fit(graph, 300, t, search="paper", max_iter=150, tol=0) for t in counts]
    same = bool((runs[0].labels_ == runs[1].labels_).all())
    rows = [
        {
            "graph": "ca-astroph",
            "k": 300,
            "threads": t,
            "seconds": run.seconds_,
            "speedup": runs[0].seconds_ / run.seconds_,
            "same_labels": same,
        }
        for t, run in zip(counts, runs, strict=True)
    ]
    for row in rows:
        show(row)
    record.add(
        "threads",
        rows,
        title="One thread and two",
        data="astro-ph (18,772 nodes, 198,050 edges)",
        asked='GeneralizedKMeans(300, search="paper", max_iter=150, tol=0, rng=0)',
        threads="see the column",
    )


def growth(record: Recorder, count: int) -> None:
    """Time per iteration as the number of blocks grows."""
    graph = read("ca-astroph")
    ks = (50, 100, 200, 400)
    each = [fit(graph, k, count, search="paper", max_iter=60, tol=0).seconds_ / 60 for k in ks]
    exponent = float(np.polyfit(np.log(ks), np.log(each), 1)[0])
    rows = [{"k": k, "milliseconds": 1e3 * s} for k, s in zip(ks, each, strict=True)]
    for row in rows:
        show(row)
    record.add(
        "growth",
        rows,
        title="Milliseconds per iteration as the number of blocks grows",
        data="astro-ph (18,772 nodes, 198,050 edges)",
        asked='GeneralizedKMeans(k, search="paper", max_iter=60, tol=0, rng=0)',
        threads=str(count),
        remarks=f"Time grows as k to the power {exponent:.2f}",
    )


def million(record: Recorder, count: int) -> None:
    """A graph ten times as large."""
    rows = []
    for n in (100_000, 1_000_000):
        graph, _ = planted_partition(n, 100, mean_degree=20, rng=0)
        began = time.perf_counter()
        m = fit(graph, 100, count, search="paper", max_iter=100, tol=0)
        rows.append(
            {
                "nodes": n,
                "edges": graph.n_edges,
                "k": 100,
                "iterations": 100,
                "entropy": m.entropy_,
                "seconds": m.seconds_,
                "seconds_with_check": time.perf_counter() - began,
                "peak_gb": peak_gigabytes(),
            }
        )
        show(rows[-1])
    record.add(
        "million",
        rows,
        title="One million nodes",
        data="planted partition, 100 blocks, mean degree 20 (generated, seed 0)",
        asked='GeneralizedKMeans(100, search="paper", max_iter=100, tol=0, rng=0); seconds of the '
        "search alone; peak memory of the whole process, generating the graph included",
        threads=str(count),
    )


if __name__ == "__main__":
    main()
