"""Find the lowest entropy: merge single elements, make moves, perturb, keep the best.

1. Agglomerate single elements to 1.5 times the requested number of blocks (`agglomerate.py`).
2. Merge down to the requested number in levels, with moves between them (`checked_moves.py`).
3. Perturb: cut every block at random into a few pieces, merge down again, keep the better result.
   This merges and splits all blocks at once and repairs merges that were made too early.
   Graphs that are too large for it are repaired by splits and merges of single blocks, judged by
   the description length (`models/hard/description/`). Directed and weighted graphs that are too
   large are repaired by rounds of splits: every block is cut in two, nodes move among twice as many
   blocks, then blocks are merged down again.
4. Make moves in the best result until a full pass shows that no single move improves it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Iteration, Progress, silent
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.description import search as description
from coterie.models.hard.description.state import KINDS, multigraph, start_state
from coterie.models.hard.label_tools import renumber, renumber_sides
from coterie.models.hard.saved_search import SearchSaver, check_close, check_labels
from coterie.models.hard.search import SearchResult, SearchTask
from coterie.models.hard.search.agglomerate import agglomerate, enlarge_small
from coterie.models.hard.search.checked_moves import settle
from coterie.models.hard.search.paper import random_labels

_ABOVE = 1.5  # moves start at this many times the requested number of blocks
_LEVEL = 1.25  # ratio of the numbers of blocks of two levels
_PASSES = 3  # between levels
_MIN_GAIN = 1e-4  # a pass that lowers S by less than this share ends a descent, except the last
_ROUGH_GAIN = 1e-3  # the same in graphs that are repaired: the moves at the end make up for it
_PIECES = 4  # per block that is cut
_WORK = 12_000_000  # bounds perturbations x edges x blocks
_PERTURBATIONS = (0, 50)  # minimum and maximum (ca-astroph: one lowers S by 1 part in 500)
_REPAIRS = 2  # rounds of repairs of graphs that are too large for perturbations
_SPLITS = 16  # rounds of splits, at most
_SPLIT_PASSES = 8  # over all nodes after a split: the halves of a mixed block drift apart slowly
_SPLIT_PATIENCE = (
    4  # rounds in a row without improvement: one separates two blocks half of the time
)
_SPLIT_BLOCKS = 1000  # blocks above which tables of twice as many would be too large
_REPORTED = 20_000  # elements from which levels of merges are reported: they take seconds
_RESTARTS = 10  # of points
_PATIENCE = 8  # stop after this many perturbations in a row without improvement
Result = tuple[Labels, float, int]  # labels, entropy, moves made
# phases of a run
_FIRST, _REPAIR, _SPLIT, _PERTURB = "first descent", "repair", "split", "perturb"


@dataclass
class TrailPoint:
    """What is needed to continue a search: the best clustering so far, and the history."""

    phase: str  # of the search
    labels: Labels = ()
    entropy: float = math.inf
    converged: bool = False  # the descent to these labels
    history: list[Iteration] = field(default_factory=list)
    idle: int = 0  # steps in a row without improvement

    def check(self, objective: Objective, n_blocks: tuple[int, ...]) -> None:
        """Raise ArrayError if the content of a file does not fit the data."""
        if self.labels or self.history:
            check_labels(self.labels, objective.n_elements, n_blocks)
            entropy = objective.entropy(objective.start(self.labels, n_blocks))
            check_close("entropy", self.entropy, entropy)


class Trail:
    """A search on its way; it continues from the point that the saver has."""

    def __init__(
        self,
        task: SearchTask,
        saver: SearchSaver,
        *,
        total: int,
        phase: str = "",
        first_of_equals: bool = False,
    ) -> None:
        self.at = saver.take(TrailPoint) or TrailPoint(phase)
        with saver.errors():
            self.at.check(task.objective, task.n_blocks)
        self.saver, self.callback, self.total = saver, task.callback, total
        self.first_of_equals = first_of_equals
        self.began = time.perf_counter()
        if self.at.history:
            self.began -= self.at.history[-1].seconds

    def add(self, labels: Labels, entropy: float, moved: int, converged: bool = False) -> None:
        """Record one clustering and report it."""
        at, done = self.at, len(self.at.history) + 1
        if entropy < at.entropy or (entropy == at.entropy and not self.first_of_equals):
            at.labels, at.entropy, at.converged = labels, entropy, converged
        at.history.append(Iteration(done, time.perf_counter() - self.began, entropy, moved))
        self.callback(Progress("fit", done, self.total, entropy, f"best {at.entropy:,.1f}"))

    def point(self) -> TrailPoint:
        """Return what is needed to continue."""
        return self.at

    def save(self) -> None:
        """Save the search if that is due."""
        self.saver.save(self.point)

    def result(self, converged: bool, interrupted: bool = False) -> SearchResult:
        """Return the best clustering with the history."""
        at = self.at
        return SearchResult(at.labels, at.entropy, at.history, converged, interrupted)


def run(task: SearchTask, saver: SearchSaver | None = None) -> SearchResult:
    """Search from single elements, or from the labels in `task.start`.

    An entry of the history is one clustering with n_blocks blocks: the first, one per
    perturbation, and the best of them after the final moves. `max_iter` bounds all but the last. A
    perturbation that gains less than `tol` (relative) counts as no improvement. `saver` saves the
    search while it runs, or continues one that was saved.
    """
    objective, saver = task.objective, saver or SearchSaver()
    if not isinstance(objective, BlockObjective):
        return run_restarts(task, saver)
    max_iter, tol = task.settings.max_iter, task.settings.tol
    trail = Trail(task, saver, total=max_iter, phase=_FIRST)
    at = trail.at
    descent = _Descent(task, objective, saver.inside(trail.point))
    work = sum(len(side.indices) for side in objective.sides) * max(task.n_blocks)
    perturbations = min(max_iter - 1, int(np.clip(_WORK // max(work, 1), *_PERTURBATIONS)))
    repairs = perturbations < 1 and max_iter > 1 and descent.can_repair
    descent.min_gain = _ROUGH_GAIN if repairs else _MIN_GAIN

    def step(begin: Callable[[], Result]) -> None:
        """Make a step, or end the one that a checkpoint interrupted; count steps in vain."""
        before = at.entropy
        trail.add(*(descent.resumed() or begin()))
        at.idle = 0 if before - at.entropy > tol * abs(before) else at.idle + 1

    try:
        if at.phase == _FIRST:
            singles = tuple(np.arange(n, dtype=np.int32) for n in objective.n_elements)
            trail.add(*(descent.resumed() or descent.down(task.start or singles)))
            at.phase = _PERTURB
            if repairs:
                at.phase = _REPAIR
            elif perturbations < 1 and descent.can_split:
                at.phase = _SPLIT
            trail.save()
        if at.phase == _REPAIR:
            trail.add(*(descent.resumed() or descent.repair(at.labels)))
            at.phase = _PERTURB
            trail.save()
        most_splits = min(_SPLITS, max_iter - 1)
        while at.phase == _SPLIT and at.idle < _SPLIT_PATIENCE and len(at.history) <= most_splits:
            step(lambda: descent.split(at.labels))
            trail.save()
        while at.idle < _PATIENCE and len(at.history) <= perturbations:
            step(lambda: descent.down(perturbed(at.labels, task.rng)))
            trail.save()
        trail.add(*descent.finish(at.labels))
        return trail.result(converged=True)
    except KeyboardInterrupt:
        if not at.history:
            raise
        return trail.result(converged=False, interrupted=True)


def run_restarts(task: SearchTask, saver: SearchSaver) -> SearchResult:
    """Keep the best of several descents, for objectives that cannot merge blocks (points):
    sequential exact sweeps (Hartigan's algorithm) from several starts.

    The first start is `task.start` if given; the others are random. Every descent ends locally
    optimal unless it needs more than `max_iter` sweeps. An entry of the history is one descent."""
    objective, n_blocks, settings = task.objective, task.n_blocks, task.settings
    trail = Trail(task, saver, total=_RESTARTS, first_of_equals=True)
    at, interrupted = trail.at, False
    try:
        while len(at.history) < _RESTARTS:
            labels = None if at.history else task.start
            if labels is None:
                least = settings.min_block_size
                labels = random_labels(objective.n_elements, n_blocks, task.rng, least)
            state = objective.start(labels, n_blocks)
            moved, finished = _descend(task, state)
            trail.add(state.labels, objective.entropy(state), moved, finished)
            trail.save()
    except KeyboardInterrupt:
        if not at.history:
            raise
        interrupted = True
    return trail.result(at.converged, interrupted)


def _descend(task: SearchTask, state: Any) -> tuple[int, bool]:
    """Sweep until nothing moves; return (moves made, whether the last sweep moved nothing)."""
    total, least = 0, task.settings.min_block_size
    for _ in range(task.settings.max_iter):
        moved = 0
        for side, n in enumerate(task.objective.n_elements):
            moved += task.objective.sweep(state, side, task.rng.permutation(n), least)[0]
        if moved == 0:
            return total, True
        total += moved
    return total, False


def perturbed(labels: Labels, rng: Generator) -> Labels:
    """Return labels with every block cut at random into up to `_PIECES` blocks."""
    return tuple(z * _PIECES + rng.integers(0, _PIECES, len(z), dtype=np.int32) for z in labels)


class _Level(NamedTuple):
    """Where a descent is: it continues with these labels."""

    labels: Labels
    moved: int


@dataclass
class _Descent:
    """From many blocks to a clustering with the requested number."""

    task: SearchTask
    objective: BlockObjective  # of the task
    saver: SearchSaver
    min_gain: float = _MIN_GAIN  # share by which the last full pass of a descent has to lower S

    def resumed(self) -> Result | None:
        """Finish the descent that a checkpoint interrupted; None if there is none."""
        saved = self.saver.take(_Level)
        if saved is None:
            return None
        with self.saver.errors():
            check_labels(saved.labels, self.objective.n_elements)
        return self.down(*saved)

    def down(self, labels: Labels, moved: int = 0) -> Result:
        """Merge down with moves between levels; return (labels, entropy, moves made)."""
        goal = self.task.n_blocks
        labels = agglomerate(
            self.objective,
            labels,
            tuple(int(_ABOVE * k) for k in goal),
            self.task.rng,
            self.task.engine,
            self._end_level,
        )
        labels, found = renumber_sides(labels)
        while any(k > wanted for k, wanted in zip(found, goal, strict=True)):
            self._end_level(labels, moved)
            state = self.objective.start(labels, found)
            moved += settle(
                self.objective, state, self.task.rng, self.task.engine, passes=_PASSES
            ).moved
            level = tuple(
                max(wanted, int(k / _LEVEL)) for k, wanted in zip(found, goal, strict=True)
            )
            task = self.task
            labels = agglomerate(self.objective, state.labels, level, task.rng, task.engine)
            labels, found = renumber_sides(labels)
        min_size = self.task.settings.min_block_size
        if min_size > 0:
            labels = enlarge_small(
                self.objective, labels, goal, min_size, self.task.rng, self.task.engine
            )
        labels, entropy, last = self.finish(labels, self.min_gain)
        return labels, entropy, moved + last

    def _end_level(self, labels: Labels, moved: int = 0) -> None:
        """Report one level of merges; save the descent at labels from which `down` continues."""
        if sum(self.objective.n_elements) >= _REPORTED:
            blocks = " x ".join(f"{z.max(initial=-1) + 1:,}" for z in labels)
            self.task.callback(Progress("merging", 0, note=f"{blocks} blocks"))
        self.saver.save(lambda: _Level(labels, moved))

    @property
    def can_repair(self) -> bool:
        """Whether `repair` supports the objective."""
        return self.objective.name in KINDS and self.task.settings.min_block_size == 0

    def repair(self, labels: Labels) -> Result:
        """Split blocks that were merged wrongly and merge those that were split, by description
        length, then return to the requested number; return the values that `down` returns.

        The cost is proportional to the edges, whatever the number of blocks."""
        side = self.objective.sides[0]
        state = start_state(
            KINDS[self.objective.name], multigraph(side.indptr, side.indices), labels[0]
        )
        search = description.DescriptionSearch(state, self.task.rng, description.Trail(silent))
        search.repair(_REPAIRS)
        repaired: Labels = (search.best,)
        if len(np.unique(search.best)) < self.task.n_blocks[0]:
            repaired = perturbed((renumber(search.best),), self.task.rng)
        return self.down(repaired)

    @property
    def can_split(self) -> bool:
        """Whether `split` supports the objective and there is no better repair."""
        small = self.task.n_blocks[0] <= _SPLIT_BLOCKS and self.task.settings.min_block_size == 0
        return small and len(self.task.n_blocks) == 1 and self.objective.name not in KINDS

    def split(self, labels: Labels) -> Result:
        """Cut every block in two and merge down again; return the values that `down` returns.

        The halves of two blocks that were merged wrongly become these two blocks while nodes move;
        the halves of any other block are cheap to merge."""
        halves = tuple(2 * z + self.task.rng.integers(0, 2, len(z), dtype=np.int32) for z in labels)
        state = self.objective.start(halves, tuple(2 * k for k in self.task.n_blocks))
        made = settle(self.objective, state, self.task.rng, self.task.engine, passes=_SPLIT_PASSES)
        return self.down(state.labels, made.moved)

    def finish(self, labels: Labels, min_gain: float = 0.0) -> Result:
        """Make moves only, and return the values that `down` returns.

        The result is locally optimal if min_gain is 0.
        """
        state = self.objective.start(labels, self.task.n_blocks)
        moved = settle(
            self.objective,
            state,
            self.task.rng,
            self.task.engine,
            min_gain=min_gain,
            min_block_size=self.task.settings.min_block_size,
        ).moved
        return state.labels, self.objective.entropy(state), moved
