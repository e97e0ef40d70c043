"""The blocks of a release: a clustering with the settings that a release needs."""

from __future__ import annotations

import math

import numpy as np

from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState
from coterie.data import Graph
from coterie.engine import Engine


def default_n_blocks(graph: Graph) -> int:
    """Return the default number of blocks: half the square root of the number of nodes.

    >>> default_n_blocks(Graph.from_edges([0], [1], n_nodes=400))
    10
    """
    return max(1, round(math.sqrt(graph.n_nodes) / 2))


def cluster_for_release(
    graph: Graph,
    n_blocks: int,
    *,
    degree_corrected: bool,
    min_block_size: int,
    rng: RandomState = 0,
    engine: Engine | None = None,
    callback: Callback = silent,
) -> np.ndarray:
    """Return the block of every node (int32[n]), found with `search="best"`."""
    from coterie.models.hard.estimator import GeneralizedKMeans

    model = GeneralizedKMeans(
        n_blocks,
        objective="degree-corrected" if degree_corrected else "simple",
        search="best",
        min_block_size=min_block_size,
        rng=rng,
    )
    model.fit(graph, engine=engine or "local", callback=callback)
    if model.interrupted_:  # never release from an unfinished clustering
        raise KeyboardInterrupt
    return np.asarray(model.labels_, np.int32)
