"""The nested block model: blocks of blocks, each level the prior of the one below it.

A flat model pays for a block matrix with B (B + 1) / 2 free cells, so it cannot afford more than
about sqrt(edges) blocks. In a hierarchy the block matrix is itself described by a block model (of
a dense multigraph), and so on up to one group (Peixoto, Physical Review X 4, 011047, 2014).

1. Fit the blocks flat, and the levels above one by one, each flat.
2. Go through the levels from below, each with the levels above as its prior: moves, merges,
   splits and new divisions. Then build the levels above anew, and keep them if that is shorter.
3. Repeat until a round gains nothing.
4. Small graphs: start again from the shortest flat description, keep the shorter hierarchy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator

from coterie.base.array_checks import ArrayError
from coterie.base.progress import Callback, Iteration, silent
from coterie.engine.checkpoint import in_order, numbered
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
from coterie.models.hard.saved_search import SavedSearch, SearchSaver, check_close, saved_labels

_ROUNDS = 12
_MIN_GAIN = 3e-4  # a round that gains a smaller share is the last one
_TWO_STARTS = 20_000  # nodes + edges up to which there is a second start
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


@dataclass
class _Position:
    """Where `NestedSearch.run` is."""

    round: int = 0
    level: int = 0  # the next level to improve
    depth: int = 0  # number of levels at the beginning of the round
    before: float = 0.0  # length at the beginning of the round


class NestedSearch:
    """A hierarchy on its way to the shortest description."""

    def __init__(self, kind: int, graph: Multigraph, rng: Generator, trail: Trail) -> None:
        self.kind, self.graph, self.rng, self.trail = kind, graph, rng, trail
        self.locally_optimal = False
        self.levels: list[np.ndarray] = []
        self.length = 0.0
        self.at = _Position()

    def begin(self, labels: np.ndarray) -> None:
        """Start from blocks of nodes, with the levels above fitted one by one."""
        self.levels = [renumber(labels)]
        self.levels += self.built_above(0)
        self.length = nested_length(self.kind, self.graph, self.levels)
        self.report()
        self.at = _Position(depth=len(self.levels), before=self.length)

    def report(self) -> None:
        """Record the present hierarchy."""
        sizes = " > ".join(f"{int(z.max()) + 1:,}" for z in self.levels)
        self.trail.add(self.length, 0, f"levels {sizes}, {self.length:,.1f} nats")

    def run(self, saver: SearchSaver | None = None) -> None:
        """Improve the hierarchy until a round gains nothing."""
        saver = saver or SearchSaver()
        saver.save(self.point)
        while self.at.round < _ROUNDS:
            self._step()
            saver.save(self.point)
        self.locally_optimal = self.improve(0, last=True)
        self.report()

    def _step(self) -> None:
        """Improve one level; after the highest one build the levels above each level anew."""
        at = self.at
        if at.level < at.depth:
            if at.level < len(self.levels) - 1:
                self.improve(at.level)
            at.level += 1
            return
        self.rebuild()
        self.drop_levels()
        self.report()
        quiet = at.before - self.length < _MIN_GAIN * abs(self.length)
        self.at = _Position(_ROUNDS if quiet else at.round + 1, 0, len(self.levels), self.length)

    def point(self) -> SavedSearch:
        """Return everything that is needed to continue `run` after the last step."""
        facts = {
            "at": asdict(self.at),
            "length": self.length,
            "history": [list(entry) for entry in self.trail.history],
            "lengths": [[blocks, length] for blocks, length in self.trail.lengths.items()],
        }
        return SavedSearch(numbered("levels", self.levels), facts)

    def restore(self, saved: SavedSearch) -> None:
        """Continue from a saved point."""
        count = len(in_order(saved.arrays, "levels"))
        size = len(self.graph.degrees)
        self.levels = []
        for level in range(count):
            self.levels.append(saved_labels(saved, f"levels.{level}", size))
            size = int(self.levels[-1].max()) + 1
            if len(np.unique(self.levels[-1])) != size:
                raise ArrayError(f"levels.{level}: a group is empty")
        self.length = float(saved.facts["length"])
        check_close("length", self.length, nested_length(self.kind, self.graph, self.levels))
        self.at = _Position(**saved.facts["at"])
        self.trail.restore(saved.facts["history"], saved.facts["lengths"])

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
    start: np.ndarray,
    *,
    rng: Generator,
    callback: Callback = silent,
    saver: SearchSaver | None = None,
) -> Hierarchy:
    """Return the shortest hierarchy found from a first partition of the nodes."""
    saver = saver or SearchSaver()
    trail = Trail(callback)
    search = NestedSearch(kind, graph, rng, trail)
    saved = saver.take()
    if saved is None:
        search.begin(start)
    else:
        with saver.errors():
            search.restore(saved)
    interrupted = False
    try:
        search.run(saver)
        search = _from_flat(search)
    except KeyboardInterrupt:
        interrupted = True
    return Hierarchy(
        search.levels, search.length, trail.history, search.locally_optimal, interrupted
    )


def _from_flat(first: NestedSearch) -> NestedSearch:
    """Return the shorter of a hierarchy and, for a small graph, one that starts from flat blocks.

    The two starts are stuck in different ways: the second one is shorter by 2 % for a network of
    co-authors, and longer by 0.5 % for a power grid."""
    state = start_state(first.kind, first.graph, first.levels[0])
    flat = DescriptionSearch(state, first.rng, Trail(silent))
    if flat.size > _TWO_STARTS:
        return first
    flat.run()
    second = NestedSearch(first.kind, first.graph, first.rng, first.trail)
    second.begin(flat.best)
    second.run()
    return second if second.length < first.length else first
