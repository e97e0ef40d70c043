"""A hash of the data, with which a checkpoint recognises the data it belongs to."""

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
