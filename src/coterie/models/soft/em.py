"""The loop that all soft models share: step, watch the entropy, stop, keep the best."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress
from coterie.models.soft.problem_interface import Problem, Spread
from coterie.models.soft.state import SoftState

WINDOW = 10  # iterations over which the entropy must improve by tol


class Rules(NamedTuple):
    """When to stop."""

    max_iter: int
    tol: float
    patience: int


@dataclass
class EMTrace:
    """One run on its way: all that a checkpoint must hold to go on with the same numbers."""

    state: Spread
    rng: Generator
    best: Spread | None = None
    best_score: float = np.inf
    history: list[Iteration] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # what states are judged by, beside history
    seconds: float = 0.0
    converged: bool = False
    entropy: float = np.nan

    @property
    def iteration(self) -> int:
        return len(self.history)


def run(
    problem: Problem,
    trace: EMTrace,
    rules: Rules,
    callback: Callback,
    *,
    held_out: Callable[[SoftState], float] | None = None,
    each: Callable[[EMTrace], None] | None = None,
) -> bool:
    """Iterate until converged, out of iterations, or interrupted; True if interrupted.

    The state kept is the best seen: by the entropy with what the prior adds (the one EM brings
    down) or, where there is a `held_out` measure, by that. `each` is called after every iteration
    (checkpoints).
    """
    try:
        clock = time.perf_counter() - trace.seconds
        while trace.iteration < rules.max_iter and not trace.converged:
            _iterate(problem, trace, held_out, clock)
            window = rules.patience if held_out else WINDOW
            trace.converged = settled(trace.scores, rules.tol, window)
            if each is not None:
                each(trace)
            callback(_progress(trace, rules.max_iter))
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
    """One last look at the newest state; the best of all is the one that stays."""
    entropy = problem.entropy(trace.state)
    score = _score(problem, trace.state, entropy, held_out)
    if trace.best is None or score <= trace.best_score:
        trace.best, trace.best_score, trace.entropy = trace.state, score, entropy
    else:
        trace.entropy = problem.entropy(trace.best)


def _score(
    problem: Problem, state: Spread, entropy: float, held_out: Callable[[SoftState], float] | None
) -> float:
    if held_out is not None:
        return held_out(problem.outside(state))
    return entropy + problem.penalty(state)


def settled(scores: list[float], tol: float, window: int) -> bool:
    """True once the best score has not improved by tol (relative) within the last `window`.

    >>> settled([5.0, 4.0, 4.0, 4.0], tol=1e-6, window=2), settled([5.0, 4.0], 1e-6, 2)
    (True, False)
    """
    if tol <= 0 or len(scores) <= window:
        return False
    earlier, lately = min(scores[:-window]), min(scores[-window:])
    return earlier - lately < tol * abs(earlier)


def _progress(trace: EMTrace, total: int) -> Progress:
    entropy = trace.history[-1].entropy
    change = entropy - trace.history[-2].entropy if trace.iteration > 1 else 0.0
    return Progress("fit", trace.iteration, total, entropy, f"change {change:+,.2f}")
