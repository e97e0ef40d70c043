"""Tiny data of the same kind as given data, on which a model compiles its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings


def smallest_like(data: Any) -> Any:
    """Return tiny ratings, a tiny graph (directed and weighted as the data) or a few points.

    >>> smallest_like(Graph.from_edges([0], [1], directed=True)).directed
    True
    """
    if isinstance(data, Ratings | ShardedRatings):
        return Ratings.from_arrays([0, 1, 2], [0, 1, 2], [1, 2, 2])
    if isinstance(data, Graph | ShardedGraph):
        weighted = data.weighted if isinstance(data, ShardedGraph) else data.weights is not None
        weights = [1.0, 2.0] if weighted else None
        return Graph.from_edges([0, 1], [1, 2], n_nodes=3, weights=weights, directed=data.directed)
    return np.arange(6.0)[:, None]
