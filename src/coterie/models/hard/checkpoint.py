"""Checkpoints of a hard clustering: the finished runs, and the one in progress."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Iteration
from coterie.base.randomness import RandomState, as_generator
from coterie.engine.checkpoint import (
    RunCheckpoint,
    generator_from,
    generator_state,
    in_order,
    iterations,
    numbered,
)
from coterie.models.data_digest import digest
from coterie.models.hard.objectives.interface import Labels, Objective
from coterie.models.hard.search import SearchResult
from coterie.models.hard.search.paper import PaperTrace

KIND = "hard clustering"


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

    def trace(self, objective: Objective, n_blocks: tuple[int, ...]) -> PaperTrace:
        """Return the trace with which the search continues this run."""
        state = objective.start(self.labels, n_blocks)
        for array, saved in zip(state.statistics, self.statistics, strict=True):
            array[...] = saved
        return PaperTrace(state, self.best, self.lowest, self.history, self.seconds, self.converged)


@dataclass
class HardFitState:
    """A fit in progress: everything a checkpoint stores to continue with the same numbers."""

    rng: Generator
    finished: list[SearchResult] = field(default_factory=list)
    unfinished: UnfinishedHardRun | None = None

    def take_unfinished(self) -> UnfinishedHardRun | None:
        """Return the unfinished run once; None from then on."""
        unfinished, self.unfinished = self.unfinished, None
        return unfinished


def save_fit(file: RunCheckpoint, fit: HardFitState, trace: PaperTrace | None = None) -> None:
    """Write the finished runs, and the run in progress if its trace is given."""
    if file.path is None:
        return
    arrays: dict[str, np.ndarray] = {}
    for number, run in enumerate(fit.finished):
        arrays |= numbered(f"run{number}", run.labels)
    unfinished = None
    if trace is not None:
        arrays |= numbered("labels", trace.state.labels) | numbered("best", trace.best)
        arrays |= numbered("statistics", trace.state.statistics)
        unfinished = {
            "lowest": trace.lowest,
            "history": [list(entry) for entry in trace.history],
            "seconds": trace.seconds,
            "converged": trace.converged,
        }
    finished = [
        {
            "entropy": run.entropy,
            "history": [list(entry) for entry in run.history],
            "converged": run.converged,
        }
        for run in fit.finished
    ]
    facts = {"rng": generator_state(fit.rng), "finished": finished, "unfinished": unfinished}
    file.write(arrays, facts)


def load_fit(file: RunCheckpoint) -> HardFitState | None:
    """Return the fit that an earlier process saved; None if there is no file."""
    saved = file.read()
    if saved is None:
        return None
    arrays, facts = saved
    fit = HardFitState(generator_from(facts["rng"]))
    for number, run in enumerate(facts["finished"]):
        labels = tuple(in_order(arrays, f"run{number}"))
        history = iterations(run["history"])
        fit.finished.append(SearchResult(labels, run["entropy"], history, run["converged"]))
    if facts["unfinished"] is not None:
        run = facts["unfinished"]
        fit.unfinished = UnfinishedHardRun(
            tuple(in_order(arrays, "labels")),
            tuple(in_order(arrays, "best")),
            tuple(in_order(arrays, "statistics")),
            run["lowest"],
            iterations(run["history"]),
            run["seconds"],
            run["converged"],
        )
    return fit


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
