"""The objective of every block model: graphs, ratings, likes. They differ in their `BlockModel`.

Kernels: `kernels/hard/statistics.py`, `score_tables.py`, `scores.py` and `fixed_scores.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from coterie.engine import Engine
from coterie.kernels.hard.cell_costs import PLAIN, g_table
from coterie.kernels.hard.fixed_scores import plan_moves_fixed, refresh_fixed
from coterie.kernels.hard.score_tables import (
    PARTS,
    ScoreTables,
    empty_tables,
    refresh,
    refresh_logs,
)
from coterie.kernels.hard.scores import Workspace, plan_moves, sweep, workspace
from coterie.kernels.hard.statistics import (
    TWO_SETS,
    TWO_WAY,
    Adjacency,
    BlockModel,
    BlockStats,
    apply_moves,
    count,
)
from coterie.models.hard.objectives.interface import Labels, MovePlan

# Up to these sizes, a call takes less time than handing it to another thread (about 0.1 ms)
_LITTLE_WORK = 20_000  # neighbours to read and blocks to compare
_FEW_CELLS = 5_000
_KEPT_X = 17  # score rows are reused for neighbour counts x below this
_KEPT_BYTES = 1 << 25  # … in at most this much memory per thread


def planning_workspace(slots: int, k: int) -> Workspace:
    """Allocate the buffers of one thread for `plan_moves`, with room for rows that are reused."""
    return workspace(slots, k, _KEPT_X, min(2 * slots * _KEPT_X, _KEPT_BYTES // (8 * k)))


@dataclass
class BlockState:
    """Labels and block statistics; tables and buffers are created when first needed."""

    labels: Labels
    n_blocks: tuple[int, ...]
    counts: tuple[np.ndarray, ...]  # per side: float64 (slots, k)
    sizes: tuple[np.ndarray, ...]  # per side: float64 (k,)
    tables: dict[int, ScoreTables] = field(default_factory=dict)
    buffers: dict[int, list[Workspace]] = field(default_factory=dict)

    @property
    def statistics(self) -> tuple[np.ndarray, ...]:
        """Everything that moves change besides the labels."""
        return (*self.counts, *self.sizes)

    def stats(self, side: int) -> BlockStats:
        """Return the statistics as this side sees them."""
        other = len(self.labels) - 1 - side if len(self.labels) > 1 else side
        return BlockStats(
            self.counts[side], self.sizes[side], self.sizes[other], self.counts[other]
        )

    def copy(self) -> BlockState:
        """Return an independent copy of labels and statistics."""
        return BlockState(
            tuple(z.copy() for z in self.labels),
            self.n_blocks,
            tuple(c.copy() for c in self.counts),
            tuple(s.copy() for s in self.sizes),
        )


class BlockObjective:
    """A block model of fixed data; the functions of this package create it.

    `sides` holds the neighbours of each node set: one for a graph, two for ratings. `constant`
    is the part of S that no clustering changes. `score` is the default of `prepare` and
    `plan_moves`: "exact" is the change of S, "fixed" the approximation of Prost & Yoon, with the
    parameters theta held fixed.
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

    def slots(self, side: int, n_blocks: tuple[int, ...]) -> int:
        """Return the number of rows of this side's counts."""
        if self.model.layout == TWO_SETS:
            return len(self.model.signs) * n_blocks[1 - side]
        degree_slot = int(self.model.kind == PLAIN)
        return n_blocks[0] * (2 if self.model.layout == TWO_WAY else 1) + degree_slot

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> BlockState:
        """Return the state of these labels, with statistics counted from the data."""
        labels = tuple(np.array(z, np.int32) for z in labels)
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
        return self._refresh(state, side, engine, score or self.score)

    def plan_moves(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        engine: Engine,
        score: str | None = None,
    ) -> MovePlan:
        """Find the best label of each element against fixed statistics."""
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

        kernel = plan_moves if (score or self.score) == "exact" else plan_moves_fixed

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
        return MovePlan(_unsorted(wanted, order), _unsorted(gains, order))

    def apply(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        wanted: np.ndarray,
        min_block_size: int = 0,
    ) -> int:
        """Move the elements to the wanted labels; return the number of moves made."""
        buffer = self._buffers(state, side, 1)[0]
        other = len(self.sides) - 1 - side
        moved = apply_moves(
            self.model,
            self.sides[side],
            state.stats(side),
            state.labels[side],
            state.labels[other],
            elements,
            wanted,
            float(min_block_size),
            buffer.x,
            buffer.touched,
        )
        return int(moved)

    def sweep(
        self, state: BlockState, side: int, order: np.ndarray, min_block_size: int = 0
    ) -> tuple[int, float]:
        """Move the elements one by one, each exactly; return (moves made, entropy gained)."""
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


def _unsorted(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return `values`, which are in the order of `order`, in the original order."""
    original = np.empty_like(values)
    original[order] = values
    return original
