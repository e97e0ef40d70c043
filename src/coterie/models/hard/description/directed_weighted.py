"""Graphs with directions or real-valued weights: their data, and how they are searched.

Directions alone are searched as undirected graphs are. Real-valued weights have fewer means: merge
blocks in levels with moves between them, cut every block into random pieces and repeat, keep the
best, and move single nodes until none moves. The number of blocks is free, or fixed.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.data import Graph
from coterie.kernels.hard.description_state import Multigraph
from coterie.models.hard.costs import make_objective
from coterie.models.hard.costs.graphs import both_directions
from coterie.models.hard.description.fit import Described, DescriptionRun, shortest_description
from coterie.models.hard.description.search import ANY, Strategy
from coterie.models.hard.description.state import DescriptionData, ModelKind, multigraph
from coterie.models.hard.weight_models import WeightModel, no_weights, weight_model

DIRECTED = ("directed", "directed-degree-corrected")

_START = 1500  # the search starts with at most this many blocks: the tables of cells are dense
_START_PER_ROOT = 2.5  # … without weights with this many times sqrt(edges)


def cell_data(graph: Graph, objective: str, weights: str = "counts") -> DescriptionData:
    """Return the data of a description: `objective` is the model of the edges, `weights` that of
    their weights ("counts": they are ignored)."""
    held = no_weights() if weights == "counts" else weight_model(weights, graph)
    directed = objective in DIRECTED
    corrected = objective in ("degree-corrected", "directed-degree-corrected")
    if directed:
        rows = _both_directions(graph, held)
    else:
        rows = multigraph(graph.indptr, graph.indices)._replace(values=held.values)
    kind = ModelKind(held.kind, corrected, directed, held)
    return DescriptionData(kind, rows, held.constant)


def _both_directions(graph: Graph, weights: WeightModel) -> Multigraph:
    """Return every edge in the rows of its source and of its target."""
    indptr, indices, outward, inward = both_directions(graph)
    out = np.diff(graph.indptr).astype(np.int64)
    into = np.diff(indptr) - out
    kinds = np.zeros(len(indices), np.int16)
    kinds[inward] = 1
    values = np.zeros(0)
    if len(weights.values):
        values = np.empty(len(indices))
        values[outward] = weights.values
        order = np.argsort(graph.indices, kind="stable")  # the order of the rows of `back`
        values[inward] = weights.values[order]
    return multigraph(indptr, indices)._replace(
        degrees=out, classes=_classes(out, into), kinds=kinds, in_degrees=into, values=values
    )


def _classes(out: np.ndarray, into: np.ndarray) -> np.ndarray:
    """Return the number of each node's pair of degrees among the distinct ones."""
    together = out * np.int64(into.max(initial=0) + 1) + into
    return np.unique(together, return_inverse=True)[1].astype(np.int32)


def shortest_cell_description(
    name: str,
    graph: Graph,
    run: DescriptionRun,
    *,
    weights: str = "counts",
    n_blocks: int | None = None,
) -> Described:
    """Search for the shortest description of a graph with directions or real-valued weights.

    `n_blocks`: with exactly this number of blocks; None: with any."""
    data = cell_data(graph, name, weights)
    fewest, most = (1, ANY) if n_blocks is None else (n_blocks, n_blocks)
    topology = make_objective("directed" if name in DIRECTED else "simple", graph)
    goal = min(graph.n_nodes, max(_START, fewest))
    if weights == "counts":  # the edges alone show where to begin
        few = math.ceil(_START_PER_ROOT * math.sqrt(len(data.graph.indices) // 2))
        goal = min(goal, max(8, few, fewest))
    strategy = Strategy(weights != "counts", fewest, most, run.effort)
    return shortest_description(name, data, topology, run, goal=goal, strategy=strategy)
