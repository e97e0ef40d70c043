"""Generalization: people are merged into clusters, and only edge counts are published."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.models import CellModel
from coterie.data import Graph

from .greedy_clusters import greedy_clusters

_WIDEST = 500  # neighbours with a higher degree are ignored


def clusters(graph: Graph, k: int = 10) -> np.ndarray:
    """Return clusters of k people with similar neighbourhoods (SaNGreeA, Campan & Truta 2008)."""
    order = np.argsort(-graph.degrees, kind="stable").astype(np.int32)
    return np.asarray(greedy_clusters(graph.indptr, graph.indices, order, k, _WIDEST))


def generalize(graph: Graph, rng: Generator, k: int = 10) -> Graph:
    """Draw a graph from the edge counts inside and between clusters of k people.

    This is what a reader of a generalized graph would sample.
    """
    return CellModel.fit(graph, clusters(graph, k), limit=1.0, exact=True).draw(rng)
