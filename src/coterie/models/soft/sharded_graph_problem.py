"""EM over a graph that is stored in shards; the task that loads a shard also sorts it."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedGraph
from coterie.kernels.hard.row_blocks import RowBlock
from coterie.kernels.soft.absent_pairs import PairBlock
from coterie.kernels.soft.em import Shard
from coterie.models.soft.graph_problem import GraphProblem, GraphSettings, GraphView
from coterie.models.soft.observation_shards import shard_of_rows

_OUT, _IN = 0, 1  # channels of a directed graph's rows


class ShardedGraphProblem(GraphProblem):
    """A `GraphProblem` with views that the engine builds, one shard per task."""

    def __init__(
        self, graph: ShardedGraph, values: np.ndarray, settings: GraphSettings, engine: Engine
    ) -> None:
        self.engine, self.settings, self.directed = engine, settings, graph.directed
        rows = engine.scatter(graph.shards)
        first = first_present_level(settings.absent)
        self.views = []
        for channel in (_OUT, _IN)[: 1 + graph.directed]:
            made = engine.submit(graph_part, rows, repeat(channel), repeat(values), repeat(first))
            parts, blocks = engine.select(made, 0), engine.select(made, 1)
            self.views.append(GraphView(graph.cuts, parts, blocks, channel == _IN))


def graph_part(
    rows: RowBlock, channel: int, values: np.ndarray, first: int
) -> tuple[Shard, PairBlock]:
    """Return the pairs of some rows, grouped by level and by row.

    Of a directed graph's rows it uses the outgoing or the incoming edges (`channel`).
    """
    indptr, indices = rows.indptr, rows.indices
    if len(rows.channels):
        mine = rows.channels == channel
        indptr, indices = np.append(0, np.cumsum(mine))[indptr], indices[mine]
    weights = rows.weights if len(rows.weights) else None
    levels = levels_of_weights(weights, len(indices), values, first).astype(np.int32)
    shard = shard_of_rows(RowBlock(rows.first, indptr, indices, levels, rows.weights))
    return shard, PairBlock(indptr, indices)


def first_present_level(absent: str) -> int:
    """Return the first level of present pairs; "absent", if not ignored, comes before it."""
    return 0 if absent == "ignored" else 1


def levels_of_weights(
    weights: np.ndarray | None, count: int, values: np.ndarray, first: int
) -> np.ndarray:
    """Return the level of each of `count` present pairs: "present", or the level of its weight."""
    if weights is None:
        return np.full(count, first)
    return np.searchsorted(values[first:], weights) + first
