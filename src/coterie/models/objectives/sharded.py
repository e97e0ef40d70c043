"""A block objective whose rows live elsewhere: labels go out, moves and changed counts come back.

It is the same objective with the same kernels. The driver keeps labels, statistics and tables; a
task sees one block of rows. A plan is a pure function of each row and counts are whole numbers, so
the result is that of the local objective, bit for bit.
"""

from __future__ import annotations

from itertools import pairwise, repeat
from operator import add
from typing import Any

import numpy as np
from scipy.special import gammaln

from coterie.base.errors import InputError
from coterie.engine import Engine, LocalEngine, cut_rows, shard_count
from coterie.engine.sharded import ShardedGraph
from coterie.graph import Graph
from coterie.kernels.blocks import TWO_SETS, Adjacency, Model, Stats, count
from coterie.kernels.fixed import plan_fixed
from coterie.kernels.rowblocks import RowBlock, count_changes, moves_allowed
from coterie.kernels.scores import plan
from coterie.kernels.tables import Tables
from coterie.models.objectives import make_objective
from coterie.models.objectives.base import Labels, Plan
from coterie.models.objectives.blocks import BlockObjective, BlockState, planning_workspace

_BLOCKS_A_WORKER = 4  # enough to even out the work, few enough to send


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
        self._sent: tuple[BlockState, Any] | None = None

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> BlockState:
        labels = tuple(np.array(z, np.int32) for z in labels)
        counts, sizes = [], []
        for side, blocks in enumerate(self.blocks):
            shape = (self.slots(side, n_blocks), n_blocks[side])
            shared = self.engine.share((self.model, labels, side, shape, n_blocks))
            total, members = self.engine.merge(
                self.engine.submit(_count, blocks, repeat(shared, len(blocks))), _add_pairs
            )
            counts.append(total)
            sizes.append(members)
        return BlockState(labels, n_blocks, tuple(counts), tuple(sizes))

    def prepare(self, state: BlockState, side: int, engine: Engine) -> float:
        return self._refresh(state, side, None, self.score)  # k² work: not worth a message

    def plan(self, state: BlockState, side: int, elements: np.ndarray, engine: Engine) -> Plan:
        shared = engine.share((self.model, state.stats(side), state.tables[side], side, self.score))
        busy, rows = self._spread(side, elements)
        parts = engine.map(_plan, busy, rows, repeat(shared), repeat(self._labels(state)))
        if not parts:
            return Plan(np.empty(0, np.int32), np.empty(0))
        return Plan(*(np.concatenate(column) for column in zip(*parts, strict=True)))

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
        shapes = tuple(c.shape for c in state.counts)
        shared = self.engine.share((self.model, movers, wanted[made], side, shapes))
        busy, rows = self._spread(side, movers)
        labels = self._labels(state)
        tasks = self.engine.submit(_changes, busy, rows, repeat(shared), repeat(labels))
        counts, sizes = self.engine.merge(tasks, _add_sides)
        for s, (change, members) in enumerate(zip(counts, sizes, strict=True)):
            state.counts[s][...] += change
            state.sizes[s][...] += members
        state.labels[side][movers] = wanted[made]
        self._sent = None
        return len(movers)

    def sweep(
        self, state: BlockState, side: int, order: np.ndarray, min_block_size: int = 0
    ) -> tuple[int, float]:
        raise InputError(
            "a sequential sweep needs the whole graph on one machine",
            remedy="use search='paper' with this engine, or engine='local'",
        )

    def _labels(self, state: BlockState) -> Any:
        """The labels where the tasks are; they go out once between two changes."""
        if self._sent is None or self._sent[0] is not state:
            self._sent = state, self.engine.share(state.labels)
        return self._sent[1]

    def _spread(self, side: int, elements: np.ndarray) -> tuple[list[Any], list[np.ndarray]]:
        """The blocks that hold any of the (rising) elements, and their row numbers there."""
        cuts = self.cuts[side]
        bounds = np.searchsorted(elements, cuts)
        busy = [b for b in range(len(self.blocks[side])) if bounds[b] < bounds[b + 1]]
        rows = [elements[bounds[b] : bounds[b + 1]] - cuts[b] for b in busy]
        return [self.blocks[side][b] for b in busy], rows


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
            shards = min(shards, _BLOCKS_A_WORKER * engine.threads)
        bounds = np.unique(cut_rows(side.indptr, shards))
        blocks.append(engine.hold([row_block(side, a, b) for a, b in pairwise(bounds)]))
        cuts.append(bounds)
    return ShardedObjective(objective, tuple(blocks), tuple(cuts), engine)


def _of_shards(
    name: str, data: ShardedGraph, score: str | None, engine: Engine
) -> ShardedObjective:
    nothing = Graph.from_edges(
        [], [], weights=[] if data.weighted else None, directed=data.directed
    )
    like = make_objective(name, nothing, score)
    blocks = engine.hold(data.shards)
    if data.weighted:
        like.constant = 0.5 * engine.merge(engine.submit(_constant, blocks), add)
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


def _count(block: RowBlock, shared: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    model, labels, side, shape, n_blocks = shared
    counts, sizes = np.zeros(shape), np.zeros(shape[1])
    other = len(labels) - 1 - side
    own = labels[side][block.first : block.first + len(block.indptr) - 1]
    count(model, _rows(block), own, labels[other], n_blocks[other], counts, sizes)
    return counts, sizes


def _plan(
    block: RowBlock,
    rows: np.ndarray,
    shared: tuple[Model, Stats, Tables, int, str],
    labels: Labels,
) -> tuple[np.ndarray, np.ndarray]:
    model, stats, tables, side, score = shared
    slots, k = stats.counts.shape
    wanted, gains = np.empty(len(rows), np.int32), np.empty(len(rows))
    own = labels[side][block.first : block.first + len(block.indptr) - 1]
    kernel = plan if score == "exact" else plan_fixed
    kernel(
        model,
        _rows(block),
        stats,
        tables,
        planning_workspace(slots, k),
        own,
        labels[len(labels) - 1 - side],
        rows,
        wanted,
        gains,
    )
    return wanted, gains


def _changes(
    block: RowBlock, rows: np.ndarray, shared: tuple[Any, ...], before: Labels
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    model, movers, wanted, side, shapes = shared
    moved_side = before[side].copy()
    moved_side[movers] = wanted
    after = tuple(moved_side if s == side else z for s, z in enumerate(before))
    counts = [np.zeros(shape) for shape in shapes]
    sizes = [np.zeros(shape[1]) for shape in shapes]
    other = len(before) - 1 - side
    nobody = np.zeros(0, np.uint8)
    moved = nobody if model.layout == TWO_SETS else (before[side] != after[side]).view(np.uint8)
    stats = Stats(counts[side], sizes[side], sizes[other], counts[other])
    count_changes(
        model,
        block,
        stats,
        before[side],
        after[side],
        before[other],
        after[other],
        moved,
        rows,
    )
    return counts, sizes


def _rows(block: RowBlock) -> Adjacency:
    return Adjacency(block.indptr, block.indices, block.channels, block.weights)


def _add_pairs(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return a[0] + b[0], a[1] + b[1]


def _add_sides(
    a: tuple[list[np.ndarray], list[np.ndarray]], b: tuple[list[np.ndarray], list[np.ndarray]]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    counts, sizes = ([x + y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True))
    return counts, sizes
