"""Hard clustering beside graph-tool: entropy, seconds of the fit, threads, growth, a million nodes.

    python benchmarks/cluster.py                 everything (graph-tool if /usr/bin/python3 has it)
    python benchmarks/cluster.py --only paper,best,graph-tool,threads,growth,million

S is computed by our own function from everybody's labels. Data: $COTERIE_DATA or the cache.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import coterie as ct
from coterie.data import datasets
from coterie.engine import LocalEngine
from coterie.models.hard.objectives import simple

GRAPHS = {"as-caida": (100, 300, 10.6), "ca-astroph": (300, 150, 26.0)}  # k, iterations, paper's s
GRAPH_TOOL = """
import json, sys, time
import numpy as np
import graph_tool.all as gt
edges, k, out = np.load(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
gt.openmp_set_num_threads(1)
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
print(json.dumps({"seconds": seconds}))
"""


def read(name: str) -> ct.Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.read_graph(datasets.path(name))


def entropy(graph: ct.Graph, labels: np.ndarray) -> float:
    objective = simple(graph)
    return objective.entropy(objective.start((labels,), (int(labels.max()) + 1,)))


def fit(graph: ct.Graph, k: int, threads: int, **options: object) -> ct.GeneralizedKMeans:
    with LocalEngine(threads) as engine:
        return ct.GeneralizedKMeans(k, rng=0, **{"search": "paper", **options}).fit(
            graph, engine=engine
        )


def paper() -> None:
    for name, (k, iterations, theirs) in GRAPHS.items():
        for score in ("exact", "fixed"):
            m = fit(read(name), k, 2, max_iter=iterations, tol=0, score=score)
            print(
                f"{name:11} k={k:<4} paper search, {score:5} S = {m.entropy_:10,.0f} "
                f"{m.seconds_:7.2f} s for {iterations} iterations on 2 threads "
                f"({theirs / m.seconds_:.1f} times faster than the paper's 32 cores)"
            )


def graph_tool(graph: ct.Graph, k: int) -> tuple[float, float] | None:
    """(S, seconds) of graph-tool, or None where it is not installed."""
    python = "/usr/bin/python3"
    probe = subprocess.run([python, "-c", "import graph_tool"], capture_output=True, check=False)
    if probe.returncode:
        return None
    with tempfile.TemporaryDirectory() as folder:
        edges, labels = Path(folder, "edges.npy"), Path(folder, "labels.npy")
        np.save(edges, np.column_stack(graph.edges()).astype(np.int64))
        done = subprocess.run(
            [python, "-c", GRAPH_TOOL, str(edges), str(k), str(labels)],
            capture_output=True,
            text=True,
            check=True,
        )
        return entropy(graph, np.load(labels)), json.loads(done.stdout)["seconds"]


def best(peer: bool) -> None:
    for name, (k, _, _) in GRAPHS.items():
        graph = read(name)
        m = fit(graph, k, 2, search="best")
        line = f"{name:11} k={k:<4} best search        S = {m.entropy_:10,.0f} {m.seconds_:7.2f} s"
        print(line + f", locally optimal: {m.locally_optimal_}")
        if peer and (theirs := graph_tool(graph, k)) is not None:
            print(
                f"{name:11} k={k:<4} graph-tool         S = {theirs[0]:10,.0f} {theirs[1]:7.2f} s"
                f"   ours/theirs: S {m.entropy_ / theirs[0]:.4f}, time {m.seconds_ / theirs[1]:.3f}"
            )
        elif peer:
            print("graph-tool is not installed for /usr/bin/python3: no peer in this run")


def threads() -> None:
    graph = read("ca-astroph")
    runs = [fit(graph, 300, t, max_iter=150, tol=0) for t in (1, 2)]
    same = bool((runs[0].labels_ == runs[1].labels_).all())
    ratio = runs[0].seconds_ / runs[1].seconds_
    one, two = (run.seconds_ for run in runs)
    print(f"threads     1: {one:.2f} s, 2: {two:.2f} s, ratio {ratio:.2f}, same labels: {same}")


def growth() -> None:
    graph = read("ca-astroph")
    ks = np.array([50, 100, 200, 400])
    each = [fit(graph, int(k), 2, max_iter=60, tol=0).seconds_ / 60 for k in ks]
    exponent = np.polyfit(np.log(ks), np.log(each), 1)[0]
    told = ", ".join(f"k={k}: {1e3 * s:.1f} ms" for k, s in zip(ks, each, strict=True))
    print(f"growth in k (astro-ph, an iteration)  {told}; exponent {exponent:.2f}")


def million() -> None:
    from coterie.data.generators import planted_partition

    seconds = []
    for n in (100_000, 1_000_000):
        graph, _ = planted_partition(n, 100, mean_degree=20, rng=0)
        began = time.perf_counter()
        m = fit(graph, 100, 2, max_iter=100, tol=0)
        seconds.append(m.seconds_)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"planted     {n:9,} nodes, {graph.n_edges:,} edges, k=100, 100 iterations: "
            f"{m.seconds_:.1f} s (with the check {time.perf_counter() - began:.1f} s), "
            f"S = {m.entropy_:,.0f}, peak {peak:.2f} GB"
        )
    print(f"planted     time at 1 M / 100 k nodes: {seconds[1] / seconds[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="paper,best,graph-tool,threads,growth,million")
    chosen = parser.parse_args().only.split(",")
    for name, part in (("paper", paper), ("threads", threads), ("growth", growth)):
        if name in chosen:
            part()
    if "best" in chosen or "graph-tool" in chosen:
        best(peer="graph-tool" in chosen)
    if "million" in chosen:
        million()


if __name__ == "__main__":
    main()
