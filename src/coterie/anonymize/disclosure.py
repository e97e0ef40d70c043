"""A1 and A2: what follows from the model alone, without an attack (docs/anonymity.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.anonymize.blocks import block_matrix
from coterie.anonymize.classes import Cells, Classes
from coterie.graph import Graph

THRESHOLDS = (0.5, 0.9, 1.0)
_CERTAIN = 1e-12


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


def cell_disclosure(cells: Cells) -> dict[str, float]:
    """A2: share of the original edges in cells with p >= 0.5, 0.9, 1, and the largest such p."""
    return _shares(cells.probability, cells.edges)


def disclosure_with_degrees(graph: Graph, classes: Classes) -> dict[str, float]:
    """A2 for somebody who knows everybody's block and exact degree: d_u d_v e_rs / (K_r K_s)."""
    source, target = graph.edges()
    matrix = block_matrix(graph, classes.block).astype(np.float64)
    ends = np.maximum(matrix.sum(1), 1)
    rate = matrix / np.outer(ends, ends)
    d = graph.degrees.astype(np.float64)
    p = d[source] * d[target] * rate[classes.block[source], classes.block[target]]
    return _shares(p, np.ones(len(p)))


def _shares(probability: np.ndarray, edges: np.ndarray) -> dict[str, float]:
    total = max(float(edges.sum()), 1.0)
    shares = {str(t): float(edges[probability >= t - _CERTAIN].sum() / total) for t in THRESHOLDS}
    return {**shares, "largest": float(min(probability.max(initial=0.0), 1.0))}
