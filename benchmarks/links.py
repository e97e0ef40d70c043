"""Link prediction: AUC and average precision on held-out edges, next to three baselines.

    python benchmarks/links.py                          # all networks, about five CPU minutes
    python benchmarks/links.py --networks ca-astroph

Ten per cent of the edges are removed at random; every method sees the rest only and scores the
removed edges and as many random pairs that are not connected in the whole network. Ties count
half. Baselines: common neighbours, Adamic-Adar, and a spectral method (the 64 largest eigenvalues
of the regularised normalised adjacency matrix, multiplied by the degrees). coterie: one
degree-corrected clustering, without and with common neighbours (`closure`). The generated networks
chose the prior counts of `models/hard/link_scores.py`; the form of the score was decided with CAIDA
and astro-ph in view (docs/benchmarks/links.md).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import scipy.sparse
from scipy.sparse.linalg import eigsh
from scipy.stats import rankdata

import coterie as ct
from coterie.data import datasets
from coterie.kernels.graphs.triangles import shared_weight
from record import Recorder, add_options, show

HELD_OUT = 0.1
EIGENVALUES = 64


class Network(NamedTuple):
    """A network and the number of blocks that is fitted to it."""

    build: Callable[[], ct.Graph]
    blocks: int


def _lfr() -> ct.Graph:
    lfr = nx.LFR_benchmark_graph(
        3000, 2.5, 1.6, 0.3, average_degree=10, max_degree=100, min_community=20, seed=1
    )
    return ct.Graph.from_networkx(nx.Graph(lfr))


def _papers() -> ct.Graph:
    """Co-authors of 4,000 papers with two to six authors, mostly of one of 40 fields."""
    rng = np.random.default_rng(1)
    activity = rng.pareto(1.5, 4000) + 1
    pairs = []
    for _ in range(4000):
        weight = activity * np.where(np.arange(4000) % 40 == rng.integers(40), 1, 0.002)
        authors = rng.choice(4000, rng.integers(2, 7), replace=False, p=weight / weight.sum())
        pairs += [(a, b) for i, a in enumerate(authors) for b in authors[:i]]
    return ct.Graph.from_edges(*np.array(pairs).T, n_nodes=4000)


NETWORKS = {
    "planted": Network(
        lambda: ct.Graph.from_networkx(nx.planted_partition_graph(40, 100, 0.08, 0.002, seed=1)), 40
    ),
    "LFR": Network(_lfr, 40),
    "power law with triangles": Network(
        lambda: ct.Graph.from_networkx(nx.powerlaw_cluster_graph(5000, 5, 0.6, seed=1)), 40
    ),
    "small world": Network(
        lambda: ct.Graph.from_networkx(nx.watts_strogatz_graph(5000, 10, 0.2, seed=1)), 160
    ),
    "geometric": Network(
        lambda: ct.Graph.from_networkx(nx.random_geometric_graph(4000, 0.03, seed=1)), 160
    ),
    "papers": Network(_papers, 160),
    "as-caida": Network(lambda: ct.read_graph(datasets.path("as-caida")), 100),
    "ca-astroph": Network(lambda: ct.read_graph(datasets.path("ca-astroph")), 300),
}


class Split(NamedTuple):
    """The network without the held-out edges, and the pairs to score: the edges come first."""

    training: ct.Graph
    u: np.ndarray
    v: np.ndarray
    held_out: int


def split(graph: ct.Graph, seed: int = 0) -> Split:
    """Hold out edges, and draw as many absent pairs."""
    rng = np.random.default_rng(seed)
    edges = np.array(graph.edges(), np.int64)
    order = rng.permutation(graph.n_edges)
    count = round(HELD_OUT * graph.n_edges)
    n = graph.n_nodes
    present = np.sort(edges[0] * n + edges[1])
    absent = np.zeros((2, 0), np.int64)
    while absent.shape[1] < count:
        pairs = np.sort(rng.integers(0, n, (2, 2 * count)), axis=0)
        code = pairs[0] * n + pairs[1]
        at = np.minimum(np.searchsorted(present, code), len(present) - 1)
        absent = np.hstack([absent, pairs[:, (pairs[0] != pairs[1]) & (present[at] != code)]])
    training = ct.Graph.from_edges(*edges[:, order[count:]], n_nodes=n)
    u, v = np.hstack([edges[:, order[:count]], absent[:, :count]])
    return Split(training, u, v, count)


def auc(scores: np.ndarray, positive: int) -> float:
    """Probability that an edge is scored above an absent pair; ties count half."""
    rank = rankdata(scores)[:positive].sum() - positive * (positive + 1) / 2
    return float(rank / (positive * (len(scores) - positive)))


def average_precision(scores: np.ndarray, positive: int) -> float:
    """Mean precision at each recall; equal scores are taken together."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    found = np.cumsum(order < positive)[ends]
    return float((np.diff(found, prepend=0) / positive * found / (ends + 1)).sum())


def baselines(case: Split) -> dict[str, np.ndarray]:
    """Scores of the three baselines."""
    graph, u, v = case.training, case.u, case.v
    degree = graph.degrees.astype(np.float64)
    rows = graph.indptr, graph.indices
    adamic = 1 / np.log(np.maximum(degree, 2))
    scale = np.sqrt(degree + degree.mean())
    shrunk = scipy.sparse.diags_array(1 / scale)
    values, vectors = eigsh(
        shrunk @ graph.csr @ shrunk, EIGENVALUES, which="LM", v0=np.ones(graph.n_nodes)
    )
    place = vectors * scale[:, None]
    return {
        "common neighbours": shared_weight(*rows, np.ones(graph.n_nodes), u, v),
        "Adamic-Adar": shared_weight(*rows, adamic, u, v),
        "spectral": np.einsum("ij,j,ij->i", place[u], values, place[v]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--networks", default=",".join(NETWORKS), help="comma-separated")
    add_options(parser)
    given = parser.parse_args()
    record = Recorder("links", given, peers=("networkx",))
    rows: list[dict[str, Any]] = []
    for name in given.networks.split(","):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = NETWORKS[name].build()
        case = split(graph)
        scores = baselines(case)
        began = time.process_time()
        model = ct.GeneralizedKMeans(NETWORKS[name].blocks, objective="degree-corrected")
        model.fit(case.training)
        fitted = time.process_time() - began
        for closure in (False, True):
            began = time.process_time()
            label = "coterie" if closure else "coterie, blocks alone"
            scores[label] = model.score_pairs(case.u, case.v, closure=closure)
            scoring = time.process_time() - began
        row: dict[str, Any] = {
            "network": name,
            "nodes": graph.n_nodes,
            "edges": graph.n_edges,
            "blocks": NETWORKS[name].blocks,
            "fit_cpu": fitted,
            "score_cpu": scoring,
        }
        for method, score in scores.items():
            key = method.replace(",", "").replace("-", "_").replace(" ", "_").lower()
            row[f"auc_{key}"] = auc(score, case.held_out)
            row[f"ap_{key}"] = average_precision(score, case.held_out)
        rows.append(row)
        show(row)
    record.add(
        "held-out",
        rows,
        title="Link prediction, 10 % of the edges held out",
        data="generated networks, CAIDA, astro-ph; see benchmarks/links.py",
        asked='coterie: GeneralizedKMeans(k, objective="degree-corrected", rng=0), then '
        "score_pairs; common neighbours; Adamic-Adar; spectral: 64 eigenvalues of the regularised "
        "normalised adjacency matrix",
        threads="2",
        remarks="One split per network (seed 0), as many absent pairs as held-out edges.",
    )


if __name__ == "__main__":
    main()
