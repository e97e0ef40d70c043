"""Runs of a search that minimises the entropy at given numbers of blocks; the best one is kept.

The state of all runs is a `HardFitState`, which a checkpoint stores.
"""

from __future__ import annotations

from coterie.engine.checkpoint import RunCheckpoint
from coterie.models.hard.checkpoint import HardFitState, save_fit, search_saver
from coterie.models.hard.search import SearchResult, SearchTask, best, paper
from coterie.models.hard.search.paper import PaperTrace


def run_all(task: SearchTask, fit: HardFitState, file: RunCheckpoint) -> bool:
    """Run the searches that are not finished; return whether Ctrl-C stopped them."""
    with file.errors():
        fit.check(task.objective.n_elements, task.n_blocks)
    settings = task.settings
    fit.continue_last(settings.max_iter, lambda run: paper.has_converged(run.lowest, settings))
    while len(fit.finished) < settings.n_init:
        try:
            result, trace = run_once(task, fit, file)
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
    task: SearchTask, fit: HardFitState, file: RunCheckpoint
) -> tuple[SearchResult, PaperTrace | None]:
    """Run the search once, or continue the one that a checkpoint interrupted.

    The trace is the end of the run, from which it could go on (`search="paper"` only).
    """
    if task.settings.is_best:
        return best.run(task, search_saver(file, fit)), None

    def save_if_due(trace: PaperTrace) -> None:
        if file.due(len(trace.history)):
            save_fit(file, fit, trace)

    unfinished = fit.take_unfinished()
    if unfinished is None:
        trace = paper.begin(task)
    else:
        with file.errors():
            trace = unfinished.trace(task.objective, task.n_blocks)
    return paper.run(task, trace, save_if_due), trace
