"""Shortest descriptions compared with graph-tool; planted graphs of four kinds; a million nodes.

    python benchmarks/description.py --only description    # about ten minutes
    python benchmarks/description.py --only nested         # about half an hour
    python benchmarks/description.py --only planted        # about three minutes
    python benchmarks/description.py --only recovery       # about three minutes
    python benchmarks/description.py --only size           # about three minutes

`description`: networks from graph-tool's own collection (skipped if /usr/bin/python3 does not have
it), without directions, weights, loops and repeated edges. Both libraries minimise the description
length of the degree-corrected block model; both results are scored by graph-tool's
`BlockState.entropy()`. CPU seconds of the search on one thread. graph-tool runs with two seeds;
the shorter description and the mean of the seconds count.

`nested`: the same with hierarchies and `NestedBlockState.entropy()`.

`planted`: graphs drawn by the rules of the Streaming Graph Challenge (Kao et al., 2017): n^0.35
blocks, in- and out-degrees from 10 to 100 with exponent 2.5, edges inside a block of average size
5 (overlap low) or 2.5 (high) times as many as those that leave it, block sizes in proportion to
Dirichlet draws (10: low variation, 10/3: high). Directions are dropped after the draw.

`recovery`: `search="best"` with the planted number of blocks, 20,000 nodes and 32 blocks, with few
and with many edges per node, five graphs each.

`size`: `search="best"` with the planted number of blocks on growing graphs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import coterie as ct
from cluster import SYSTEM_PYTHON, graph_tool_version
from coterie.data.generators import degree_corrected_sbm, planted_partition
from coterie.engine import LocalEngine
from coterie.models.agreement import adjusted_rand
from coterie.models.hard.costs import make_objective
from record import Recorder, add_options, peak_gigabytes, read_sections, show

SECTIONS = ("description", "nested", "planted", "recovery", "size")
NETWORKS = (
    "karate",
    "dolphins",
    "lesmis",
    "polbooks",
    "adjnoun",
    "football",
    "celegansneural",
    "netscience",
    "polblogs",
    "power",
    "hep-th",
    "cond-mat",
    "as-22july06",
    "astro-ph",
)
FETCH = """
import sys
import numpy as np
from graph_tool import collection
graph = collection.data[sys.argv[1]]
edges = np.sort(graph.get_edges()[:, :2], axis=1)
edges = np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)
np.save(sys.argv[2], np.unique(edges, return_inverse=True)[1].reshape(-1, 2))
"""
PEER = """
import json, sys, time
import numpy as np
import graph_tool.all as gt
edges, levels = np.load(sys.argv[1]), [*np.load(sys.argv[2]).values()]
nested, seeds = sys.argv[3] == "nested", map(int, sys.argv[4:])
gt.openmp_set_num_threads(1)
g = gt.Graph(directed=False)
g.add_vertex(int(edges.max()) + 1)
g.add_edge_list(edges)
if nested:
    ours = gt.NestedBlockState(g, bs=levels, state_args={"deg_corr": True})
    search = gt.minimize_nested_blockmodel_dl
else:
    ours = gt.BlockState(g, b=g.new_vp("int", levels[0]), deg_corr=True)
    search = gt.minimize_blockmodel_dl
runs = []
for seed in seeds:
    gt.seed_rng(seed); np.random.seed(seed)
    began = time.process_time()
    state = search(g)
    seconds = time.process_time() - began
    sizes = [int(level.get_nonempty_B()) for level in (state.levels if nested else [state])]
    runs.append({"length": state.entropy(), "cpu": seconds, "blocks": sizes})
