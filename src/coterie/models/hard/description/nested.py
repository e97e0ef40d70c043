"""The nested block model: blocks of blocks, each level the prior of the one below it.

A flat model pays for a block matrix with B (B + 1) / 2 free cells, so it cannot afford more than
about sqrt(edges) blocks. In a hierarchy the block matrix is itself described by a block model (of
a dense multigraph), and so on up to one group (Peixoto, Physical Review X 4, 011047, 2014).

1. Find the shortest flat description, and fit the levels above its blocks one by one, each flat.
2. Go through the levels from below, each with the levels above as its prior: moves, merges, splits
   and new divisions. On the lowest level only what has changed is tried again: nodes and blocks
   that moved, or whose group has other members now.
3. Repeat until a round gains little. Then leave out levels and build the levels above each level
   anew, where that is shorter.
4. Small blocks that a flat model cannot afford: cut the blocks along those that the flat search
   started from, with the blocks as groups, and repeat 2 and 3 from there. Give up if the first
   pass leaves the description longer than the first one by more than a small share.
5. Move single nodes of the shorter hierarchy until no move to any block helps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.progress import Iteration, silent
from coterie.kernels.hard.description_state import Multigraph
from coterie.models.hard.description.search import TRIED, DescriptionSearch, Trail
from coterie.models.hard.description.state import (
    LEVEL,
    ModelKind,
    block_multigraph,
    grouped_cells,
    levels_above,
    start_state,
)
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.saved_search import SearchSaver, check_close, check_labels

_ROUNDS = 12
_MIN_GAIN = 3e-4  # a round that gains a smaller share is the last one
_HOPE = 1e-2  # the second start is given up if it is longer by a larger share after one pass
_CUT_LEVEL = 2.0  # ratio of the numbers of blocks of two levels of its first pass
_MOST_CUT = 6_000  # blocks that the second start may have: the block matrix is dense
_SINGLES = 1200  # blocks up to which a level is fitted from single blocks


def nested_length(kind: ModelKind, graph: Multigraph, levels: list[np.ndarray]) -> float:
    """Return the description length of a hierarchy in nats."""
    flat = start_state(kind, graph, levels[0], spare=1, prior="none")
    B = flat.n_blocks
    if len(levels) == 1:
        return start_state(kind, graph, levels[0], spare=1).length()
    upper = levels_above(flat.blocks.cells[:B, :B], levels[1:])
    return start_state(kind, graph, levels[0], spare=1, prior=upper).length()


@dataclass
class _Tried:
    """What the last search on the lowest level need not try again."""

    labels: np.ndarray  # the blocks that it found
    groups: np.ndarray  # and their groups
    ends: dict[str, np.ndarray]  # `DescriptionSearch.tried`
    active: np.ndarray

    @classmethod
    def of(
        cls, search: DescriptionSearch, occupied: np.ndarray, levels: list[np.ndarray]
    ) -> _Tried:
        """Return what a search that has ended has tried; `levels` has its result."""
        ends = {what: tried[occupied] for what, tried in search.tried.items()}
        return cls(levels[0], levels[1], ends, search.active)

    def check(self, labels: np.ndarray) -> None:
        """Raise ArrayError if the content of a file does not fit these labels of the nodes."""
        n, B = len(labels), int(labels.max()) + 1
        for what in TRIED:
            check_array(f"tried.{what}", self.ends[what], np.float64, (B,))
        check_array("active", self.active, np.uint8, (n,), below=2)
        check_labels((self.groups,), (B,))

    def recall(self, search: DescriptionSearch, groups: np.ndarray) -> None:
        """Have the search begin with blocks whose group has changed."""
        changed = _in_other_company(self.groups, groups)
        for what, ends in self.ends.items():
            search.tried[what][: len(ends)] = np.where(changed, -1.0, ends)
        search.active[:] = self.active | changed[self.labels]


def _in_other_company(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return which things are in a group with other members than before.

    >>> _in_other_company(np.array([0, 0, 1, 1]), np.array([2, 2, 0, 1])).tolist()
    [False, False, True, True]
    """
    same = np.bincount(before)[before] == np.bincount(after)[after]
    width = int(after.max(initial=0)) + 1
    pair = before.astype(np.int64) * width + after
    _, place, count = np.unique(pair, return_inverse=True, return_counts=True)
    return np.asarray(~(same & (count[place] == np.bincount(after)[after])))


@dataclass
class _Position:
    """Where `NestedSearch.run` is."""

    round: int = 0
    level: int = 0  # the next level to improve
    depth: int = 0  # number of levels at the beginning of the round
    before: float = 0.0  # length at the beginning of the round


class NestedPoint(NamedTuple):
    """Everything that is needed to continue `NestedSearch.run` after a step."""

    at: _Position
    length: float
    levels: list[np.ndarray]
    tried: _Tried | None
    history: list[Iteration]
    lengths: dict[int, float]


