"""A1 and A2: what follows from the model alone, without an attack (docs/anonymity.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.draw.classes import ClassCells, Classes, block_matrix
from coterie.data import Graph

THRESHOLDS = (0.5, 0.9, 1.0)
_CERTAIN = 1e-12
_LAMBDAS = (0.3, 0.5, 0.7, 0.9, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
_FEWEST = 10  # pairs named at once: fewer prove nothing


def class_risk(labels: np.ndarray) -> dict[str, Any]:
    """A1: mean over people and worst of 1 / |class|.

    >>> class_risk(np.array([0, 0, 0, 1]))
    {'mean': 0.5, 'worst': 1.0, 'classes': 2, 'smallest': 1}
    """
    sizes = np.bincount(labels)
    sizes = sizes[sizes > 0]
    return {
        "mean": float(len(sizes) / max(len(labels), 1)),
        "worst": float(1.0 / sizes.min()) if len(sizes) else 0.0,
        "classes": len(sizes),
        "smallest": int(sizes.min()) if len(sizes) else 0,
    }


def cell_disclosure(cells: ClassCells) -> dict[str, float]:
    """A2: share of the original edges in cells with p >= 0.5, 0.9, 1, and the largest such p."""
    return _shares(cells.probability, cells.edges)


def disclosure_with_degrees(
    graph: Graph, classes: Classes, certainty: float = 0.9
) -> dict[str, Any]:
    """A2 for somebody who knows everybody's block and exact degree, and the edges between blocks.

    Such an attacker expects lambda = d_u d_v e_rs / (K_r K_s) edges between two people. That is no
    probability: hubs are joined once at most. So beside the share of the edges with lambda >= 0.5,
    0.9 and 1 stands what counts: if all pairs from some lambda on are named, how many of them are
    edges. `named` is the largest share of the edges that can be named so that `certainty` of what
    is named is true, whichever lambda that takes.
    """
    source, target = graph.edges()
    block, degrees = classes.block, graph.degrees.astype(np.float64)
    matrix = block_matrix(graph, block).astype(np.float64)
    ends = np.maximum(matrix.sum(1), 1)
    rate = matrix / np.outer(ends, ends)
    of_edges = degrees[source] * degrees[target] * rate[block[source], block[target]]
    edges = np.array([(of_edges >= t - _CERTAIN).sum() for t in _LAMBDAS])
    pairs = _pairs_above(degrees, block, rate, np.array(_LAMBDAS) - _CERTAIN)
    precision = edges / np.maximum(pairs, 1)
    sure = edges[(precision >= certainty) & (pairs >= _FEWEST)]
    return {
        **_shares(of_edges, np.ones(len(of_edges))),
        "claims": [
            {"lambda": t, "pairs": int(n), "edges": int(m), "precision": float(p)}
            for t, n, m, p in zip(_LAMBDAS, pairs, edges, precision, strict=True)
        ],
        "named": float(sure.max(initial=0) / max(len(of_edges), 1)),
    }


def _pairs_above(
    degrees: np.ndarray, block: np.ndarray, rate: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """int64[levels]: the pairs of people with d_u d_v rate_rs at or above each level."""
    members = [np.sort(degrees[block == b]) for b in range(len(rate))]
    top = np.array([m[-1] if len(m) else 0.0 for m in members])
    total = np.zeros(len(levels), np.int64)
    for r, s in zip(*np.nonzero(np.triu(np.outer(top, top) * rate >= levels.min())), strict=True):
        high = members[r][members[r] * top[s] * rate[r, s] >= levels.min()]
        needed = levels / (rate[r, s] * high[:, None])
        above = (len(members[s]) - np.searchsorted(members[s], needed)).sum(0)
        if r == s:  # every pair twice, and everybody with themselves
            above = (above - (high[:, None] ** 2 * rate[r, r] >= levels).sum(0)) // 2
        total += above
    return total


def _shares(probability: np.ndarray, edges: np.ndarray) -> dict[str, float]:
    total = max(float(edges.sum()), 1.0)
    shares = {str(t): float(edges[probability >= t - _CERTAIN].sum() / total) for t in THRESHOLDS}
    return {**shares, "largest": float(min(probability.max(initial=0.0), 1.0))}
