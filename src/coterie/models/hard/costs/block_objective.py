"""The objective of every block model: graphs, ratings, likes. They differ in their `BlockModel`.

The rows of the data are in this process, on the workers of an engine (`worker_rows.py`), or both:
then workers plan the moves of large batches, and this process makes them. A plan is a pure function
of each row and counts are whole numbers, so the result is the same, bit for bit.

Kernels: `kernels/hard/statistics.py`, `score_tables.py`, `scores.py` and `fixed_scores.py`.
"""

from __future__ import annotations

from copy import copy
from itertools import pairwise

import numpy as np

from coterie.base.errors import InputError
from coterie.engine import Engine
from coterie.kernels.hard.cell_costs import PLAIN, g_table
from coterie.kernels.hard.fixed_scores import plan_moves_fixed, refresh_fixed
from coterie.kernels.hard.score_tables import (
    PARTS,
    empty_tables,
    refresh,
    refresh_logs,
)
from coterie.kernels.hard.scores import Workspace, apply_moves, plan_moves, sweep, workspace
from coterie.kernels.hard.statistics import (
    TWO_SETS,
    TWO_WAY,
    Adjacency,
    BlockModel,
    count,
)
from coterie.models.hard.costs.block_state import BlockState, planning_workspace, restored_order
from coterie.models.hard.costs.interface import Labels, MovePlan
from coterie.models.hard.costs.worker_rows import WorkerRows

# Up to these sizes, a call takes less time than handing it to another thread (about 0.1 ms)
_LITTLE_WORK = 20_000  # neighbours to read and blocks to compare
_FEW_CELLS = 5_000
_SMALL_BATCH = 0.02  # of the elements; planning fewer costs less than sending the labels


