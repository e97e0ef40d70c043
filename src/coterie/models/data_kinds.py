"""Data of any kind: a hash, by which a checkpoint recognises them, and the smallest of a kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings


def data_digest(data: Ratings | Graph | ShardedRatings | ShardedGraph | np.ndarray) -> str:
    """Return a hash of the data. Sharded data are hashed by the checksums of their shards.

    >>> a, b = Graph.from_edges([0, 1], [1, 2]), Graph.from_edges([1, 2], [0, 1])
    >>> data_digest(a) == data_digest(b), data_digest(a) == data_digest(np.zeros((2, 1)))
    (True, False)
    """
    if isinstance(data, ShardedRatings | ShardedGraph):
        return digest([shard.sha256 for shard in data.shards])
    if isinstance(data, Ratings):
        return digest([data.users, data.items, data.codes, data.values])
    if isinstance(data, Graph):
        return digest([data.indptr, data.indices, data.weights, str(data.directed)])
    return digest([np.asarray(data)])


def digest(parts: Iterable[Any]) -> str:
    """Return a hash of arrays and texts; None is skipped."""
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        if part is not None:
            made.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return made.hexdigest()


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
