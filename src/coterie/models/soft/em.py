"""The EM loop of all soft models, and what an EM problem must do for it.

The loop steps, tracks the entropy, stops, and keeps the best state. A checkpoint holds
the finished runs and the one in progress.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import add as plus
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.progress import Callback, Iteration, Progress
from coterie.engine.checkpoint import FitOfRuns, check_seeds
from coterie.models.soft.state import SoftShape, SoftState

WINDOW = 10  # iterations within which the entropy must improve by tol

# A state as a problem stores it: parts of it may be in the memory of an engine's workers.
EngineState = Any


class Problem(Protocol):
    """An EM problem: iterations as pure functions of the observations and a state."""

    def to_engine(self, state: SoftState) -> EngineState:
        """Distribute a state to the engine."""
        ...

    def from_engine(self, engine_state: EngineState) -> SoftState:
        """Collect a state from the engine; the inverse of `to_engine`."""
        ...

    def step(self, engine_state: EngineState, rng: Generator) -> tuple[EngineState, float]:
        """Return the next state, and the entropy of the given one."""
        ...

    def entropy(self, engine_state: EngineState) -> float:
        """Return the entropy of a state."""
        ...

    def penalty(self, engine_state: EngineState) -> float:
        """Return what the prior adds to the entropy: -prior × the sum of logarithms."""
        ...


Sums = TypeVar("Sums", bound=tuple[Any, ...])


def add(a: Sums, b: Sums) -> Sums:
    """Add two tuples field by field. Pure, because an engine may have to run it twice."""
    made: Sums = a._make(map(plus, a, b)) if hasattr(a, "_make") else type(a)(map(plus, a, b))
    return made


def log_sum(shares: np.ndarray) -> float:
    """Return the sum of logarithms; a share of 0 counts as the smallest positive number."""
    return float(log_sums(shares).sum())


def log_sums(shares: np.ndarray) -> np.ndarray:
    """Return the sum of logarithms of each row."""
    sums: np.ndarray = np.log(np.maximum(shares, np.finfo(np.float64).tiny)).sum(axis=-1)
    return sums


@dataclass
class EMTrace:
    """A run in progress: everything needed to continue it with the same numbers."""

    state: EngineState
    rng: Generator
    best: EngineState | None = None
    best_score: float = np.inf
    history: list[Iteration] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # one per iteration; lower is better
    seconds: float = 0.0
    converged: bool = False
    entropy: float = np.inf  # of the best state, when the run has ended

    @property
    def iteration(self) -> int:
        """Number of iterations done."""
        return len(self.history)


class SoftRun(NamedTuple):
    """Result of one of the `n_init` runs. For a graph both memberships are those of its nodes."""

    user_memberships: np.ndarray  # users × k
    item_memberships: np.ndarray  # items × l
    theta: np.ndarray  # k × l × levels, as `theta_`
    entropy: float
    score: float  # lower is better: the entropy with the prior's penalty, or the held-out entropy
    converged: bool
    history: list[Iteration]
    held_out: list[float]  # held-out entropy per iteration; empty without validation

    @classmethod
    def of(cls, trace: EMTrace, problem: Problem, n_values: int, *, validated: bool) -> SoftRun:
        """Return the best state of a run as users see it; a last level "not rated" is left out."""
        rows, columns, theta = problem.from_engine(trace.best)
        return cls(
            rows,
            columns,
            np.ascontiguousarray(np.moveaxis(theta[:n_values], 0, 2)),
            trace.entropy,
            trace.best_score,
            trace.converged,
            trace.history,
            trace.scores if validated else [],
        )


def run_em(
    problem: Problem,
    trace: EMTrace,
    max_iter: int,
    converged: Callable[[EMTrace], bool],
    callback: Callback,
    *,
    held_out: Callable[[SoftState], float] | None = None,
    after_iteration: Callable[[EMTrace], None] | None = None,
) -> bool:
    """Iterate until converged, out of iterations or interrupted; return whether interrupted.

    `trace.best` is the state with the lowest score: the entropy plus the prior's penalty, which EM
    minimises, or `held_out` of the state if given. `after_iteration` is called after every
    iteration (for checkpoints).
    """
    try:
        clock = time.perf_counter() - trace.seconds
        while trace.iteration < max_iter and not trace.converged:
            _iterate(problem, trace, held_out, clock)
            trace.converged = converged(trace)
            if after_iteration is not None:
                after_iteration(trace)
            callback(_progress(trace, max_iter))
        interrupted = False
    except KeyboardInterrupt:
        interrupted = True
    _finish(problem, trace, held_out)
    return interrupted


def _iterate(
    problem: Problem,
    trace: EMTrace,
    held_out: Callable[[SoftState], float] | None,
    clock: float,
) -> None:
    state = trace.state
    following, entropy = problem.step(state, trace.rng)
    score = _score(problem, state, entropy, held_out)
    if score < trace.best_score:
        trace.best, trace.best_score = state, score
    trace.scores.append(score)
    trace.seconds = time.perf_counter() - clock
    trace.state = following
    trace.history.append(Iteration(trace.iteration + 1, trace.seconds, entropy))


def _finish(
    problem: Problem, trace: EMTrace, held_out: Callable[[SoftState], float] | None
) -> None:
    """Score the last state, which no step has measured yet, and set the entropy of the best."""
    entropy = problem.entropy(trace.state)
    score = _score(problem, trace.state, entropy, held_out)
    if trace.best is None or score <= trace.best_score:
        trace.best, trace.best_score, trace.entropy = trace.state, score, entropy
    else:
        trace.entropy = problem.entropy(trace.best)


def _score(
    problem: Problem,
    state: EngineState,
    entropy: float,
    held_out: Callable[[SoftState], float] | None,
) -> float:
    if held_out is not None:
        return held_out(problem.from_engine(state))
    return entropy + problem.penalty(state)


def has_converged(scores: list[float], tol: float, window: int) -> bool:
    """Return whether the last `window` scores improved the best one by less than tol (relative).

    >>> has_converged([5.0, 4.0, 4.0, 4.0], tol=1e-6, window=2), has_converged([5.0, 4.0], 1e-6, 2)
    (True, False)
    """
    if tol <= 0 or len(scores) <= window:
        return False
    before, recent = min(scores[:-window]), min(scores[-window:])
    return before - recent < tol * abs(before)


def _progress(trace: EMTrace, total: int) -> Progress:
    entropy = trace.history[-1].entropy
    change = entropy - trace.history[-2].entropy if trace.iteration > 1 else 0.0
    return Progress("fit", trace.iteration, total, entropy, f"change {change:+,.2f}")


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