class BlockObjective:
    """A block model of fixed data; the functions of this package create it.

    `sides` holds the neighbours of each node set: one for a graph, two for ratings. `constant`
    is the part of S that no clustering changes. `score` is the default of `prepare` and
    `plan_moves`: "exact" is the change of S, "fixed" the approximation of Prost & Yoon, with the
    parameters theta held fixed. `workers` hold the rows as well, or instead: `sides` is empty then.
    """

    def __init__(
        self,
        name: str,
        kind: int,
        layout: int,
        sides: tuple[Adjacency, ...],
        signs: tuple[float, ...] = (1.0,),
        constant: float = 0.0,
        score: str = "exact",
    ) -> None:
        self.name = name
        self.model = BlockModel(kind, layout, np.array(signs), g_table())
        self.sides = sides
        self.constant = constant
        self.score = score
        self.n_elements = tuple(len(side.indptr) - 1 for side in sides)
        self.workers: WorkerRows | None = None

    def with_rows_on(self, workers: WorkerRows, *, here: bool) -> BlockObjective:
        """Return the objective with rows on workers; `here`: and, as before, in this process."""
        moved = copy(self)
        moved.workers = workers
        if not here:
            moved.sides, moved.n_elements = (), workers.n_elements
        return moved

    def slots(self, side: int, n_blocks: tuple[int, ...]) -> int:
        """Return the number of rows of this side's counts."""
        if self.model.layout == TWO_SETS:
            return len(self.model.signs) * n_blocks[1 - side]
        degree_slot = int(self.model.kind == PLAIN)
        return n_blocks[0] * (2 if self.model.layout == TWO_WAY else 1) + degree_slot

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> BlockState:
        """Return the state of these labels, with statistics counted from the data."""
        labels = tuple(np.array(z, np.int32) for z in labels)
        if self.workers is not None and not self.sides:
            shapes = [(self.slots(side, n_blocks), k) for side, k in enumerate(n_blocks)]
            return self.workers.start(self.model, labels, n_blocks, shapes)
        counts, sizes = [], []
        for side, adjacency in enumerate(self.sides):
            counts.append(np.zeros((self.slots(side, n_blocks), n_blocks[side])))
            sizes.append(np.zeros(n_blocks[side]))
            other = len(self.sides) - 1 - side
            count(
                self.model,
                adjacency,
                labels[side],
                labels[other],
                n_blocks[other],
                counts[side],
                sizes[side],
            )
        return BlockState(labels, n_blocks, tuple(counts), tuple(sizes))

    def entropy(self, state: BlockState) -> float:
        """Return S, from the statistics alone."""
        return self._refresh(state, 0, None, "exact")

    def prepare(
        self, state: BlockState, side: int, engine: Engine, score: str | None = None
    ) -> float:
        """Compute the tables that `plan_moves` needs; return S."""
        return self._refresh(state, side, engine if self.sides else None, score or self.score)

    def plan_moves(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        engine: Engine,
        score: str | None = None,
    ) -> MovePlan:
        """Find the best label of each element against fixed statistics."""
        score = score or self.score
        if self.workers is not None and self._is_sent(side, elements):
            return self.workers.plan_moves(self.model, state, side, elements, score)
        wanted, gains = np.empty(len(elements), np.int32), np.empty(len(elements))
        # Nodes of one block use the same rows of the score tables: side by side, they find them in
        # the processor's cache.
        order = np.argsort(state.labels[side][elements], kind="stable")
        elements = elements[order]
        cuts = self._cut(side, elements, state.n_blocks[side], engine.threads)
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        buffers = self._buffers(state, side, len(parts))
        stats, tables = state.stats(side), state.tables[side]
        other = len(self.sides) - 1 - side

        kernel = plan_moves if score == "exact" else plan_moves_fixed

        def plan_part(part: slice, buffer: Workspace) -> None:
            kernel(
                self.model,
                self.sides[side],
                stats,
                tables,
                buffer,
                state.labels[side],
                state.labels[other],
                elements[part],
                wanted[part],
                gains[part],
            )

        if len(parts) == 1 and engine.threads > 1:  # with one thread, the engine does the same
            plan_part(parts[0], buffers[0])
        else:
            engine.map(plan_part, parts, buffers)
        return MovePlan(restored_order(wanted, order), restored_order(gains, order))

    def apply(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        wanted: np.ndarray,
        min_block_size: int = 0,
    ) -> int:
        """Move the elements to the wanted labels; return the number of moves made."""
        if self.workers is not None and not self.sides:
            return self.workers.apply(self.model, state, side, elements, wanted, min_block_size)
        return self.make_moves(state, side, elements, wanted, min_block_size, checked=False)[0]

    def make_moves(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        wanted: np.ndarray,
        min_block_size: int,
        *,
        checked: bool,
    ) -> tuple[int, float]:
        """Make moves with rows of this process, `checked` only those that still lower S; return
        (moves made, entropy gained by checked moves)."""
        buffer = self._buffers(state, side, 1)[0]
        other = len(self.sides) - 1 - side
        moved, gained = apply_moves(
            self.model,
            self.sides[side],
            state.stats(side),
            state.labels[side],
            state.labels[other],
            elements,
            wanted,
            float(min_block_size),
            checked,
            buffer.x,
            buffer.touched,
        )
        return int(moved), float(gained)

    def sweep(
        self, state: BlockState, side: int, order: np.ndarray, min_block_size: int = 0
    ) -> tuple[int, float]:
        """Move the elements one by one, each exactly; return (moves made, entropy gained)."""
        if not self.sides:
            raise InputError(
                "a sequential sweep needs the whole graph on one machine",
                remedy='use `search="paper"` with this engine, or `engine="local"`',
            )
        self._refresh(state, side, None, "exact")
        slots, k = state.counts[side].shape
        other = len(self.sides) - 1 - side
        moved, gained = sweep(
            self.model,
            self.sides[side],
            state.stats(side),
            state.tables[side],
            workspace(slots, k),
            state.labels[side],
            state.labels[other],
            order,
            float(min_block_size),
        )
        return int(moved), float(gained)

    def _is_sent(self, side: int, elements: np.ndarray) -> bool:
        """Return whether the workers plan a batch. Their labels are outdated if moves are made
        here."""
        if self.workers is None or not self.sides:
            return self.workers is not None
        self.workers.forget_labels()
        return len(elements) >= _SMALL_BATCH * self.n_elements[side]

    def _refresh(self, state: BlockState, side: int, engine: Engine | None, score: str) -> float:
        """Recompute the tables of one side; return S."""
        stats = state.stats(side)
        slots, k = stats.counts.shape
        if side not in state.tables:
            state.tables[side] = empty_tables(slots, k, len(stats.others))
        tables = state.tables[side]
        refresh_logs(stats, tables)
        kernel = refresh if score == "exact" else refresh_fixed
        if engine is None or engine.threads == 1 or slots * k < _FEW_CELLS:
            kernel(self.model, stats, tables, 0, k)
        else:
            cuts = np.linspace(0, k, engine.threads + 1).astype(np.int64)
            engine.map(lambda a, b: kernel(self.model, stats, tables, a, b), cuts[:-1], cuts[1:])
        return float(tables.blocks[PARTS].sum()) + self.constant

    def _buffers(self, state: BlockState, side: int, parts: int) -> list[Workspace]:
        """Return one workspace per part, created when first needed."""
        slots, k = state.counts[side].shape
        buffers = state.buffers.setdefault(side, [])
        while len(buffers) < parts:
            buffers.append(planning_workspace(slots, k))
        return buffers[:parts]

    def _cut(self, side: int, elements: np.ndarray, blocks: int, parts: int) -> np.ndarray:
        """Return where to cut a batch into parts of about equal work.

        A plan is a pure function of each element, so the cuts may depend on the number of threads,
        unlike shards with random streams."""
        indptr = self.sides[side].indptr
        work: np.ndarray = np.cumsum(indptr[elements + 1] - indptr[elements] + 4)
        if parts == 1 or not len(work) or work[-1] + len(work) * blocks < _LITTLE_WORK:
            return np.array([0, len(elements)])
        cuts = np.searchsorted(work, np.linspace(0, work[-1], parts + 1)[1:-1])
        return np.concatenate([[0], cuts, [len(elements)]])
