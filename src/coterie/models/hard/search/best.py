"""The lowest entropy we can reach: merge from single elements, settle, shake, keep the best.

1. Agglomerate from single elements to half as many blocks again as wanted (`agglomerate`).
2. Go down to the wanted number in levels; moves between the levels (`settle`).
3. Shake: cut every block at random into a few, go down again, keep what is better. A cut and its
   way back are a merge and a split of all blocks at once; it repairs merges that came too early.
4. Settle the best to the end: no single move improves it, and a full pass has shown that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.engine import Engine
from coterie.models.hard.label_tools import renumber_sides
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.objectives.interface import Labels, Objective
from coterie.models.hard.search import restarts
from coterie.models.hard.search.agglomerate import agglomerate, require_whole
from coterie.models.hard.search.block_sizes import enlarge_small
from coterie.models.hard.search.checked_moves import settle
from coterie.models.hard.search.result import SearchResult

_ABOVE = 1.5  # moves begin at this many times the wanted blocks
_LEVEL = 1.25  # from level to level the blocks fall by this ratio
_PASSES = 3  # between levels
_ENOUGH = 1e-4  # a pass that lowers S by less than this share ends a descent, but for the last
_PIECES = 4  # of a block that is shaken
_WORK = 12_000_000  # shakes times edges times blocks, but
_SHAKES = (0, 50)  # … at least and at most so many (ca-astroph: one gains a part in 500)
_PATIENCE = 8  # … and no more after so many that did not pay


def run(
    objective: Objective,
    n_blocks: tuple[int, ...],
    start: Labels | None = None,
    *,
    rng: Generator,
    engine: Engine,
    max_iter: int = 300,
    tol: float = 1e-6,
    min_block_size: int = 0,
    callback: Callback = silent,
) -> SearchResult:
    """Search from single elements, or from the labels in `start`.

    An entry of the history is one clustering with n_blocks blocks: the first, one for each shake,
    and the best of them settled to the end. `max_iter` bounds all but the last; a shake that gains
    less than `tol` (relative) did not pay, and after a few of these there are no more.
    """
    if not isinstance(objective, BlockObjective):
        return restarts.run(
            objective,
            n_blocks,
            start,
            rng=rng,
            max_iter=max_iter,
            min_block_size=min_block_size,
            callback=callback,
        )
    _check(objective)
    trail = _Trail(max_iter, callback)
    singles = tuple(np.arange(n, dtype=np.int32) for n in objective.n_elements)
    descent = _Descent(objective, n_blocks, rng, engine, min_block_size)
    work = sum(len(side.indices) for side in objective.sides) * max(n_blocks)
    shakes = min(max_iter - 1, int(np.clip(_WORK // max(work, 1), *_SHAKES)))
    try:
        trail.add(*descent.down(singles if start is None else start))
        idle = 0
        while idle < _PATIENCE and len(trail.history) <= shakes:
            before = trail.entropy
            trail.add(*descent.down(shake(trail.labels, rng)))
            idle = 0 if before - trail.entropy > tol * abs(before) else idle + 1
        trail.add(*descent.finish(trail.labels))
        return trail.result(converged=True)
    except KeyboardInterrupt:
        if not trail.history:
            raise
        return trail.result(converged=False, interrupted=True)


def _check(objective: BlockObjective) -> None:
    if objective.score != "exact":
        raise InputError(
            f"search='best' cannot use score={objective.score!r}",
            remedy="leave score out or set it to 'exact'",
        )
    require_whole(objective, "search='best'")


def shake(labels: Labels, rng: Generator) -> Labels:
    """Every block cut at random into up to `_PIECES` blocks."""
    return tuple(z * _PIECES + rng.integers(0, _PIECES, len(z), dtype=np.int32) for z in labels)


@dataclass
class _Descent:
    """The way from many blocks to a settled clustering with the wanted number."""

    objective: BlockObjective
    n_blocks: tuple[int, ...]
    rng: Generator
    engine: Engine
    min_block_size: int

    def down(self, labels: Labels) -> tuple[Labels, float, int]:
        """(labels, entropy, moves made)"""
        goal, moved = self.n_blocks, 0
        labels = self._merge(labels, tuple(int(_ABOVE * k) for k in goal))
        labels, found = renumber_sides(labels)
        while any(k > wanted for k, wanted in zip(found, goal, strict=True)):
            state = self.objective.start(labels, found)
            moved += settle(self.objective, state, self.rng, self.engine, passes=_PASSES).moved
            level = tuple(
                max(wanted, int(k / _LEVEL)) for k, wanted in zip(found, goal, strict=True)
            )
            labels, found = renumber_sides(self._merge(state.labels, level))
        least = self.min_block_size
        if least > 0:
            labels = enlarge_small(self.objective, labels, goal, least, self.rng, self.engine)
        labels, entropy, last = self.finish(labels, _ENOUGH)
        return labels, entropy, moved + last

    def finish(self, labels: Labels, enough: float = 0.0) -> tuple[Labels, float, int]:
        """As `down`, from labels that have the wanted number of blocks; locally optimal unless
        less is enough"""
        state = self.objective.start(labels, self.n_blocks)
        moved = settle(
            self.objective,
            state,
            self.rng,
            self.engine,
            enough=enough,
            min_block_size=self.min_block_size,
        ).moved
        return state.labels, self.objective.entropy(state), moved

    def _merge(self, labels: Labels, target: tuple[int, ...]) -> Labels:
        return agglomerate(self.objective, labels, target, self.rng, self.engine)


@dataclass
class _Trail:
    """The best clustering so far, and the history of all."""

    max_iter: int
    callback: Callback
    labels: Labels = ()
    entropy: float = np.inf
    history: list[Iteration] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)

    def add(self, labels: Labels, entropy: float, moved: int) -> None:
        if entropy <= self.entropy:
            self.labels, self.entropy = labels, entropy
        done = len(self.history) + 1
        self.history.append(Iteration(done, time.perf_counter() - self.began, entropy, moved))
        self.callback(Progress("fit", done, self.max_iter, entropy, f"best {self.entropy:,.1f}"))

    def result(self, converged: bool, interrupted: bool = False) -> SearchResult:
        return SearchResult(self.labels, self.entropy, self.history, converged, interrupted)
