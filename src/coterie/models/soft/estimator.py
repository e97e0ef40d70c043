"""What MMSBM and MCMMSBM share: parameters checked, runs made, the best one shown."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.data import Graph, Ratings
from coterie.engine import Engine, running_engine
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.base import Estimator
from coterie.models.data_digest import data_digest
from coterie.models.soft.checkpoint import Keeper, Saved, SoftRun, resumed
from coterie.models.soft.em import EMTrace, Rules, run
from coterie.models.soft.graph_problem import Settings
from coterie.models.soft.predict import held_out_entropy
from coterie.models.soft.problems import (
    Posed,
    absent_mode,
    graph_classes,
    pose_graph,
    pose_ratings,
    pose_shards,
    smallest_like,
)
from coterie.models.soft.state import SoftState, start
from coterie.models.soft.validation import check

_NOT_PART_OF_THE_RUN = ("max_iter", "tol", "patience", "rng", "init", "warm_start")
_TINY = {"n_groups": 1, "max_iter": 1, "n_init": 1, "init": "random", "rng": 0}


Data = Ratings | ShardedRatings | Graph | ShardedGraph


class SoftModel(Estimator):
    """Mixed membership by EM. The parameters are explained where they are given: MMSBM, MCMMSBM.

    After `fit`: `theta_` (k × l × R), `values_` (the R configurations), `entropy_`, `history_`,
    `converged_`, `interrupted_`, `runs_`; for ratings `user_memberships_` and
    `item_memberships_`, for graphs `memberships_`.
    """

    n_groups: int | tuple[int, int]
    max_iter: int
    tol: float
    prior: float
    n_init: int
    init: Any
    absent: str
    absent_samples: int
    negatives_per_rating: float
    validation: float
    patience: int
    warm_start: bool
    rng: RandomState

    theta_: np.ndarray
    values_: np.ndarray
    memberships_: np.ndarray
    user_memberships_: np.ndarray
    item_memberships_: np.ndarray
    ratings_: Ratings
    entropy_: float
    history_: list[Iteration]
    validation_history_: list[float]
    converged_: bool
    interrupted_: bool
    runs_: list[SoftRun]

    def fit(
        self,
        data: Data,
        engine: str | Engine = "local",
        callback: Callback = silent,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
    ) -> Self:
        """Learn memberships and theta. Ctrl-C keeps the best state so far.

        With `checkpoint` the fit is saved to that file every few iterations; with `resume` it
        goes on from there, to the same numbers as if it had never stopped.
        """
        check(self, data)
        keeper = Keeper(checkpoint, checkpoint_every, self._fingerprint(data))
        saved = keeper.load() if resume else None
        if saved is None:
            # The last seed belongs to the held-out rows, which all runs share.
            seeds = stream_keys(as_generator(self.rng), self.n_init + 1)
            saved = Saved([int(seed) for seed in seeds])
        learnt, held_out = self._hold_out(data, saved.seeds[-1])
        self.interrupted_ = False
        with running_engine(engine) as worker:
            for seed in saved.seeds[len(saved.finished) : -1]:
                rng = np.random.default_rng(seed)
                posed = self._pose(learnt, worker, rng)
                trace = self._begin(posed, saved, rng)
                self.interrupted_ = self._run(posed, trace, saved, keeper, callback, held_out)
                if self.interrupted_:
                    break
        self._show(data, saved.finished)
        return self

    def compile(self, data: Data, engine: str | Engine = "local") -> None:
        """Have Numba compile what `fit(data)` will run, on a few nodes of the same kind."""
        few = type(self)(**{**self.get_params(), **_TINY, "absent": self._absent(data)})
        few.fit(smallest_like(data), engine)

    def _run(
        self,
        posed: Posed,
        trace: EMTrace,
        saved: Saved,
        keeper: Keeper,
        callback: Callback,
        held_out: Callable[[SoftState], float] | None,
    ) -> bool:
        interrupted = run(
            posed.problem,
            trace,
            Rules(self.max_iter, self.tol, self.patience),
            callback,
            held_out=held_out,
            each=lambda trace: keeper.each(saved, posed.problem, trace),
        )
        if interrupted:
            keeper.save(saved, posed.problem, trace)
        rows, columns, theta = posed.problem.outside(trace.best)
        saved.finished.append(
            SoftRun(
                rows,
                columns,
                np.ascontiguousarray(np.moveaxis(theta[: len(posed.values)], 0, 2)),
                trace.entropy,
                trace.best_score,
                trace.converged,
                trace.history,
                trace.scores if held_out is not None else [],
            )
        )
        if not interrupted:
            keeper.save(saved, posed.problem)
        return interrupted

    def _begin(self, posed: Posed, saved: Saved, rng: Generator) -> EMTrace:
        if saved.begun is not None:
            begun, saved.begun = saved.begun, None
            return resumed(begun, posed.problem)
        init = self if self.warm_start and hasattr(self, "theta_") else self.init
        return EMTrace(posed.problem.inside(start(posed.shape, init, rng)), rng)

    def _samples(self) -> int:
        """Draws an observation; 0 is the exact update."""
        return 0

    def _pose(self, data: Data, engine: Engine, rng: Generator) -> Posed:
        groups = self.n_groups if isinstance(self.n_groups, tuple | list) else (self.n_groups,) * 2
        pair = (int(groups[0]), int(groups[1]))
        if isinstance(data, ShardedRatings):
            return pose_shards(data, pair, engine, prior=self.prior, samples=self._samples())
        if isinstance(data, Ratings):
            return pose_ratings(
                data,
                pair,
                engine,
                prior=self.prior,
                samples=self._samples(),
                negatives_per_rating=self.negatives_per_rating,
                rng=rng,
            )
        settings = Settings(self._absent(data), self.absent_samples, self._samples(), self.prior)
        return pose_graph(data, int(groups[0]), engine, settings)

    def _absent(self, data: Data) -> str:
        return absent_mode(self.absent, getattr(data, "n_nodes", 0))

    def _hold_out(self, data: Data, seed: int) -> tuple[Data, Callable[[SoftState], float] | None]:
        """The data to learn from, and how to measure a state on the rest."""
        if not self.validation or not isinstance(data, Ratings):
            return data, None
        order = np.random.default_rng(seed).permutation(len(data))
        count = min(max(1, round(self.validation * len(data))), len(data) - 1)
        kept, aside = data.take(np.sort(order[count:])), data.take(np.sort(order[:count]))
        return kept, lambda state: held_out_entropy(aside, state)

    def _fingerprint(self, data: Data) -> dict[str, Any]:
        given = {n: v for n, v in self.get_params().items() if n not in _NOT_PART_OF_THE_RUN}
        given["n_groups"] = np.ravel(self.n_groups).tolist()
        return {"model": type(self).__name__, "data": data_digest(data), **given}

    def _show(self, data: Data, runs: list[SoftRun]) -> None:
        self.runs_ = runs
        best = min(runs, key=lambda run: run.score)
        self.theta_, self.entropy_ = best.theta, best.entropy
        self.history_, self.converged_ = best.history, best.converged
        if isinstance(data, Ratings):
            self.ratings_ = data  # a Recommender of this model needs the names
        if isinstance(data, Ratings | ShardedRatings):
            self.user_memberships_ = best.row_memberships
            self.item_memberships_ = best.column_memberships
            self.values_ = data.values
            self.validation_history_ = best.held_out
        else:
            self.memberships_ = best.row_memberships
            self.values_ = graph_classes(data, self._absent(data))
