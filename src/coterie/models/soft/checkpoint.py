"""Checkpoints of a soft fit: the finished runs, and the one in progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.engine.checkpoint import (
    Checkpoint,
    RunCheckpoint,
    generator_from,
    generator_state,
    in_order,
    iterations,
    numbered,
)
from coterie.models.soft.em import EMTrace
from coterie.models.soft.problem_interface import Problem
from coterie.models.soft.results import SoftRun
from coterie.models.soft.state import SoftState

KIND = "soft model"


@dataclass(frozen=True)
class UnfinishedSoftRun:
    """A run that a checkpoint interrupted, independent of any engine."""

    state: SoftState
    best: SoftState | None
    rng: dict[str, Any]  # JSON of the generator's state
    best_score: float
    history: list[list[Any]]
    scores: list[float]
    seconds: float
    converged: bool

    def trace(self, problem: Problem) -> EMTrace:
        """Return the trace with which the EM loop continues this run."""
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


@dataclass
class SoftFitState:
    """A fit in progress: everything a checkpoint stores to continue with the same numbers."""

    seeds: list[int]  # one per run, then the seed that chooses the held-out ratings
    finished: list[SoftRun] = field(default_factory=list)
    unfinished: UnfinishedSoftRun | None = None

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


def save_fit(
    file: RunCheckpoint, fit: SoftFitState, problem: Problem, trace: EMTrace | None = None
) -> None:
    """Replace the checkpoint by the current state of the fit; `trace` is the run in progress."""
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
    file.write(arrays, {"seeds": fit.seeds, "finished": finished, "unfinished": unfinished})


def _facts(run: SoftRun) -> dict[str, Any]:
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
    finished = []
    for n, facts in enumerate(saved.facts["finished"]):
        facts["history"] = iterations(facts["history"])
        users, items, theta = in_order(saved.arrays, f"run{n}")
        finished.append(SoftRun(users, items, theta, **facts))
    return SoftFitState(saved.facts["seeds"], finished, _unfinished(saved))


def _unfinished(saved: Checkpoint) -> UnfinishedSoftRun | None:
    facts = saved.facts["unfinished"]
    if facts is None:
        return None
    best = in_order(saved.arrays, "best")
    return UnfinishedSoftRun(
        SoftState(*in_order(saved.arrays, "state")),
        SoftState(*best) if best else None,
        **facts,
    )
