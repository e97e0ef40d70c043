"""Runs of a search that minimises the entropy at given numbers of blocks; the best one is kept.

The state of all runs is a `HardFitState`, which a checkpoint stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from coterie.base.progress import Callback
from coterie.engine import Engine
from coterie.engine.checkpoint import RunCheckpoint
from coterie.models.hard.checkpoint import HardFitState, save_fit, search_saver
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.search import SearchResult, best, paper
from coterie.models.hard.search.paper import PaperTrace


@dataclass(frozen=True)
class SearchSettings:
    """How the entropy is minimised."""

    search: str = "best"
    move_score: str = "auto"
    alpha: float = 0.1
    max_iter: int = 300
    tol: float = 1e-6
    n_init: int = 1
    min_block_size: int = 0

    @property
    def is_best(self) -> bool:
        """Whether the search is "best", which works in one process."""
        return self.search == "best"


@dataclass(frozen=True)
class SearchTask:
    """The inputs that all runs of a fit share."""

    objective: Objective
    n_blocks: tuple[int, ...]  # per side
    start: Labels | None  # the first labels; None: the search chooses them
    engine: Engine
    callback: Callback


class _SearchArguments(TypedDict):
    """Keyword arguments that `best.run` and `paper.run` share."""

    rng: np.random.Generator
    engine: Engine
    max_iter: int
    tol: float
    min_block_size: int
    callback: Callback


def run_all(
    task: SearchTask, settings: SearchSettings, fit: HardFitState, file: RunCheckpoint
) -> bool:
    """Run the searches that are not finished; return whether Ctrl-C stopped them."""
    with file.errors():
        fit.check(task.objective.n_elements, task.n_blocks)
    fit.continue_last(
        settings.max_iter,
        lambda run: paper.has_converged(run.lowest, len(run.history), settings.tol, settings.alpha),
    )
    while len(fit.finished) < settings.n_init:
        try:
            result, trace = run_once(task, settings, fit, file)
            fit.finished.append(result)
            if result.interrupted:
                # The last checkpoint stays: this state may be in the middle of an iteration.
                return True
            save_fit(file, fit, trace)
        except KeyboardInterrupt:
            if not fit.finished:
                raise
            return True
    return False


def run_once(
    task: SearchTask, settings: SearchSettings, fit: HardFitState, file: RunCheckpoint
) -> tuple[SearchResult, PaperTrace | None]:
    """Run the search once, or continue the one that a checkpoint interrupted.

    The trace is the end of the run, from which it could go on (`search="paper"` only).
    """
    objective, n_blocks = task.objective, task.n_blocks
    common: _SearchArguments = {
        "rng": fit.rng,
        "engine": task.engine,
        "max_iter": settings.max_iter,
        "tol": settings.tol,
        "min_block_size": settings.min_block_size,
        "callback": task.callback,
    }
    if settings.is_best:
        saver = search_saver(file, fit)
        return best.run(objective, n_blocks, task.start, saver=saver, **common), None

    def save_if_due(trace: PaperTrace) -> None:
        if file.due(len(trace.history)):
            save_fit(file, fit, trace)

    unfinished = fit.take_unfinished()
    if unfinished is not None:
        with file.errors():
            trace = unfinished.trace(objective, n_blocks)
    else:
        labels = task.start or paper.random_labels(
            objective.n_elements, n_blocks, fit.rng, settings.min_block_size
        )
        trace = paper.begin(objective, n_blocks, labels)
    found = paper.run(objective, trace, alpha=settings.alpha, after_iteration=save_if_due, **common)
    return found, trace
