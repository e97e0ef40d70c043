"""Anonymization benchmarks: `python benchmarks/anonymize.py [paths] [draw] [steps] [techniques]`.

    paths       exact average path length: coterie and igraph (a sample of its sources, scaled)
    draw        a graph of 1 M nodes and 10 M edges from 1,000 blocks
    steps       the release with each of its steps switched off: utility and risk
    techniques  the table of `coterie benchmark anonymize`

Data: ca-AstroPh and as-caida in $COTERIE_DATA.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import igraph
import numpy as np

import coterie as ct
from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.baselines.benchmark import benchmark
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import cluster_for_release
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.draw.sbm import CellModel
from coterie.anonymize.output.json_form import benchmark_json
from coterie.anonymize.utility.paths import path_lengths
from coterie.data import Graph
from coterie.engine import LocalEngine

NAMES = {"astro-ph": "ca-AstroPh.txt.gz", "CAIDA": "as-caida20071105.txt.gz"}
BLOCKS = 60


def load(name: str) -> Graph:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.read_graph(Path(os.environ["COTERIE_DATA"]) / NAMES[name])


def paths(engine: LocalEngine) -> None:
    path_lengths(Graph.from_edges([0], [1]))
    for name in NAMES:
        graph = load(name)
        started = time.perf_counter()
        ours = path_lengths(graph, engine)
        seconds = time.perf_counter() - started
        peer = igraph.Graph(n=graph.n_nodes, edges=np.c_[graph.edges()].tolist())
        sources = 400
        started = time.perf_counter()
        peer.distances(source=range(sources))
        scaled = (time.perf_counter() - started) * graph.n_nodes / sources
        print(
            f"{name}: APL {ours.mean:.4f} exact in {seconds:.2f} s on {engine.threads} threads; "
            f"igraph {scaled:.0f} s (from {sources} sources); {scaled / seconds:.0f} times"
        )


def draw(engine: LocalEngine) -> None:
    n, k, inner, across = 1_000_000, 1000, 5000, 10
    rng = np.random.default_rng(0)
    block = rng.integers(0, k, n).astype(np.int32)
    sizes = np.bincount(block).astype(np.int64)
    r, s = (x.astype(np.int64) for x in np.triu_indices(k))
    pairs = np.where(r == s, sizes[r] * (sizes[r] - 1) // 2, sizes[r] * sizes[s])
    edges = np.where(r == s, inner, across).astype(np.int64)
    model = CellModel(Classes(block, block), r, s, pairs, edges, exact=False)
    for _ in range(2):
        started = time.perf_counter()
        graph = model.draw(rng, engine)
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{graph} from {k} blocks: {seconds:.2f} s, peak {peak} MB")


def steps(engine: LocalEngine) -> None:
    switched = {
        "all steps": Steps(),
        "no rewiring": Steps(rewire=False),
        "no ring": Steps(ring=False),
        "no ring, no rewiring": Steps(ring=False, rewire=False),
        "degrees kept": Steps(redraw_degrees=False),
        "no calibration": Steps(calibrate=False),
        "no reconnecting": Steps(reconnect=False),
        "blocks not cut": Steps(cut_blocks=False),
    }
    for name in NAMES:
        graph = load(name)
        labels = cluster_for_release(
            graph, BLOCKS, degree_corrected=True, min_block_size=10, rng=0, engine=engine
        )
        print(
            f"\n{name}: GCC, local, APL, KS, largest degree, assortativity, component |"
            " found with 200 seeds, guessing everyone with 200 seeds and with none, H2, true edges"
        )
        for what, chosen in switched.items():
            made = Anonymizer(BLOCKS, steps=replace(chosen)).release(
                graph, labels=labels, engine=engine
            )
            u, a4 = made.utility.published, made.risk.a4
            print(
                f"  {what:22} {u.global_clustering:.4f} {u.average_local_clustering:.3f} "
                f"{u.average_path_length:.3f} {made.utility.degree_ks:.4f} "
                f"{u.degree_max:5} {u.assortativity:.3f} {u.largest_component:.3f} | "
                f"{a4.worst.seeded[-1].correct:3} "
                f"{' '.join(f'{result.correct:3}' for result in a4.worst.guess_everyone)} "
                f"{a4.worst.neighbour_degrees_known.unique:3} {a4.averaging[0].precision:.3f}",
                flush=True,
            )


def techniques(engine: LocalEngine) -> None:
    for name in NAMES:
        print(f"\n{name}")
        for row in benchmark_json(benchmark(load(name), BLOCKS, engine=engine)):
            print("  ", {k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})


if __name__ == "__main__":
    sections = {"paths": paths, "draw": draw, "steps": steps, "techniques": techniques}
    with LocalEngine() as running:
        for section in sys.argv[1:] or sections:
            sections[section](running)
