"""What MMSBM and MCMMSBM share: parameters checked, runs made, the best one shown."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.progress import Callback, Iteration, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.engine import Engine, resolve_engine
from coterie.graph import Graph, Ratings
from coterie.models.base import Estimator
from coterie.models.soft.em import Rules, Trace, run
from coterie.models.soft.posing import Posed, pose_ratings
from coterie.models.soft.state import start


class Run(NamedTuple):
    """One of the `n_init` runs; `theta` is k × l × R, as `theta_` is."""

    row_memberships: np.ndarray
    column_memberships: np.ndarray
    theta: np.ndarray
    entropy: float
    converged: bool
    history: list[Iteration]


class SoftModel(Estimator):
    """Mixed membership by EM. The parameters are explained where they are given: MMSBM, MCMMSBM."""

    n_groups: int | tuple[int, int]
    max_iter: int
    tol: float
    prior: float
    n_init: int
    init: Any
    absent_ratio: float
    validation: float
    patience: int
    warm_start: bool
    rng: RandomState

    theta_: np.ndarray
    entropy_: float
    history_: list[Iteration]
    converged_: bool
    interrupted_: bool
    runs_: list[Run]
    values_: np.ndarray

    def fit(
        self,
        data: Ratings | Graph,
        engine: str | Engine = "local",
        callback: Callback = silent,
    ) -> Self:
        """Learn memberships and theta. Ctrl-C keeps the best state so far."""
        self._check(data)
        rng = as_generator(self.rng)
        worker = resolve_engine(engine)
        traces: list[Trace] = []
        try:
            for seed in stream_keys(rng, self.n_init):
                posed = self._pose(data, np.random.default_rng(seed))
                trace = self._begin(posed)
                traces.append(trace)
                rules = Rules(self.max_iter, self.tol, self.patience)
                self.interrupted_ = run(posed.problem, trace, rules, worker, callback)
                if self.interrupted_:
                    break
        finally:
            if worker is not engine:
                worker.close()
        self._show(data, posed, traces)
        return self

    def _samples(self) -> int:
        """Draws an observation; 0 is the exact update."""
        return 0

    def _groups(self) -> tuple[int, int]:
        groups = self.n_groups if isinstance(self.n_groups, tuple | list) else (self.n_groups,) * 2
        if len(groups) != 2 or not all(
            isinstance(g, int | np.integer) and not isinstance(g, bool) and g >= 1 for g in groups
        ):
            raise InputError(
                f"n_groups={self.n_groups!r} makes no groups",
                remedy="give a whole number >= 1, or a pair (user groups, item groups)",
            )
        return int(groups[0]), int(groups[1])

    def _check(self, data: object) -> None:
        groups = self._groups()
        limits = {"max_iter": 0, "n_init": 1, "tol": 0, "prior": 0, "absent_ratio": 0}
        for name, least in limits.items():
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= least):
                raise InputError(f"{name}={value!r}", remedy=f"give a number >= {least}")
        if isinstance(data, Ratings):
            if len(data) == 0:
                raise InputError("there are no ratings to learn from", remedy="give at least one")
            nodes = (data.n_users, data.n_items)
        else:
            raise InputError(
                f"a {type(data).__name__} cannot be fitted",
                remedy="give coterie.Ratings or coterie.Graph",
            )
        if groups[0] > nodes[0] or groups[1] > nodes[1]:
            warnings.warn(
                f"{groups[0]} and {groups[1]} groups for {nodes[0]} and {nodes[1]} nodes: "
                "more groups than nodes say no more",
                AssumptionWarning,
                stacklevel=3,
            )

    def _pose(self, data: Ratings, rng: np.random.Generator) -> Posed:
        return pose_ratings(data, self._groups(), self.prior, self._samples(), rng)

    def _begin(self, posed: Posed) -> Trace:
        init = self if self.warm_start and hasattr(self, "theta_") else self.init
        state = start(posed.shape, init, posed.rng)
        return Trace(posed.problem.inside(state), posed.rng)

    def _show(self, data: Ratings | Graph, posed: Posed, traces: list[Trace]) -> None:
        self.values_ = posed.values
        self.runs_ = [self._finished(posed, trace) for trace in traces]
        best = min(range(len(traces)), key=lambda i: traces[i].best_score)
        chosen = self.runs_[best]
        self.theta_, self.entropy_ = chosen.theta, chosen.entropy
        self.history_, self.converged_ = chosen.history, chosen.converged
        self.user_memberships_ = chosen.row_memberships
        self.item_memberships_ = chosen.column_memberships

    def _finished(self, posed: Posed, trace: Trace) -> Run:
        assert trace.best is not None
        rows, columns, theta = posed.problem.inside(trace.best)
        shown = np.ascontiguousarray(np.moveaxis(theta[: len(posed.values)], 0, 2))
        return Run(rows, columns, shown, trace.entropy, trace.converged, trace.history)
