"""Tiny data of the same kind as given data, on which a model compiles its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.kernels.numba.dispatch import worth_compiling


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


def worth_compiling_for(data: Any) -> bool:
    """Return whether a fit should compile its kernels ahead; small data may not need it.

    >>> from coterie.kernels.numba import dispatch
    >>> worth_compiling_for(Graph.from_edges([0], [1])) == (dispatch.mode() == "compiled")
    True
    """
    if isinstance(data, Graph):
        return worth_compiling(data.indptr, data.indices)
    if isinstance(data, Ratings):
        return worth_compiling(data.users, data.items)
    return worth_compiling(data) if isinstance(data, np.ndarray) else True
