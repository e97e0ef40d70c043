"""EM over a graph that lies in shards: each is put in order by the task that loads it."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedGraph
from coterie.kernels.hard.row_blocks import RowBlock
from coterie.kernels.soft.absent_pairs import PairBlock
from coterie.kernels.soft.em import Shard
from coterie.models.soft.graph_problem import GraphProblem, GraphView, Settings
from coterie.models.soft.observation_shards import of_rows

_OUT, _IN = 0, 1  # channels of a directed graph's rows


class ShardedGraphProblem(GraphProblem):
    """The same problem; only its views are made elsewhere."""

    def __init__(
        self, graph: ShardedGraph, classes: np.ndarray, settings: Settings, engine: Engine
    ) -> None:
        self.engine, self.settings, self.directed = engine, settings, graph.directed
        rows = engine.scatter(graph.shards)
        first = first_class(settings.absent)
        self.views = []
        for channel in (_OUT, _IN)[: 1 + graph.directed]:
            made = engine.submit(graph_part, rows, repeat(channel), repeat(classes), repeat(first))
            parts, blocks = engine.select(made, 0), engine.select(made, 1)
            self.views.append(GraphView(graph.cuts, parts, blocks, channel == _IN))


def graph_part(
    rows: RowBlock, channel: int, classes: np.ndarray, first: int
) -> tuple[Shard, PairBlock]:
    """What the tasks of an iteration read of some rows: their pairs by configuration, and by row.

    Of a directed graph's rows it takes the edges out of them, or those into them."""
    indptr, indices = rows.indptr, rows.indices
    if len(rows.channels):
        mine = rows.channels == channel
        indptr, indices = np.append(0, np.cumsum(mine))[indptr], indices[mine]
    weights = rows.weights if len(rows.weights) else None
    codes = codes_of(weights, len(indices), classes, first).astype(np.int32)
    shard = of_rows(RowBlock(rows.first, indptr, indices, codes, rows.weights))
    return shard, PairBlock(indptr, indices)


def first_class(absent: str) -> int:
    """The first configuration of pairs that are there; before it may stand "absent"."""
    return 0 if absent == "ignored" else 1


def codes_of(weights: np.ndarray | None, count: int, classes: np.ndarray, first: int) -> np.ndarray:
    """The configuration of each of `count` pairs: "present", or that of its weight."""
    if weights is None:
        return np.full(count, first)
    return np.searchsorted(classes[first:], weights) + first
