"""Checkpoints of a soft fit: the finished runs, and the one in progress."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.json_values import JsonObject
from coterie.engine.checkpoint import (
    Checkpoint,
    RunCheckpoint,
    generator_from,
    generator_state,
    in_order,
    iterations,
    numbered,
    refuse_longer_runs,
    saved_seeds,
)
from coterie.models.soft.em import WINDOW, EMTrace, StoppingRule, has_converged
from coterie.models.soft.problem_interface import Problem
from coterie.models.soft.results import SoftRun
from coterie.models.soft.state import SoftShape, SoftState

KIND = "soft model"


@dataclass(frozen=True)
class UnfinishedSoftRun:
    """A run that a checkpoint interrupted, independent of any engine."""

    state: SoftState
    best: SoftState | None
    rng: JsonObject  # JSON of the generator's state
    best_score: float
    history: list[list[Any]]
    scores: list[float]
    seconds: float
    converged: bool

    def trace(self, problem: Problem, shape: SoftShape) -> EMTrace:
        """Return the trace with which the EM loop continues this run."""
        for state in (self.state, self.best):
            if state is not None:
                _check_state(state, shape)
        return EMTrace(
            problem.to_engine(self.state),
            generator_from(self.rng),
            None if self.best is None else problem.to_engine(self.best),
            self.best_score,
            iterations(self.history),
            self.scores,
            self.seconds,
            self.converged,
        )


def _check_state(state: SoftState, shape: SoftShape) -> None:
    """Raise ArrayError if a state from a file does not have these sizes."""
    rows, columns = (shape.n_rows, shape.row_groups), (shape.n_columns, shape.column_groups)
    check_array("memberships", state.rows, np.float64, rows, low=0)
    check_array("memberships", state.columns, np.float64, columns, low=0)
    check_array("theta", state.theta, np.float64, (None, rows[1], columns[1]), low=0)
    if len(state.theta) != shape.n_levels:
        raise ArrayError(f"theta: {len(state.theta)} levels instead of {shape.n_levels}")
    if shape.one_set and not np.array_equal(state.rows, state.columns):
        raise ArrayError("memberships: a graph has one set of nodes")


@dataclass
class SoftFitState:
    """A fit in progress: everything a checkpoint stores to continue with the same numbers."""

    seeds: list[int]  # one per run, then the seed that chooses the held-out ratings
    finished: list[SoftRun] = field(default_factory=list)
    unfinished: UnfinishedSoftRun | None = None
    last: UnfinishedSoftRun | None = None  # the end of the last finished run, to continue it

    @property
    def remaining_seeds(self) -> list[int]:
        """Seeds of the runs that are not finished."""
        return self.seeds[len(self.finished) : -1]

    @property
    def held_out_seed(self) -> int:
        """Seed that chooses the held-out ratings, which all runs share."""
        return self.seeds[-1]

    def take_unfinished(self) -> UnfinishedSoftRun | None:
        """Return the unfinished run once; None from then on."""
        unfinished, self.unfinished = self.unfinished, None
        return unfinished

    def continue_last(self, rule: StoppingRule, *, validated: bool) -> None:
        """Reopen the finished run if this rule would not have ended it; several runs are refused.

        Only the end of the last run is stored, so several runs cannot continue.
        """
        if len(self.finished) == 1 and self.last is not None:
            run = self.last
            window = rule.patience if validated else WINDOW
            ended = has_converged(run.scores, rule.tol, window)
            if len(run.history) < rule.max_iter and not ended:
                self.finished.clear()
                self.unfinished = replace(run, converged=False)
            return
        refuse_longer_runs(self.finished, rule.max_iter)

    def check(self, n_runs: int, n: tuple[int, int], k: tuple[int, int], n_values: int) -> None:
        """Raise ArrayError if the finished runs of a file do not fit the data and the settings."""
        if len(self.seeds) != n_runs + 1 or len(self.finished) > n_runs:
            raise ArrayError(f"seeds: {len(self.seeds)} instead of {n_runs + 1}")
        for run in self.finished:
            check_array("memberships", run.user_memberships, np.float64, (n[0], k[0]), low=0)
            check_array("memberships", run.item_memberships, np.float64, (n[1], k[1]), low=0)
            check_array("theta", run.theta, np.float64, (*k, n_values), low=0)


def save_fit(
    file: RunCheckpoint, fit: SoftFitState, problem: Problem, trace: EMTrace | None = None
) -> None:
    """Replace the checkpoint by the current state of the fit; `trace` is the latest run.

    A trace with the history of the last finished run is that run: it is kept so that the run can
    continue with more iterations.
    """
    if file.path is None:
        return
    arrays: dict[str, np.ndarray] = {}
    for n, run in enumerate(fit.finished):
        arrays |= numbered(f"run{n}", run[:3])
    unfinished = None
    if trace is not None:
        # Continue from the saved arrays: if a cluster loses parts, it recomputes from here only.
        arrays |= numbered("state", state := problem.from_engine(trace.state))
        trace.state = problem.to_engine(state)
        if trace.best is not None:
            arrays |= numbered("best", best := problem.from_engine(trace.best))
            trace.best = problem.to_engine(best)
        unfinished = {
            "rng": generator_state(trace.rng),
            "best_score": trace.best_score,
            "history": [list(row) for row in trace.history],
            "scores": trace.scores,
            "seconds": trace.seconds,
            "converged": trace.converged,
        }
    finished = [_facts(run) for run in fit.finished]
    over = trace is not None and bool(fit.finished) and fit.finished[-1].history is trace.history
    facts = {"seeds": fit.seeds, "finished": finished, "unfinished": unfinished}
    file.write(arrays, facts | {"unfinished_is_over": over})


def _facts(run: SoftRun) -> JsonObject:
    """Return the JSON that a checkpoint stores of a finished run; arrays are stored separately."""
    return {
        "entropy": run.entropy,
        "score": run.score,
        "converged": run.converged,
        "history": [list(row) for row in run.history],
        "held_out": run.held_out,
    }


def load_fit(file: RunCheckpoint) -> SoftFitState | None:
    """Return what an earlier fit saved; None if there is no checkpoint."""
    saved = file.read()
    if saved is None:
        return None
    with file.errors():
        finished = []
        for n, facts in enumerate(saved.facts["finished"]):
            facts["history"] = iterations(facts["history"])
            users, items, theta = in_order(saved.arrays, f"run{n}")
            finished.append(SoftRun(users, items, theta, **facts))
        seeds = saved_seeds(saved.facts["seeds"])
        latest = _unfinished(saved)
        if saved.facts["unfinished_is_over"]:
            return SoftFitState(seeds, finished, last=latest)
        return SoftFitState(seeds, finished, latest)


def _unfinished(saved: Checkpoint) -> UnfinishedSoftRun | None:
    facts = saved.facts["unfinished"]
    if facts is None:
        return None
    best = in_order(saved.arrays, "best")
    return UnfinishedSoftRun(
        SoftState(*in_order(saved.arrays, "state")),
        SoftState(*best) if best else None,
        dict(facts["rng"]),
        float(facts["best_score"]),
        [list(row) for row in facts["history"]],
        [float(score) for score in facts["scores"]],
        float(facts["seconds"]),
        bool(facts["converged"]),
    )
