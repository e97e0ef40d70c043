"""Rows of a block objective on the workers of an engine, which plan moves and count changes.

The kernels are those of `block_objective.py`; `kernels/hard/row_blocks.py` adds the counting per
shard. The driver keeps labels, statistics and tables; a task sees one block of rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise, repeat
from operator import add
from typing import Any

import numpy as np

from coterie.base.special_functions import gammaln
from coterie.engine import Engine, cut_rows, shard_count
from coterie.engine.sharded_data import ShardedGraph
from coterie.kernels.hard.cell_costs import g_table
from coterie.kernels.hard.fixed_scores import plan_moves_fixed, refresh_fixed
from coterie.kernels.hard.row_blocks import RowBlock, count_changes, moves_allowed
from coterie.kernels.hard.score_tables import empty_tables, refresh, refresh_logs
from coterie.kernels.hard.scores import plan_moves
from coterie.kernels.hard.statistics import TWO_SETS, Adjacency, BlockModel, BlockStats, count
from coterie.models.hard.costs.block_state import BlockState, planning_workspace, restored_order
from coterie.models.hard.costs.interface import Labels, MovePlan

_BLOCKS_PER_THREAD = 2  # few, because each task computes its own tables


class WorkerRows:
    """The rows of a block objective on the workers of an engine.

    `blocks[side]` are the engine's handles of the RowBlocks of a side, in order; `cuts[side]` are
    the rows at which they begin, and the number of rows."""

    def __init__(
        self, blocks: tuple[list[Any], ...], cuts: tuple[np.ndarray, ...], engine: Engine
    ) -> None:
        self.blocks, self.cuts, self.engine = blocks, cuts, engine
        self.n_elements = tuple(int(rows[-1]) for rows in cuts)
        self._sent: tuple[BlockState, Any] | None = None

    @classmethod
    def of(cls, sides: tuple[Adjacency, ...], engine: Engine) -> WorkerRows:
        """Send the rows of this process to the engine.

        Sums of whole numbers do not depend on the cuts, so the number of shards may depend on the
        workers. Sums of fractional weights do, so weighted data get the shards that follow from
        the data."""
        blocks, cuts = [], []
        for side in sides:
            shards = shard_count(len(side.indices))
            if not len(side.weights):
                shards = min(shards, _BLOCKS_PER_THREAD * engine.threads)
            bounds = np.unique(cut_rows(side.indptr, shards))
            blocks.append(engine.scatter([row_block(side, a, b) for a, b in pairwise(bounds)]))
            cuts.append(bounds)
        return cls(tuple(blocks), tuple(cuts), engine)

    @classmethod
    def stored(cls, data: ShardedGraph, engine: Engine) -> WorkerRows:
        """Have the workers read a graph that is stored in shards."""
        return cls((engine.scatter(data.shards),), (data.cuts,), engine)

    def constant(self) -> float:
        """Return the constant of a weighted graph; each edge is in two rows."""
        done = self.engine.reduce(_constant, add, self.blocks[0])
        return 0.5 * float(self.engine.gather([done.total])[0])

    def start(
        self,
        model: BlockModel,
        labels: Labels,
        n_blocks: tuple[int, ...],
        shapes: list[tuple[int, int]],
    ) -> BlockState:
        """Return the state of these labels, with counts of these shapes; every shard counts its
        own rows."""
        sent = self.engine.broadcast(_packed(labels, n_blocks))
        totals = []
        for side, blocks in enumerate(self.blocks):
            shared = (_without_table(model), side, shapes[side], n_blocks)
            totals.append(
                self.engine.reduce(_count_shard, _add, blocks, repeat(shared), repeat(sent)).total
            )
        # Copies: arrays that came over a network may be read-only.
        counts, sizes = zip(*(map(np.copy, t) for t in self.engine.gather(totals)), strict=True)
        state = BlockState(labels, n_blocks, counts, sizes)
        self._sent = state, sent
        return state

    def plan_moves(
        self, model: BlockModel, state: BlockState, side: int, elements: np.ndarray, score: str
    ) -> MovePlan:
        """Find the best label of each element, every shard by its own task."""
        order = np.argsort(elements, kind="stable")
        shared = self.engine.broadcast((_without_table(model), state.stats(side), side, score))
        rows = self._spread(side, elements[order])
        labels = self._labels(state)
        parts = self.engine.map(
            _plan_shard, self.blocks[side], rows, repeat(shared), repeat(labels)
        )
        wanted, gains = (np.concatenate(column) for column in zip(*parts, strict=True))
        return MovePlan(
            restored_order(wanted.astype(np.int32), order), restored_order(gains, order)
        )

    def apply(
        self,
        model: BlockModel,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        wanted: np.ndarray,
        min_block_size: int,
    ) -> int:
        """Move the elements; every shard counts what its own moves change."""
        made = moves_allowed(
            state.labels[side], state.sizes[side], elements, wanted, float(min_block_size)
        )
        movers = elements[made]
        if not len(movers):
            return 0
        after = [z.copy() if s == side else z for s, z in enumerate(state.labels)]
        after[side][movers] = wanted[made]
        sent = self.engine.broadcast(_packed(after, state.n_blocks))
        shared = (_without_table(model), side, tuple(c.shape for c in state.counts))
        done = self.engine.reduce(
            _count_changes,
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

    def forget_labels(self) -> None:
        """Send the labels again before the next plan: they were changed elsewhere."""
        self._sent = None

    def _labels(self, state: BlockState) -> Any:
        """Return a handle of the labels; after a move they have been sent already."""
        if self._sent is None or self._sent[0] is not state:
            self._sent = state, self.engine.broadcast(_packed(state.labels, state.n_blocks))
        return self._sent[1]

    def _spread(self, side: int, elements: np.ndarray) -> list[np.ndarray]:
        """Return the (rising) elements as row numbers of the blocks that hold them."""
        cuts = self.cuts[side]
        bounds = np.searchsorted(elements, cuts)
        parts = np.split(elements, bounds[1:-1])
        return [(part - first).astype(np.int32) for part, first in zip(parts, cuts, strict=False)]


def _constant(block: RowBlock) -> float:
    """Return a shard's part of twice the constant of a weighted graph."""
    return float(gammaln(block.weights + 1).sum())


