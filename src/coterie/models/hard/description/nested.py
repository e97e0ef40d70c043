"""The nested block model: blocks of blocks, each level the prior of the one below it.

A flat model pays for a block matrix with B (B + 1) / 2 free cells, so it cannot afford more than
about sqrt(edges) blocks. In a hierarchy the block matrix is itself described by a block model (of
a dense multigraph), and so on up to one group (Peixoto, Physical Review X 4, 011047, 2014).

1. Fit the blocks flat, and the levels above one by one, each flat.
2. Go through the levels from below, each with the levels above as its prior: moves, merges,
   splits and new divisions. Then build the levels above anew, and keep them if that is shorter.
3. Repeat until a round gains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, silent
from coterie.kernels.hard.description import Multigraph
from coterie.models.hard.description.search import DescriptionSearch, Trail
from coterie.models.hard.description.state import (
    DENSE,
    block_multigraph,
    grouped_cells,
    levels_above,
    start_state,
)
from coterie.models.hard.label_tools import renumber

_ROUNDS = 12
_MIN_GAIN = 3e-4  # a round that gains a smaller share is the last one
_SINGLES = 1200  # blocks up to which a level is fitted from single blocks


@dataclass
class Hierarchy:
    """Labels per level: levels[0] of nodes, levels[l] of the groups of level l - 1; the last
    level has one group."""

    levels: list[np.ndarray]
    length: float
    history: list[Iteration]
    locally_optimal: bool = False  # no single move of a node to any block shortens it
    interrupted: bool = False


def nested_length(kind: int, graph: Multigraph, levels: list[np.ndarray]) -> float:
    """Return the description length of a hierarchy in nats."""
    flat = start_state(kind, graph, levels[0], spare=1, prior="none")
    B = flat.n_blocks
    if len(levels) == 1:
        return start_state(kind, graph, levels[0], spare=1).length()
    upper = levels_above(flat.blocks.cells[:B, :B], levels[1:])
    return start_state(kind, graph, levels[0], spare=1, prior=upper).length()


class NestedSearch:
    """A hierarchy on its way to the shortest description."""

    def __init__(
        self, kind: int, graph: Multigraph, labels: np.ndarray, rng: Generator, trail: Trail
    ) -> None:
        self.kind, self.graph, self.rng, self.trail = kind, graph, rng, trail
        self.locally_optimal = False
        self.levels = [renumber(labels)]
        self.levels += self.built_above(0)
        self.length = nested_length(kind, graph, self.levels)
        self.report()

    def report(self) -> None:
        """Record the present hierarchy."""
        sizes = " > ".join(f"{int(z.max()) + 1:,}" for z in self.levels)
        self.trail.add(self.length, 0, f"levels {sizes}, {self.length:,.1f} nats")

    def run(self) -> None:
        """Improve the hierarchy until a round gains nothing."""
        for _ in range(_ROUNDS):
            before = self.length
            for level in range(len(self.levels)):
                if level < len(self.levels) - 1:
                    self.improve(level)
            self.rebuild()
            self.drop_levels()
            self.report()
            if before - self.length < _MIN_GAIN * abs(self.length):
                break
        self.locally_optimal = self.improve(0, last=True)
        self.report()

    def cells(self, level: int) -> np.ndarray:
        """Return the cells between the groups of one level."""
        state = start_state(self.kind, self.graph, self.levels[0], spare=1, prior="none")
        B = state.n_blocks
        cells = np.asarray(state.blocks.cells[:B, :B], np.int64)
        for z in self.levels[1 : level + 1]:
            cells = grouped_cells(cells, z)
        return cells

    def improve(self, level: int, *, last: bool = False) -> bool:
        """Improve one level with the levels above as its prior.

        The last time, only move single nodes until no move to any block helps; return whether
        that point was reached."""
        graph = self.graph if level == 0 else block_multigraph(self.cells(level - 1))
        kind = self.kind if level == 0 else DENSE
        upper = levels_above(self.cells(level), self.levels[level + 1 :])
        state = start_state(kind, graph, self.levels[level], prior=upper)
        search = DescriptionSearch(state, self.rng, Trail(silent))
        if last:
            search.finish()
        else:
            search.descend()
            search.repair()
        state = search.state
        occupied = np.flatnonzero(state.blocks.sizes > 0)
        levels = [
            *self.levels[:level],
            renumber(state.labels),
            renumber(state.upper.parents[0, occupied]),
            *self.levels[level + 2 :],
        ]
        self.accept(levels)
        return search.locally_optimal

    def accept(self, levels: list[np.ndarray]) -> bool:
        """Keep these levels if they are shorter."""
        length = nested_length(self.kind, self.graph, levels)
        if length < self.length - 1e-9:
            self.levels, self.length = levels, length
            return True
        return False

    def rebuild(self) -> None:
        """Build the levels above each level anew; keep what is shorter."""
        for level in range(len(self.levels) - 1):
            if level >= len(self.levels) - 1:
                return
            self.accept([*self.levels[: level + 1], *self.built_above(level)])

    def built_above(self, level: int) -> list[np.ndarray]:
        """Fit levels above this one, each flat, up to one group."""
        cells, above = self.cells(level), []
        while len(cells) > 1:
            graph = block_multigraph(cells)
            labels = np.arange(len(cells), dtype=np.int32)
            if len(labels) > _SINGLES:
                labels = _paired(cells, _SINGLES)
            search = DescriptionSearch(start_state(DENSE, graph, labels), self.rng, Trail(silent))
            search.descend()
            search.repair()
            labels = renumber(search.best)
            if int(labels.max()) + 1 >= len(cells):
                break
            above.append(labels)
            cells = grouped_cells(cells, labels)
        if len(cells) > 1 or not above:
            above.append(np.zeros(len(cells), np.int32))
        return above

    def drop_levels(self) -> None:
        """Leave out levels without which the description is shorter."""
        level = 1
        while level < len(self.levels) - 1:
            joined = self.levels[level + 1][self.levels[level]]
            kept = [*self.levels[:level], joined, *self.levels[level + 2 :]]
            if not self.accept(kept):
                level += 1


def _paired(cells: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` groups of blocks: blocks in the order of their strongest neighbour."""
    off = cells.copy()
    np.fill_diagonal(off, 0)
    order = np.lexsort((np.arange(len(cells)), off.argmax(axis=1)))
    labels = np.empty(len(cells), np.int32)
    labels[order] = np.arange(len(cells)) * most // len(cells)
    return labels


def fit_hierarchy(
    kind: int,
    graph: Multigraph,
    starts: list[np.ndarray],
    *,
    rng: Generator,
    callback: Callback = silent,
) -> Hierarchy:
    """Return the shortest hierarchy found from several first partitions of the nodes."""
    trail = Trail(callback)
    best: Hierarchy | None = None
    try:
        for labels in starts:
            search = NestedSearch(kind, graph, labels, rng, trail)
            if best is None or search.length < best.length:
                best = Hierarchy(search.levels, search.length, trail.history)
            search.run()
            if search.length <= best.length:
                best = Hierarchy(
                    search.levels, search.length, trail.history, search.locally_optimal
                )
    except KeyboardInterrupt:
        if best is None:
            raise
        best.interrupted = True
    assert best is not None
    return best
