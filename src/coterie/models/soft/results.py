"""Results of a soft fit: one per run, and the best of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.base.progress import Iteration
from coterie.models.soft.em import EMTrace
from coterie.models.soft.problems import ProblemSetup


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


def run_result(setup: ProblemSetup, trace: EMTrace, *, validated: bool) -> SoftRun:
    """Return the best state of a run as users see it."""
    rows, columns, theta = setup.problem.from_engine(trace.best)
    return SoftRun(
        rows,
        columns,
        np.ascontiguousarray(np.moveaxis(theta[: len(setup.values)], 0, 2)),
        trace.entropy,
        trace.best_score,
        trace.converged,
        trace.history,
        trace.scores if validated else [],
    )


def best_run(runs: list[SoftRun]) -> SoftRun:
    """Return the run with the lowest score."""
    return min(runs, key=lambda run: run.score)
