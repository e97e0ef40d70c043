"""A block objective whose rows live elsewhere: labels go out, moves and changed counts come back.

It is the same objective with the same kernels. The driver keeps labels, statistics and tables; a
task sees one block of rows. A plan is a pure function of each row and counts are whole numbers, so
the result is that of the local objective, bit for bit.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise, repeat
from operator import add
from typing import Any

import numpy as np
from scipy.special import gammaln

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine, cut_rows, shard_count
from coterie.engine.sharded_data import ShardedGraph
from coterie.kernels.hard.cell_costs import g_table
from coterie.kernels.hard.fixed_scores import plan_moves_fixed, refresh_fixed
from coterie.kernels.hard.row_blocks import RowBlock, count_changes, moves_allowed
from coterie.kernels.hard.score_tables import empty_tables, refresh, refresh_logs
from coterie.kernels.hard.scores import plan_moves
from coterie.kernels.hard.statistics import TWO_SETS, Adjacency, BlockModel, BlockStats, count
from coterie.models.hard.objectives import make_objective
from coterie.models.hard.objectives.block_objective import (
    BlockObjective,
    BlockState,
    planning_workspace,
)
from coterie.models.hard.objectives.interface import Labels, MovePlan

_BLOCKS_A_THREAD = 2  # few, for each makes tables of its own


class ShardedObjective(BlockObjective):
    """`blocks[side]` are an engine's handles of the RowBlocks of a side, in order."""

    def __init__(
        self,
        like: BlockObjective,
        blocks: tuple[list[Any], ...],
        cuts: tuple[np.ndarray, ...],
        engine: Engine,
    ) -> None:
        self.name, self.model = like.name, like.model
        self.constant, self.score = like.constant, like.score
        self.n_elements = tuple(int(rows[-1]) for rows in cuts)
        self.blocks, self.cuts, self.engine = blocks, cuts, engine
        self._bare = like.model._replace(table=np.empty(0))  # every process has its own table
        self._sent: tuple[BlockState, Any] | None = None

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> BlockState:
        labels = tuple(np.array(z, np.int32) for z in labels)
        sent = self.engine.broadcast(_packed(labels, n_blocks))
        totals = []
        for side, blocks in enumerate(self.blocks):
            shape = (self.slots(side, n_blocks), n_blocks[side])
            shared = (self._bare, side, shape, n_blocks)
            totals.append(
                self.engine.reduce(_count, _add, blocks, repeat(shared), repeat(sent)).total
            )
        # Copies: what came over a network may be read-only.
        counts, sizes = zip(*(map(np.copy, t) for t in self.engine.gather(totals)), strict=True)
        state = BlockState(labels, n_blocks, counts, sizes)
        self._sent = state, sent
        return state

    def prepare(self, state: BlockState, side: int, engine: Engine) -> float:
        return self._refresh(state, side, None, self.score)  # k² work: not worth a message

    def plan(self, state: BlockState, side: int, elements: np.ndarray, engine: Engine) -> MovePlan:
        shared = engine.broadcast((self._bare, state.stats(side), side, self.score))
        rows = self._spread(side, elements)
        labels = self._labels(state)
        parts = engine.map(_plan, self.blocks[side], rows, repeat(shared), repeat(labels))
        wanted, gains = (np.concatenate(column) for column in zip(*parts, strict=True))
        return MovePlan(wanted.astype(np.int32), gains)

    def apply(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        wanted: np.ndarray,
        min_block_size: int = 0,
    ) -> int:
        made = moves_allowed(
            state.labels[side], state.sizes[side], elements, wanted, float(min_block_size)
        )
        movers = elements[made]
        if not len(movers):
            return 0
        after = [z.copy() if s == side else z for s, z in enumerate(state.labels)]
        after[side][movers] = wanted[made]
        sent = self.engine.broadcast(_packed(after, state.n_blocks))
        shared = (self._bare, side, tuple(c.shape for c in state.counts))
        done = self.engine.reduce(
            _changes,
            _add,
            self.blocks[side],
            repeat(shared),
            repeat(self._labels(state)),
            repeat(sent),
        )
        (changes,) = self.engine.gather([done.total])
        for statistic, change in zip((*state.counts, *state.sizes), changes, strict=True):
            statistic += change
        state.labels[side][...] = after[side]
        self._sent = state, sent
        return len(movers)

    def sweep(
        self, state: BlockState, side: int, order: np.ndarray, min_block_size: int = 0
    ) -> tuple[int, float]:
        raise InputError(
            "a sequential sweep needs the whole graph on one machine",
            remedy="use search='paper' with this engine, or engine='local'",
        )

    def _labels(self, state: BlockState) -> Any:
        """The labels where the tasks are: those that the last moves went out with."""
        if self._sent is None or self._sent[0] is not state:
            self._sent = state, self.engine.broadcast(_packed(state.labels, state.n_blocks))
        return self._sent[1]

    def _spread(self, side: int, elements: np.ndarray) -> list[np.ndarray]:
        """The (rising) elements as row numbers of the blocks that hold them."""
        cuts = self.cuts[side]
        bounds = np.searchsorted(elements, cuts)
        parts = np.split(elements, bounds[1:-1])
        return [(part - first).astype(np.int32) for part, first in zip(parts, cuts, strict=False)]


