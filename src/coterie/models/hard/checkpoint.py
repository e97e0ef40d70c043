"""Checkpoints of a hard clustering: the finished runs, and the one in progress.

A run of `search="paper"` is saved every few iterations with its statistics. The other searches are
saved at their points (`saved_search.py`), as often as costs a small share of their time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from coterie.base.array_checks import ArrayError, check_like
from coterie.base.progress import Iteration
from coterie.base.randomness import RandomState, as_generator
from coterie.engine.checkpoint import (
    FitOfRuns,
    RunCheckpoint,
    StoredState,
    generator_state,
    pack,
)
from coterie.models.data_kinds import digest
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.saved_search import Point, SearchSaver, check_labels
from coterie.models.hard.search import SearchResult
from coterie.models.hard.search.paper import PaperTrace

KIND = "hard clustering"
SAVING_SHARE = 0.03  # of the time of a search may be spent on saving it


@dataclass(frozen=True)
class UnfinishedHardRun:
    """A run that a checkpoint interrupted, independent of any engine."""

    labels: Labels
    best: Labels
    statistics: tuple[np.ndarray, ...]  # stored because sums of fractions depend on their order
    lowest: list[float]
    history: list[Iteration]
    seconds: float
    converged: bool

    @classmethod
    def of(cls, trace: PaperTrace) -> UnfinishedHardRun:
        """Return what a run needs to continue."""
        rest = {name: value for name, value in vars(trace).items() if name != "state"}
        return cls(labels=trace.state.labels, statistics=trace.state.statistics, **rest)

    def trace(self, objective: Objective, n_blocks: tuple[int, ...]) -> PaperTrace:
        """Return the trace with which the search continues this run."""
        state = objective.start(self.labels, n_blocks)
        for array, saved in zip(state.statistics, self.statistics, strict=True):
            check_like("statistics", saved, array)
            if not np.allclose(saved, array, rtol=1e-6, atol=1e-6):
                raise ArrayError("statistics: they are not those of the labels")
            array[...] = saved
        return PaperTrace(state, self.best, self.lowest, self.history, self.seconds, self.converged)


@dataclass(frozen=True)
class ChosenBlocks:
    """The numbers of blocks with the shortest description, and labels to start from."""

    n_blocks: tuple[int, ...]
    labels: Labels
    lengths: dict[tuple[int, ...], float]  # of all numbers that were tried


@dataclass
class HardFitState(FitOfRuns[UnfinishedHardRun]):
    """A fit in progress: everything a checkpoint stores to continue with the same numbers."""

    rng: Generator
    finished: list[SearchResult] = field(default_factory=list)
    unfinished: UnfinishedHardRun | None = None
    last: UnfinishedHardRun | None = None  # the end of the last finished run, to continue it
    chosen: ChosenBlocks | None = None  # where a search at each number of blocks is compared
    points: list[StoredState] = field(default_factory=list)  # of a run of the other searches

    def check(self, n_elements: tuple[int, ...], n_blocks: tuple[int, ...]) -> None:
        """Raise ArrayError if labels from a file do not fit the data."""
        for run in self.finished:
            check_labels(run.labels, n_elements, n_blocks)
        if self.chosen is not None:
            check_labels(self.chosen.labels, n_elements, n_blocks)
        for unfinished in (self.unfinished, self.last):
            if unfinished is not None:
                check_labels(unfinished.labels, n_elements, n_blocks)
                check_labels(unfinished.best, n_elements, n_blocks)
                if len(unfinished.lowest) != len(unfinished.history) + 1:
                    raise ArrayError("lowest: one entropy per iteration is needed")


def save_fit(
    file: RunCheckpoint,
    fit: HardFitState,
    trace: PaperTrace | None = None,
    points: Sequence[Point] = (),
) -> None:
    """Write the finished runs, and the latest run if its trace or its points are given.

    A trace with the history of the last finished run is that run: it is kept so that the run can
    continue with more iterations.
    """
    if file.path is None:
        return
    run = None if trace is None else UnfinishedHardRun.of(trace)
    over = run is not None and bool(fit.finished) and fit.finished[-1].history is run.history
    file.save(
        replace(
            fit,
            unfinished=None if over else run,
            last=run if over else None,
            points=[pack(point()) for point in points],
        )
    )


def search_saver(file: RunCheckpoint, fit: HardFitState) -> SearchSaver:
    """Return the saver of a search, with the point from which it continues.

    The first point is saved; a later one when saving has taken a small share of the time."""
    saved, fit.points = fit.points, []
    if file.path is None:
        return SearchSaver()
    began, spent = time.perf_counter(), 0.0

    def write(points: list[Point]) -> None:
        nonlocal spent
        now = time.perf_counter()
        if spent <= SAVING_SHARE * (now - began):
            save_fit(file, fit, points=points)
            spent += time.perf_counter() - now

    return SearchSaver(write, saved, file.errors)


def seed_name(rng: RandomState) -> int | str | None:
    """Return what distinguishes one seed from another: a number, or the state of a generator.

    None stands for fresh entropy; the checkpoint then stores the whole generator.

    >>> seed_name(3), seed_name(np.random.default_rng(3)) == seed_name(np.random.default_rng(4))
    (3, False)
    """
    if isinstance(rng, Generator):
        return digest([str(generator_state(rng))])
    as_generator(rng)  # raises if the seed is invalid
    return None if rng is None else int(rng)