print(json.dumps({"ours": ours.entropy(), "runs": runs}))
"""
SEEDS = (0, 1)  # of graph-tool
KINDS = {
    "low overlap, low variation": (5.0, 10.0),
    "low overlap, high variation": (5.0, 10 / 3),
    "high overlap, low variation": (2.5, 10.0),
    "high overlap, high variation": (2.5, 10 / 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated parts to run")
    parser.add_argument(
        "--nodes", type=int, default=1_000_000, help="the largest graph of `size`, e.g. 100000"
    )
    parser.add_argument(
        "--planted", default="5000,20000", help="sizes of `planted`, e.g. 5000,50000"
    )
    parser.add_argument(
        "--kinds",
        default=";".join(KINDS),
        help="kinds of `planted`, separated by semicolons; recorded figures of others are kept",
    )
    parser.add_argument(
        "--recovery",
        default="degree-corrected-20,degree-corrected-40,directed-20,directed-40",
        help="graphs of `recovery`: objective and mean degree; recorded figures of others are kept",
    )
    parser.add_argument(
        "--networks",
        default=",".join(NETWORKS),
        help="networks of `description`; recorded figures of the others are kept",
    )
    parser.add_argument(
        "--peer",
        type=Path,
        help="folder with NAME.flat.SEED.json and NAME.nested.SEED.json (length, cpu, blocks) of "
        "earlier runs of graph-tool",
    )
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("cluster", given)
    fit(planted_partition(1_500, 3, rng=0)[0], "auto", "degree-corrected")  # loads the kernels
    for name in given.only.split(","):
        if name in ("description", "nested"):
            description(record, given.networks.split(","), given.peer, nested=name == "nested")
        elif name == "planted":
            planted(record, [int(n) for n in given.planted.split(",")], given.kinds.split(";"))
        elif name == "recovery":
            recovery(record, given.recovery.split(","))
        else:
            size(record, given.nodes)


def fit(graph: ct.Graph, k: int | str, objective: str) -> tuple[ct.GeneralizedKMeans, float]:
    """Return the model fitted on one thread, and the CPU seconds."""
    with LocalEngine(1) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model = ct.BlockModel(objective, nested=k == "nested", rng=0)
        if not isinstance(k, str):
            model = ct.GeneralizedKMeans(k, objective=objective, rng=0)
        model.fit(graph, engine=engine)
        return model, time.process_time() - began


def run_peer(code: str, *arguments: Path | str) -> str:
    done = subprocess.run(
        [SYSTEM_PYTHON, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def kept(record: Recorder, section: str, measured: list[dict[str, Any]], *key: str) -> Any:
    """Return the recorded rows of a section with those that were measured now in their place."""
    rows = read_sections(record.path).get(section, {}).get("rows", [])
    merged = {tuple(row[name] for name in key): row for row in [*rows, *measured]}
    return sorted(merged.values(), key=lambda row: row["nodes"])


def description(
    record: Recorder, networks: list[str], earlier: Path | None, *, nested: bool
) -> None:
    """The shortest description that each library finds, flat or nested."""
    peer = graph_tool_version()
    if peer is None:
        print(f"graph-tool is not installed for {SYSTEM_PYTHON}: nothing to compare with")
        return
    kind = "nested" if nested else "flat"
    rows: list[dict[str, Any]] = []
    if nested:
        fit(planted_partition(1_500, 3, rng=0)[0], "nested", "degree-corrected")
    with tempfile.TemporaryDirectory() as folder:
        edges_file, labels_file = Path(folder, "edges.npy"), Path(folder, "labels.npz")
        for name in networks:
            run_peer(FETCH, name, edges_file)
            edges = np.load(edges_file)
            graph = ct.Graph.from_edges(edges[:, 0], edges[:, 1])
            model, seconds = fit(graph, "nested" if nested else "auto", "degree-corrected")
            levels = groups_of_groups(model.levels_) if nested else [model.labels_]
            np.savez(labels_file, *[np.asarray(z, np.int64) for z in levels])
            seeds = SEEDS if earlier is None else ()
            done = run_peer(PEER, edges_file, labels_file, kind, *map(str, seeds))
            theirs = json.loads(done.splitlines()[-1])
            runs = theirs["runs"] or earlier_runs(earlier, name, kind)
            best = min(runs, key=lambda run: run["length"])
            cpu = float(np.mean([run["cpu"] for run in runs]))
            rows.append(
                {
                    "graph": name,
                    "nodes": graph.n_nodes,
                    "edges": graph.n_edges,
                    "length": theirs["ours"],
                    "blocks": sizes_of([int(z.max()) + 1 for z in levels]),
                    "cpu": seconds,
                    "peer_length": best["length"],
                    "peer_blocks": sizes_of(best["blocks"]),
                    "peer_cpu": cpu,
                    "peer_runs": len(runs),
                    "difference": theirs["ours"] / best["length"] - 1,
                    "speedup": cpu / seconds,
                }
            )
            show(rows[-1])
            record_descriptions(record, rows, peer, nested=nested, earlier=earlier is not None)


def record_descriptions(
    record: Recorder, rows: list[dict[str, Any]], peer: str, *, nested: bool, earlier: bool
) -> None:
    """Write the rows so far, so that a run that is stopped is kept."""
    section = "nested" if nested else "description"
    asked, search, scored = "", "minimize_blockmodel_dl", "BlockState"
    if nested:
        asked, search, scored = ", nested=True", "minimize_nested_blockmodel_dl", "NestedBlockState"
    record.add(
        section,
        kept(record, section, rows, "graph"),
        title=f"Shortest descriptions ({asked}), degree-corrected, any number of blocks",
        data="networks of graph-tool's collection, without directions, weights, loops and repeated "
        "edges",
        asked=f'coterie: BlockModel("degree-corrected"{asked}, rng=0). '
        f"graph-tool: {search}, seeds 0 and 1 (where it ran twice): the shorter description, the "
        "mean of the CPU seconds. Both minimise the description length of the same model; both are "
        f"scored by graph-tool's {scored}.entropy(). CPU seconds of the search, in separate "
        "processes",
        threads="1",
        versions={"graph-tool": peer},
        remarks="graph-tool ran earlier in the same conditions (option --peer)" if earlier else "",
    )


def groups_of_groups(levels: list[np.ndarray]) -> list[np.ndarray]:
    """Return labels of nodes per level as labels of the groups of the level below, up to one.

    >>> [z.tolist() for z in groups_of_groups([np.array([0, 1, 2]), np.array([0, 0, 1])])]
    [[0, 1, 2], [0, 0, 1], [0, 0]]
    """
    found = [np.asarray(levels[0])]
    for below, above in itertools.pairwise(levels):
        groups = np.zeros(int(np.max(below)) + 1, np.int64)
        groups[below] = above
        found.append(groups)
    top = int(found[-1].max()) + 1
    return [*found, np.zeros(top, np.int64)]


def sizes_of(levels: list[int]) -> str:
    """Return the numbers of blocks per level, without levels of one group above others.

    >>> sizes_of([12, 3, 1, 1]), sizes_of([1, 1])
    ('12, 3', '1')
    """
    return ", ".join(f"{B:,}" for B in levels if B > 1) or "1"


def earlier_runs(folder: Path | None, name: str, kind: str) -> list[dict[str, Any]]:
    """Return the recorded runs of graph-tool for one network."""
    assert folder is not None
    files = [folder / f"{name}.{kind}.{seed}.json" for seed in SEEDS]
    return [json.loads(file.read_text()) for file in files if file.exists()]


def challenge_graph(n: int, k: int, ratio: float, alpha: float, seed: int = 0) -> Any:
    """Draw a graph by the rules of the Streaming Graph Challenge; return it and its labels.

    Out- and in-degrees have probabilities d^-2.5 from 10 to 100. Two ends are connected `ratio`
    (n - n/k) / (n/k) times as often if they are in one block, as far as the degrees allow: in a
    block of average size `ratio` edges stay inside for each that leaves, in smaller blocks fewer.
    Directions are dropped after the draw, because they do not depend on the blocks."""
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.choice(k, n, p=rng.dirichlet(np.full(k, alpha))))
    first = np.searchsorted(labels, np.arange(k + 1))
    degrees = np.arange(10, 101)
    share = degrees**-2.5 / (degrees**-2.5).sum()
    outward, inward = rng.choice(degrees, n, p=share), rng.choice(degrees, n, p=share)
    ends = np.concatenate([[0], np.cumsum(inward)])
    mass = np.diff(ends[first]).astype(float)
    flow = np.where(np.eye(k), ratio * (k - 1), 1.0)
    for _ in range(100):  # until the rows have the out-degrees and the columns the in-degrees
        flow *= (np.bincount(labels, outward, k) / flow.sum(1))[:, None]
        flow *= mass / flow.sum(0)
    source = np.repeat(np.arange(n), outward)
    target = np.empty(len(source), np.int64)
    for a in range(k):
        edges = np.flatnonzero(labels[source] == a)
        block = rng.choice(k, len(edges), p=flow[a] / flow[a].sum())
        place = ends[first[block]] + (rng.random(len(edges)) * mass[block]).astype(np.int64)
        target[edges] = np.searchsorted(ends, place, side="right") - 1
    place = rng.permutation(n)
    truth = np.empty(n, np.int64)
    truth[place] = labels
    return ct.Graph.from_edges(place[source], place[target], n_nodes=n), truth


def pairwise(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return pairwise precision and recall of blocks."""
    both = np.zeros((found.max() + 1, truth.max() + 1))
    np.add.at(both, (found, truth), 1)

    def pairs(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    return pairs(both) / pairs(both.sum(1)), pairs(both) / pairs(both.sum(0))


def planted(record: Recorder, sizes: list[int], kinds: list[str]) -> None:
    """Blocks found by `auto` in planted graphs of four kinds."""
    rows: list[dict[str, Any]] = []
    for n in sizes:
        k = int(n**0.35)
        for kind in kinds:
            ratio, alpha = KINDS[kind]
            graph, truth = challenge_graph(n, k, ratio, alpha)
            model, seconds = fit(graph, "auto", "degree-corrected")
            precision, recall = pairwise(model.labels_, truth)
            rows.append(
                {
                    "kind": kind,
                    "nodes": n,
                    "edges": graph.n_edges,
                    "planted": len(np.unique(truth)),
                    "found": int(model.labels_.max()) + 1,
                    "precision": precision,
                    "recall": recall,
                    "cpu": seconds,
                }
            )
            show(rows[-1])
    record.add(
        "planted",
        kept(record, "planted", rows, "nodes", "kind"),
        title="Planted graphs of four kinds",
        data="generated: n^0.35 blocks of unequal size, in- and out-degrees between 10 and 100, "
        "exponent 2.5, directions dropped (challenge_graph, seed 0)",
        asked='BlockModel("degree-corrected", rng=0); pairwise precision '
        "and recall of the blocks; CPU seconds",
        threads="1",
    )


def recovery(record: Recorder, graphs: list[str]) -> None:
    """Agreement of `best` with planted blocks, and the entropies of both."""
    n, k = 20_000, 32
    rows: list[dict[str, Any]] = []
    for each in graphs:
        objective, _, number = each.rpartition("-")
        degree, name = int(number), f"{objective}, mean degree {number}"
        agreement, above, spent = [], [], []
        for seed in range(5):
            if objective == "directed":
                graph, truth = planted_partition(n, k, mean_degree=degree, directed=True, rng=seed)
            else:
                graph, truth = degree_corrected_sbm(n, k, mean_degree=degree, rng=seed)
            model, seconds = fit(graph, k, objective)
            planted_state = make_objective(objective, graph)
            entropy = planted_state.entropy(planted_state.start((truth,), (k,)))
            agreement.append(adjusted_rand(model.labels_, truth))
            above.append(round(model.entropy_ - entropy, 6))
            spent.append(seconds)
            print(name, seed, agreement[-1], above[-1], seconds, flush=True)
        rows.append(
            {
                "graphs": name,
                "nodes": n,
                "ari_min": min(agreement),
                "ari_max": max(agreement),
                "above_min": min(above),
                "above_max": max(above),
                "cpu": float(np.mean(spent)),
            }
        )
        show(rows[-1])
    record.add(
        "recovery",
        kept(record, "recovery", rows, "graphs"),
        title="Planted blocks, their number given",
        data=f"{n:,} nodes, {k} blocks, a tenth of the edges between blocks (generated, seeds 0 to "
        "4); degree-corrected: power-law degrees, exponent 2.5",
        asked=f'GeneralizedKMeans({k}, objective="degree-corrected" or "directed", rng=0). '
        "Agreement: adjusted Rand index, of five graphs the lowest and the highest. Entropy: that "
        "of the result minus that of the planted blocks, in nats. Mean CPU seconds",
        threads="1",
    )


def size(record: Recorder, largest: int) -> None:
    """`best` with the planted number of blocks on growing graphs."""
    rows: list[dict[str, Any]] = []
    for n in (20_000, 100_000, 1_000_000):
        if n > largest:
            continue
        graph, truth = planted_partition(n, 100, mean_degree=20, rng=0)
        if not rows:
            fit(graph, 100, "simple")  # compiles the kernels
        model, seconds = fit(graph, 100, "simple")
        precision, recall = pairwise(model.labels_, truth)
        rows.append(
            {
                "nodes": n,
                "edges": graph.n_edges,
                "k": 100,
                "entropy": model.entropy_,
                "precision": precision,
                "recall": recall,
                "cpu": seconds,
                "peak_gb": peak_gigabytes(),
            }
        )
        show(rows[-1])
    exponent = np.polyfit([np.log(r["nodes"]) for r in rows], [np.log(r["cpu"]) for r in rows], 1)[
        0
    ]
    record.add(
        "size",
        rows,
        title="The best search on growing graphs",
        data="planted partition, 100 blocks, mean degree 20 (generated, seed 0)",
        asked='GeneralizedKMeans(100, objective="simple", search="best", rng=0); CPU seconds of '
        "the fit; peak memory of the whole process",
        threads="1",
        remarks=f"Time grows as n to the power {exponent:.2f}",
    )


if __name__ == "__main__":
    main()