def place(name: str, data: Any, score: str | None, engine: Engine) -> Any:
    """The objective called `name`, where the engine works: rows in this process for threads, in
    the engine's hands for a cluster or for data that lie in shards already."""
    if isinstance(data, ShardedGraph):
        return _of_shards(name, data, score, engine)
    objective = make_objective(name, data, score)
    if isinstance(engine, LocalEngine):
        return objective
    if not isinstance(objective, BlockObjective):
        raise InputError(
            f"objective {name!r} runs on one machine only", remedy="use engine='local'"
        )
    return sharded(objective, engine)


def sharded(objective: BlockObjective, engine: Engine) -> ShardedObjective:
    """The same objective with its rows in the engine's hands.

    Sums of whole numbers do not depend on the cuts, so they may follow the workers; fractions of
    weights do, and get the shards that follow from the data."""
    blocks, cuts = [], []
    for side in objective.sides:
        shards = shard_count(len(side.indices))
        if not len(side.weights):
            shards = min(shards, _BLOCKS_A_THREAD * engine.threads)
        bounds = np.unique(cut_rows(side.indptr, shards))
        blocks.append(engine.scatter([row_block(side, a, b) for a, b in pairwise(bounds)]))
        cuts.append(bounds)
    return ShardedObjective(objective, tuple(blocks), tuple(cuts), engine)


def _of_shards(
    name: str, data: ShardedGraph, score: str | None, engine: Engine
) -> ShardedObjective:
    nothing = Graph.from_edges(
        [], [], weights=[] if data.weighted else None, directed=data.directed
    )
    like = make_objective(name, nothing, score)
    blocks = engine.scatter(data.shards)
    if data.weighted:
        (constant,) = engine.gather([engine.reduce(_constant, add, blocks).total])
        like.constant = 0.5 * constant
    return ShardedObjective(like, (blocks,), (data.cuts,), engine)


def _constant(block: RowBlock) -> float:
    """The part of a weighted graph's S that no clustering changes, from each of its two rows."""
    return float(gammaln(block.weights + 1).sum())


def row_block(side: Adjacency, low: int, high: int) -> RowBlock:
    """Rows low..high-1 of an adjacency."""
    a, b = side.indptr[low], side.indptr[high]
    return RowBlock(
        int(low),
        side.indptr[low : high + 1] - a,
        side.indices[a:b],
        side.channels[a:b],
        side.weights[a:b],
    )


def _count(
    block: RowBlock, shared: tuple[Any, ...], packed: Labels
) -> tuple[np.ndarray, np.ndarray]:
    model, side, shape, n_blocks = shared
    labels = _unpacked(packed)
    counts, sizes = np.zeros(shape), np.zeros(shape[1])
    other = len(labels) - 1 - side
    own = labels[side][block.first : block.first + len(block.indptr) - 1]
    count(_with_table(model), _rows(block), own, labels[other], n_blocks[other], counts, sizes)
    return counts, sizes


def _plan(
    block: RowBlock,
    rows: np.ndarray,
    shared: tuple[BlockModel, BlockStats, int, str],
    packed: Labels,
) -> tuple[np.ndarray, np.ndarray]:
    model, stats, side, score = shared
    model, labels = _with_table(model), _unpacked(packed)
    slots, k = stats.counts.shape
    wanted, gains = np.empty(len(rows), np.int32), np.empty(len(rows))
    kernel, refresher = (
        (plan_moves, refresh) if score == "exact" else (plan_moves_fixed, refresh_fixed)
    )
    # k² work that every task does again: the tables are many times what they are made of.
    tables = empty_tables(slots, k, len(stats.others))
    refresh_logs(stats, tables)
    refresher(model, stats, tables, 0, k)
    kernel(
        model,
        _rows(block),
        stats,
        tables,
        planning_workspace(slots, k),
        labels[side][block.first : block.first + len(block.indptr) - 1],
        labels[len(labels) - 1 - side],
        rows.astype(np.int64),
        wanted,
        gains,
    )
    return wanted.astype(packed[side].dtype), gains


def _changes(
    block: RowBlock, shared: tuple[Any, ...], packed_before: Labels, packed_after: Labels
) -> tuple[np.ndarray, ...]:
    """What the moves of this block's rows change: counts of each side, then sizes."""
    model, side, shapes = shared
    before, after = _unpacked(packed_before), _unpacked(packed_after)
    counts = [np.zeros(shape) for shape in shapes]
    sizes = [np.zeros(shape[1]) for shape in shapes]
    other = len(before) - 1 - side
    moved = before[side] != after[side]
    own = moved[block.first : block.first + len(block.indptr) - 1]
    count_changes(
        _with_table(model),
        block,
        BlockStats(counts[side], sizes[side], sizes[other], counts[other]),
        before[side],
        after[side],
        before[other],
        after[other],
        np.zeros(0, np.uint8) if model.layout == TWO_SETS else moved.view(np.uint8),
        np.flatnonzero(own),
    )
    return *counts, *sizes


def _rows(block: RowBlock) -> Adjacency:
    return Adjacency(block.indptr, block.indices, block.channels, block.weights)


def _packed(labels: Sequence[np.ndarray], n_blocks: tuple[int, ...]) -> Labels:
    """Labels in as few bytes as they fit in, to be sent."""
    return tuple(
        z.astype(np.min_scalar_type(max(k - 1, 0))) for z, k in zip(labels, n_blocks, strict=True)
    )


def _unpacked(labels: Labels) -> Labels:
    return tuple(z.astype(np.int32) for z in labels)


@functools.cache
def _table() -> np.ndarray:
    return g_table()


def _with_table(model: BlockModel) -> BlockModel:
    whole: BlockModel = model._replace(table=_table())
    return whole


def _add(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return tuple(map(add, a, b))