class NestedSearch:
    """A hierarchy on its way to the shortest description."""

    def __init__(self, kind: ModelKind, graph: Multigraph, rng: Generator, trail: Trail) -> None:
        self.kind, self.graph, self.rng, self.trail = kind, graph, rng, trail
        self.locally_optimal = False
        self.levels: list[np.ndarray] = []
        self.length = 0.0
        self.at = _Position()
        self.hope = np.inf  # give up if the first pass leaves it longer than this
        self.constrained = len(graph.ties) + len(graph.categories) > 0
        self._cells: list[np.ndarray] = []  # of the lowest levels, as far as they are known
        self._tried: _Tried | None = None

    def begin(self, labels: np.ndarray) -> None:
        """Start from blocks of nodes, with the levels above fitted one by one."""
        self.levels = [renumber(labels)]
        self.levels += self.built_above(0)
        self._started()

    def begin_cut(self, levels: list[np.ndarray], pieces: np.ndarray) -> bool:
        """Start from a hierarchy whose blocks are cut along `pieces`, with the blocks as groups;
        return False if there are too many."""
        width = int(pieces.max()) + 1
        pairs, labels = np.unique(levels[0].astype(np.int64) * width + pieces, return_inverse=True)
        if len(pairs) > _MOST_CUT:
            return False
        groups = (pairs // width).astype(np.int32)
        self.levels = [labels.astype(np.int32), groups, *levels[1:]]
        self._started()
        return True

    def _started(self) -> None:
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
        self.length = nested_length(self.kind, self.graph, self.levels)  # without rounding errors

    def resume(self, saver: SearchSaver) -> None:
        """Continue from the point that the saver has."""
        saved = saver.take(NestedPoint)
        assert saved is not None
        with saver.errors():
            self.restore(saved)

    def finish(self) -> None:
        """Move single nodes until no move to any block helps."""
        self.locally_optimal = self.improve(0, last=True)
        self.report()

    def _step(self) -> None:
        """Improve one level. After the highest one: if the round gained little, leave out levels
        and build the levels above each level anew."""
        at = self.at
        if at.level < at.depth:
            if at.level < len(self.levels) - 1:
                self.improve(at.level)
            at.level += 1
            if at.round == 0 and at.level == 1 and self.length > self.hope:
                at.round = _ROUNDS
            return
        quiet = at.before - self.length < _MIN_GAIN * abs(self.length)
        if quiet:
            before = self.length
            self.rebuild()
            self.drop_levels()
            quiet = before - self.length < _MIN_GAIN * abs(self.length)
        self.report()
        self.at = _Position(_ROUNDS if quiet else at.round + 1, 0, len(self.levels), self.length)

    def point(self) -> NestedPoint:
        """Return everything that is needed to continue `run` after the last step."""
        tried = self._tried
        if tried is not None and tried.labels is not self.levels[0]:
            tried = None
        trail = self.trail
        return NestedPoint(self.at, self.length, self.levels, tried, trail.history, trail.lengths)

    def restore(self, saved: NestedPoint) -> None:
        """Continue from a saved point."""
        check_levels(saved.levels, len(self.graph.degrees))
        self.levels = saved.levels
        if saved.tried is not None:
            saved.tried.check(self.levels[0])
            self._tried = replace(saved.tried, labels=self.levels[0])
        check_close("length", saved.length, nested_length(self.kind, self.graph, self.levels))
        self.length, self.at = saved.length, saved.at
        self.trail.restore(saved.history, saved.lengths)

    def cells(self, level: int) -> np.ndarray:
        """Return the cells between the groups of one level."""
        if not self._cells:
            state = start_state(self.kind, self.graph, self.levels[0], spare=1, prior="none")
            B = state.n_blocks
            self._cells.append(np.asarray(state.blocks.cells[:B, :B], np.int64))
        while len(self._cells) <= level:
            z = self.levels[len(self._cells)]
            self._cells.append(grouped_cells(self._cells[-1], z))
        return self._cells[level]

    def improve(self, level: int, *, last: bool = False) -> bool:
        """Improve one level with the levels above as its prior.

        The last time, only move single nodes until no move to any block helps; return whether
        that point was reached."""
        graph = self.graph if level == 0 else block_multigraph(self.cells(level - 1))
        kind = self.kind if level == 0 else LEVEL
        upper = levels_above(self.cells(level), self.levels[level + 1 :])
        state = start_state(kind, graph, self.levels[level], prior=upper)
        search = DescriptionSearch(state, self.rng, Trail(silent))
        before = search.length
        if last:
            search.finish()
        else:
            tried = self._tried if level == 0 else None
            if tried is None or tried.labels is not self.levels[0]:
                if level == 0 and self.at.round == 0 and np.isfinite(self.hope):
                    search.level_ratio = _CUT_LEVEL
                search.descend()
            else:
                tried.recall(search, self.levels[1])
            search.repair()
        state = search.state
        occupied = np.flatnonzero(state.blocks.sizes > 0)
        change = state.length() - before
        if change < -1e-9:
            self.levels = [
                *self.levels[:level],
                renumber(state.labels),
                renumber(state.upper.parents[0, occupied]),
                *self.levels[level + 2 :],
            ]
            self.length += change
            cells = np.asarray(state.blocks.cells[np.ix_(occupied, occupied)], np.int64)
            self._cells[level:] = [cells]
        if level == 0:
            self._tried = _Tried.of(search, occupied, self.levels) if change < -1e-9 else None
        return search.locally_optimal

    def accept(self, levels: list[np.ndarray]) -> bool:
        """Keep these levels if they are shorter."""
        length = nested_length(self.kind, self.graph, levels)
        if length < self.length - 1e-9:
            if levels[0] is not self.levels[0]:
                self._cells.clear()
            del self._cells[1:]
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
            search = DescriptionSearch(start_state(LEVEL, graph, labels), self.rng, Trail(silent))
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
        level = int(self.constrained)  # groups of blocks may be what no block may be
        while level < len(self.levels) - 1 and len(self.levels) > 2:
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


def check_levels(levels: list[np.ndarray], n: int) -> None:
    """Raise ArrayError if levels from a file are not those above n nodes."""
    for level, labels in enumerate(levels):
        check_labels((labels,), (n,))
        n = int(labels.max()) + 1
        if len(np.unique(labels)) != n:
            raise ArrayError(f"levels.{level}: a group is empty")


_FLAT, _FIRST, _CUT = 0, 1, 2  # parts of the search


@dataclass
class _Parts:
    """What the present part of the search has from the parts before it."""

    pieces: np.ndarray  # where the flat search started
    part: int = _FLAT
    levels: list[np.ndarray] = field(default_factory=list)  # the first hierarchy

    def check(self, n: int) -> None:
        """Raise ArrayError if the content of a file does not fit a graph of n nodes."""
        check_levels(self.levels, n)
        check_labels((self.pieces,), (n,))


class HierarchyFit:
    """The parts of the search one after the other; the flat one begins with the blocks `start`.

    `best` has the shortest hierarchy found: labels per level, levels[0] of nodes, levels[l] of the
    groups of level l - 1; the last level has one group."""

    def __init__(
        self,
        kind: ModelKind,
        graph: Multigraph,
        start: np.ndarray,
        rng: Generator,
        trail: Trail,
        flat: np.ndarray | None = None,
        brief: bool = False,
    ) -> None:
        self.kind, self.graph, self.rng, self.trail, self.flat = kind, graph, rng, trail, flat
        self.brief = brief  # `flat` was good for nearly the same graph: step 4 is left out
        self.parts = _Parts(renumber(start))
        self.best = self._search()
        self.interrupted = False

    def fit(self, saver: SearchSaver) -> None:
        """Search until nothing helps, or until Ctrl-C."""
        self.parts = saver.take(_Parts) or self.parts
        with saver.errors():
            self.parts.check(len(self.graph.degrees))
        self._show(self.parts.pieces)
        try:
            self.run(saver.inside(lambda: self.parts))
        except KeyboardInterrupt:
            self.interrupted = True

    def _search(self) -> NestedSearch:
        return NestedSearch(self.kind, self.graph, self.rng, self.trail)

    def _show(self, labels: np.ndarray) -> None:
        """Have these blocks, in one group, as the result of a search that is stopped now."""
        blocks = renumber(labels)
        self.best.levels = [blocks, np.zeros(int(blocks.max()) + 1, np.int32)]
        self.best.length = nested_length(self.kind, self.graph, self.best.levels)

    def run(self, saver: SearchSaver) -> None:
        """Search, or continue from the point that the saver has; `best` has the result."""
        parts, resumed = self.parts, bool(saver.saved)
        if parts.part == _FLAT:
            flat = self.flat
            if flat is None:
                state = start_state(self.kind, self.graph, parts.pieces)
                search = DescriptionSearch(state, self.rng, self.trail)
                try:
                    search.run(saver)
                finally:
                    self._show(search.best)
                flat = search.best
            parts.part, resumed = _FIRST, False
            self.best.begin(flat)
        elif parts.part == _FIRST:
            self.best.resume(saver)
        if parts.part == _FIRST:
            self.best.run(saver)
            parts.part, parts.levels, resumed = _CUT, self.best.levels, False
        else:
            self.best.levels = parts.levels
            self.best.length = nested_length(self.kind, self.graph, parts.levels)
        if self.brief:
            self.best.finish()
            return
        second = self._search()
        second.hope = (1 + _HOPE) * self.best.length
        begun = True
        if not resumed:
            begun = second.begin_cut(parts.levels, parts.pieces)
        else:
            second.resume(saver)
        if begun:
            second.run(saver)
            if second.length < self.best.length:
                self.best = second
        self.best.finish()
