"""Default releases of several networks, measured from outside, through the command line only.

    python benchmarks/networks.py --out /tmp/networks
    python benchmarks/releases.py /tmp/networks/*.txt ca-astroph as-caida --quiet-machine

For each network: is it released, how long does it take, and do the communities that Leiden (igraph)
finds in the release exist in the original? "Foreign modularity" is the modularity, in the original,
of the communities found in the release. Agreement is normalised mutual information, next to that
of two runs on the original.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import igraph
import numpy as np

from coterie.data import datasets
from coterie.data.readers import read_graph
from record import Recorder, add_options, show

_RUNS = 3  # of Leiden; the run with the highest modularity counts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("networks", nargs="+", help="files, or names of data sets")
    parser.add_argument("--full", action="store_true", help="compare --full as well")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("releases", given, ["igraph"])
    rows = []
    for name in given.networks:
        row = release_and_measure(name, full=given.full)
        rows.append(row)
        show(row)
        record.add(
            "communities",
            rows,
            title="Default releases and their communities",
            data="generated networks (benchmarks/networks.py), real ones from other collections, "
            "astro-ph and CAIDA",
            asked="coterie anonymize with default options; Leiden through igraph, modularity, the "
            f"best of {_RUNS} runs",
            threads="2",
        )


def release_and_measure(name: str, *, full: bool) -> dict[str, Any]:
    """Release one network with default options and measure its communities."""
    path = Path(name) if Path(name).exists() else Path(datasets.path(name))
    label = path.name.split(".")[0]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        # A folder with the original may contain the release and the private files.
        path = Path(shutil.copy(path, work))
        environment = {**os.environ, "COTERIE_STATE": str(work / "state")}
        truth = work / "truth.csv"
        result, cost = _coterie(
            environment,
            *("anonymize", str(path), "--out", str(work / "release"), "--dataset", label),
            *("--private", str(work / "kept"), "--research-truth", str(truth)),
        )
        graph = read_graph(path)
        row: dict[str, Any] = {
            "network": label,
            "code": "present",  # rows of earlier versions, kept in the results, say "before"
            "nodes": graph.n_nodes,
            "edges": graph.n_edges,
            "released": "no" if result["refused"] else "yes",
            "reasons": "; ".join(result["reasons"]),
            **_named_edges(result["risk"]),
            **cost._asdict(),
        }
        if result["refused"]:
            return row
        published = work / "release" / "graph.csv"
        row |= _communities(path, published, truth)
        if full:
            row |= _compare(environment, path, published)
        return row


def _named_edges(risk: dict[str, Any]) -> dict[str, float]:
    """Return what attackers who know blocks and exact degrees name, and the densest cell."""
    if not risk:
        return {}
    known = risk["disclosed_edges"]["known_degrees"]
    worst = max(known["controls"], key=lambda claim: float(claim["bound"]), default={})
    return {
        "named": known["named"],
        "densest_cell": risk["disclosed_edges"]["densities"]["largest"],
        **{f"named_{key}": worst[key] for key in ("kept", "left_out", "excess", "bound") if worst},
    }


class Cost(NamedTuple):
    """What a command used."""

    seconds: float
    cpu: float
    megabytes: float


def _coterie(environment: dict[str, str], *arguments: str) -> tuple[dict[str, Any], Cost]:
    """Run a command and return its JSON output and its cost."""
    command = [sys.executable, "-m", "coterie", *arguments, "--json"]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        cost = Cost(
            time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        )
        output.seek(0)
        errors.seek(0)
        if os.waitstatus_to_exitcode(status) not in (0, 3):
            raise SystemExit(f"{' '.join(command)}\n{errors.read().decode()}")
        return dict(json.loads(output.read())), cost


def _communities(original: Path, published: Path, truth: Path) -> dict[str, float]:
    """Return modularity and agreement of the communities of the original and of the release."""
    first = read_graph(original)
    number = {str(node): i for i, node in enumerate(first.ids)}
    with truth.open(encoding="utf-8") as file:
        place = {new: number[old] for new, old in list(csv.reader(file))[1:]}
    second = read_graph(published)
    ends = [[place[str(second.ids[v])] for v in side] for side in second.edges()]
    before = _as_igraph(first.n_nodes, *first.edges())
    after = _as_igraph(first.n_nodes, *ends)
    random.seed(0)
    own, again, released = _leiden(before), _leiden(before), _leiden(after)
    foreign = before.modularity(released.membership)
    agreement = _agreement(own, released, before)
    itself = _agreement(own, again, before)
    return {
        "modularity": own.modularity,
        "released_modularity": released.modularity,
        "foreign": foreign,
        "foreign_share": foreign / own.modularity,
        "agreement": agreement,
        "own_agreement": itself,
        "agreement_share": agreement / itself,
        "communities": len(own),
        "released_communities": len(released),
    }


def _as_igraph(n: int, source: Any, target: Any) -> igraph.Graph:
    return igraph.Graph(n=n, edges=np.column_stack([source, target]).tolist())


def _leiden(graph: igraph.Graph) -> igraph.VertexClustering:
    """Return the best of several runs of Leiden."""
    runs = [
        graph.community_leiden(objective_function="modularity", n_iterations=5)
        for _ in range(_RUNS)
    ]
    return max(runs, key=lambda found: found.modularity)


def _agreement(
    one: igraph.VertexClustering, other: igraph.VertexClustering, graph: igraph.Graph
) -> float:
    """Return the normalised mutual information over the people with at least one contact."""
    linked = np.flatnonzero(graph.degree())
    sides = [
        np.unique(np.array(c.membership)[linked], return_inverse=True)[1] for c in (one, other)
    ]
    return float(igraph.compare_communities(sides[0].tolist(), sides[1].tolist(), method="nmi"))


def _compare(environment: dict[str, str], original: Path, published: Path) -> dict[str, float]:
    """Return how much of each measure is kept: shares of the original's, or differences."""
    found, _ = _coterie(environment, "compare", str(original), str(published), "--full")
    return kept_measures(found)


def kept_measures(found: dict[str, Any]) -> dict[str, float]:
    """Return the measures of `compare --full` in the release, as shares of the original's."""
    before, after = found["original"], found["published"]

    def share(*path: str) -> float:
        values = []
        for side in (before, after):
            for key in path:
                side = side[key]
            values.append(side)
        return values[1] / values[0] if values[0] else float("nan")

    return {
        "global_clustering": share("global_clustering"),
        "local_clustering": share("average_local_clustering"),
        "path_length": share("average_path_length"),
        "degree_ks": found["degree_ks"],
        "assortativity_difference": after["assortativity"] - before["assortativity"],
        "four_cliques": share("graphlets", "four_cliques"),
        "squares": share("graphlets", "squares"),
        "innermost_core": share("cores", "innermost_nodes"),
    }


if __name__ == "__main__":
    main()