def row_block(side: Adjacency, low: int, high: int) -> RowBlock:
    """Return rows low..high-1 of an adjacency."""
    a, b = side.indptr[low], side.indptr[high]
    return RowBlock(
        int(low),
        side.indptr[low : high + 1] - a,
        side.indices[a:b],
        side.channels[a:b],
        side.weights[a:b],
    )


def _count_shard(
    block: RowBlock, shared: tuple[Any, ...], packed: Labels
) -> tuple[np.ndarray, np.ndarray]:
    """Count the rows of one shard: (counts, sizes)."""
    model, side, shape, n_blocks = shared
    labels = _unpacked(packed)
    counts, sizes = np.zeros(shape), np.zeros(shape[1])
    other = len(labels) - 1 - side
    own = labels[side][block.first : block.first + len(block.indptr) - 1]
    count(_with_table(model), _rows(block), own, labels[other], n_blocks[other], counts, sizes)
    return counts, sizes


def _plan_shard(
    block: RowBlock,
    rows: np.ndarray,
    shared: tuple[BlockModel, BlockStats, int, str],
    packed: Labels,
) -> tuple[np.ndarray, np.ndarray]:
    """Plan the moves of some rows of one shard: (wanted, gains)."""
    model, stats, side, score = shared
    model, labels = _with_table(model), _unpacked(packed)
    slots, k = stats.counts.shape
    wanted, gains = np.empty(len(rows), np.int32), np.empty(len(rows))
    kernel, refresher = (
        (plan_moves, refresh) if score == "exact" else (plan_moves_fixed, refresh_fixed)
    )
    # Every task repeats this k² work: sending the tables would cost more than the statistics.
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


def _count_changes(
    block: RowBlock, shared: tuple[Any, ...], packed_before: Labels, packed_after: Labels
) -> tuple[np.ndarray, ...]:
    """Return what the moves of this shard's rows change: counts of each side, then sizes."""
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
    """Return the rows of a shard as an adjacency."""
    return Adjacency(block.indptr, block.indices, block.channels, block.weights)


def _packed(labels: Sequence[np.ndarray], n_blocks: tuple[int, ...]) -> Labels:
    """Return the labels in the smallest integer type, to be sent."""
    return tuple(
        z.astype(np.min_scalar_type(max(k - 1, 0))) for z, k in zip(labels, n_blocks, strict=True)
    )


def _unpacked(labels: Labels) -> Labels:
    """Return labels as kernels need them."""
    return tuple(z.astype(np.int32) for z in labels)


@functools.cache
def _table() -> np.ndarray:
    """Return the table of g, once per process."""
    return g_table()


def _without_table(model: BlockModel) -> BlockModel:
    """Return the model as it is sent: each process has its own table."""
    sent: BlockModel = model._replace(table=np.empty(0))
    return sent


def _with_table(model: BlockModel) -> BlockModel:
    """Return the model with this process's table of g."""
    whole: BlockModel = model._replace(table=_table())
    return whole


def _add(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Add two tuples of arrays."""
    return tuple(map(add, a, b))
