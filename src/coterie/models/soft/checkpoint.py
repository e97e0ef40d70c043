"""Checkpoints of a soft fit: the finished runs, and the one on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coterie.base.progress import Iteration
from coterie.engine.checkpoint import (
    generator_from,
    generator_state,
    load_checkpoint,
    require_same,
    save_checkpoint,
)
from coterie.models.soft.em import EMTrace
from coterie.models.soft.problem_interface import Problem
from coterie.models.soft.state import SoftState

KIND = "soft model"


class SoftRun(NamedTuple):
    """One of the `n_init` runs; `theta` is k × l × R, as `theta_` is."""

    row_memberships: np.ndarray
    column_memberships: np.ndarray
    theta: np.ndarray
    entropy: float
    score: float  # what runs are chosen by: the entropy, or the held-out one
    converged: bool
    history: list[Iteration]
    held_out: list[float]


@dataclass
class Saved:
    """What a checkpoint holds; `begun` is the trace of the unfinished run, as plain parts."""

    seeds: list[int]
    finished: list[SoftRun] = field(default_factory=list)
    begun: dict[str, Any] | None = None


class Keeper:
    """Writes the checkpoint every few iterations; does nothing without a path."""

    def __init__(
        self, path: str | PathLike[str] | None, every: int, fingerprint: dict[str, Any]
    ) -> None:
        self.path, self.every, self.fingerprint = path, every, fingerprint

    def load(self) -> Saved | None:
        """What an earlier run left behind; None if it left nothing."""
        if self.path is None or not Path(self.path).exists():
            return None
        arrays, facts = load_checkpoint(self.path, KIND)
        require_same(self.path, facts["fingerprint"], self.fingerprint)
        finished = []
        for n, told in enumerate(facts["finished"]):
            told["history"] = _iterations(told["history"])
            rows, columns, theta = _state(arrays, f"run{n}")
            finished.append(SoftRun(rows, columns, theta, **told))
        begun = facts["begun"]
        if begun is not None:
            begun["state"] = SoftState(*_state(arrays, "state"))
            begun["best"] = SoftState(*_state(arrays, "best")) if "best.0" in arrays else None
        return Saved(facts["seeds"], finished, begun)

    def each(self, saved: Saved, problem: Problem, trace: EMTrace) -> None:
        """After an iteration: save if it is time."""
        if self.path is not None and trace.iteration % self.every == 0:
            self.save(saved, problem, trace)

    def save(self, saved: Saved, problem: Problem, trace: EMTrace | None = None) -> None:
        """Replace the checkpoint by where the fit stands now."""
        if self.path is None:
            return
        arrays: dict[str, np.ndarray] = {}
        for n, run in enumerate(saved.finished):
            arrays |= _named(f"run{n}", run[:3])
        begun = None
        if trace is not None:
            # The fit goes on from what was saved: what a cluster loses is computed from there.
            arrays |= _named("state", state := problem.outside(trace.state))
            trace.state = problem.inside(state)
            if trace.best is not None:
                arrays |= _named("best", best := problem.outside(trace.best))
                trace.best = problem.inside(best)
            begun = {
                "rng": generator_state(trace.rng),
                "best_score": trace.best_score,
                "history": [list(i) for i in trace.history],
                "scores": trace.scores,
                "seconds": trace.seconds,
                "converged": trace.converged,
            }
        told = [dict(zip(SoftRun._fields[3:], run[3:], strict=True)) for run in saved.finished]
        facts = {
            "fingerprint": self.fingerprint,
            "seeds": saved.seeds,
            "finished": told,
            "begun": begun,
        }
        save_checkpoint(self.path, KIND, arrays, facts)


def resumed(begun: dict[str, Any], problem: Problem) -> EMTrace:
    """The trace of an unfinished run, ready to go on."""
    best = begun["best"]
    return EMTrace(
        problem.inside(begun["state"]),
        generator_from(begun["rng"]),
        None if best is None else problem.inside(best),
        begun["best_score"],
        _iterations(begun["history"]),
        begun["scores"],
        begun["seconds"],
        begun["converged"],
    )


def _named(prefix: str, arrays: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    return {f"{prefix}.{place}": array for place, array in enumerate(arrays)}


def _state(arrays: dict[str, np.ndarray], prefix: str) -> list[np.ndarray]:
    return [arrays[f"{prefix}.{place}"] for place in range(3)]


def _iterations(rows: list[list[Any]]) -> list[Iteration]:
    return [Iteration(*row) for row in rows]
