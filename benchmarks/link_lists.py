"""The top of the list of links: precision and calibration, next to two other methods.

    python benchmarks/link_lists.py                          # all networks of links.py
    python benchmarks/link_lists.py --networks ca-astroph

Ten per cent of the edges are removed at random; every method sees the rest only and lists as many
absent pairs of the whole network as were removed. Precision: the share of removed edges in the
list. Calibration error: the mean distance of the probabilities of coterie's 1,000 likeliest pairs
from the share of removed edges, in ten bins. Others: the adjacency matrix of rank 64 (SVD), and
resource allocation (the sum of 1 / degree over common neighbours). Prints one row per network.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.sparse.linalg import eigsh

import coterie as ct
from links import NETWORKS, split
from record import show

RANK = 64
ROWS = 500  # of the matrix of scores at once


def best_pairs(score, graph: ct.Graph, count: int) -> np.ndarray:
    """Return codes u * n + v of the absent pairs with the highest scores; score(rows): a matrix."""
    n = graph.n_nodes
    values, codes = np.zeros(0), np.zeros(0, np.int64)
    for first in range(0, n, ROWS):
        rows = np.arange(first, min(first + ROWS, n))
        table = np.asarray(score(rows), np.float64)
        table[graph.csr[rows].nonzero()] = -np.inf
        table[np.arange(n) <= rows[:, None]] = -np.inf
        best = np.argpartition(-table.ravel(), min(count, table.size - 1))[:count]
        values = np.concatenate([values, table.ravel()[best]])
        codes = np.concatenate([codes, rows[best // n] * n + best % n])
        kept = np.argsort(-values, kind="stable")[:count]
        values, codes = values[kept], codes[kept]
    return codes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--networks", default=",".join(NETWORKS), help="comma-separated")
    for name in parser.parse_args().networks.split(","):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = NETWORKS[name].build()
        case = split(whole)
        graph, n, m = case.training, whole.n_nodes, case.held_out
        low, high = np.sort([case.u[:m], case.v[:m]], axis=0)
        removed = low * n + high
        matrix = graph.csr.astype(np.float64)
        values, vectors = eigsh(matrix, RANK, which="LM", v0=np.ones(n))
        weighted = matrix.multiply(1 / np.maximum(graph.degrees, 1)[None, :]).tocsr()
        rank = best_pairs(lambda rows: (vectors[rows] * values) @ vectors.T, graph, m)  # noqa: B023
        allocation = best_pairs(lambda rows: (weighted[rows] @ matrix).toarray(), graph, m)  # noqa: B023
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ct.BlockModel("degree-corrected").fit(graph)
        began = time.process_time()
        links = model.predict_links(max(m, 1000))
        seconds = time.process_time() - began
        place = {name: number for number, name in enumerate(graph.ids.tolist())}
        ends = np.sort([[place[u], place[v]] for u, v, _ in links], axis=1)
        true = np.isin(ends[:, 0] * n + ends[:, 1], removed)
        p = np.array([p for *_, p in links])
        bins = np.array_split(np.arange(min(1000, len(p))), 10)
        show(
            {
                "network": name,
                "nodes": n,
                "edges": whole.n_edges,
                "precision_coterie": float(true[:m].mean()),
                "precision_rank_64": float(np.isin(rank, removed).mean()),
                "precision_resource_allocation": float(np.isin(allocation, removed).mean()),
                "calibration_error": float(
                    np.mean([abs(p[part].mean() - true[part].mean()) for part in bins])
                ),
                "mean_probability": float(p[:1000].mean()),
                "true": float(true[:1000].mean()),
                "cpu_seconds": seconds,
            }
        )


if __name__ == "__main__":
    main()
