"""Generalization: people merged into clusters, of which only edge counts are told."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.sbm import CellModel
from coterie.data import Graph
from coterie.kernels.anonymize.greedy_clusters import greedy_clusters

_WIDEST = 500


def clusters(graph: Graph, k: int = 10) -> np.ndarray:
    """Clusters of k people with like neighbourhoods, after Campan & Truta's SaNGreeA (2008)."""
    order = np.argsort(-graph.degrees, kind="stable").astype(np.int32)
    return np.asarray(greedy_clusters(graph.indptr, graph.indices, order, k, _WIDEST))


def generalize(graph: Graph, rng: Generator, k: int = 10) -> Graph:
    """A graph drawn from the edge counts inside and between clusters of k: what a reader of the
    generalized graph would sample."""
    return CellModel.fit(graph, clusters(graph, k), limit=1.0, exact=True).draw(rng)
