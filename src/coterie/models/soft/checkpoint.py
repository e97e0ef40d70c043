"""Checkpoints of a soft fit: the finished runs, and the one in progress."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.engine.checkpoint import FitOfRuns, check_seeds
from coterie.models.soft.em import EMTrace, Problem, SoftRun
from coterie.models.soft.state import SoftShape, SoftState

KIND = "soft model"


@dataclass
class UnfinishedSoftRun(EMTrace):
    """A run that a checkpoint interrupted, independent of any engine."""

    state: SoftState
    best: SoftState | None = None

    @classmethod
    def of(cls, trace: EMTrace, problem: Problem) -> UnfinishedSoftRun:
        """Return what a run needs to continue; the run itself continues from the same arrays.

        If a cluster loses parts, it then recomputes them from here only.
        """
        state = problem.from_engine(trace.state)
        best = None if trace.best is None else problem.from_engine(trace.best)
        saved = cls(**{**vars(trace), "state": state, "best": best})
        vars(trace).update(vars(saved.on_engine(problem)))
        return saved

    def on_engine(self, problem: Problem) -> EMTrace:
        """Return the same run with its states on the engine."""
        best = None if self.best is None else problem.to_engine(self.best)
        return EMTrace(**{**vars(self), "state": problem.to_engine(self.state), "best": best})

    def trace(self, problem: Problem, shape: SoftShape) -> EMTrace:
        """Return the trace with which the EM loop continues this run of a file."""
        for state in (self.state, self.best):
            if state is not None:
                _check_state(state, shape)
        return self.on_engine(problem)


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
class SoftFitState(FitOfRuns[UnfinishedSoftRun]):
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

    def check(self, n_runs: int, n: tuple[int, int], k: tuple[int, int], n_values: int) -> None:
        """Raise ArrayError if the finished runs of a file do not fit the data and the settings."""
        check_seeds(self.seeds)
        if len(self.seeds) != n_runs + 1 or len(self.finished) > n_runs:
            raise ArrayError(f"seeds: {len(self.seeds)} instead of {n_runs + 1}")
        for run in self.finished:
            check_array("memberships", run.user_memberships, np.float64, (n[0], k[0]), low=0)
            check_array("memberships", run.item_memberships, np.float64, (n[1], k[1]), low=0)
            check_array("theta", run.theta, np.float64, (*k, n_values), low=0)
