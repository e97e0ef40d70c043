"""The fit that MMSBM and MCMMSBM share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Iteration, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.data import Graph, Ratings
from coterie.engine import Engine, running_engine
from coterie.engine.checkpoint import RunCheckpoint, check_checkpoint_options
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.data_digest import data_digest
from coterie.models.foreign_data import as_graph
from coterie.models.rating_model import RatingModel
from coterie.models.smallest_data import smallest_like
from coterie.models.soft.checkpoint import KIND, SoftFitState, UnfinishedSoftRun
from coterie.models.soft.em import WINDOW, EMTrace, StoppingRule, has_converged, run_em
from coterie.models.soft.graph_problem import GraphSettings
from coterie.models.soft.hard_start import compile_hard_start, hard_start
from coterie.models.soft.predict import held_out_entropy
from coterie.models.soft.predictor import SoftPredictor
from coterie.models.soft.problems import (
    ProblemSetup,
    absent_mode,
    graph_values,
    set_up_graph,
    set_up_ratings,
    set_up_sharded_ratings,
)
from coterie.models.soft.results import SoftRun, best_run, run_result
from coterie.models.soft.state import SoftState, initial_state
from coterie.models.soft.validation import check

# A resumed fit may change these: they decide when a run stops, or the checkpoint stores their
# effect (seeds and initial states).
_MAY_CHANGE_ON_RESUME = ("max_iter", "tol", "patience", "rng", "init", "warm_start")
_SMALLEST_FIT = {"n_groups": 1, "max_iter": 1, "n_init": 1, "init": "random", "rng": 0}


Data = Ratings | ShardedRatings | Graph | ShardedGraph


class SoftModel(RatingModel):
    """Mixed membership by EM. `MMSBM` and `MCMMSBM` document parameters and attributes."""

    n_groups: int | tuple[int, int]
    max_iter: int
    tol: float
    prior: float
    n_init: int
    init: Any
    absent: str
    n_absent_samples: int
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
    hard_entropy_: float | None
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
        """Learn memberships and theta from ratings or from a graph.

        Ctrl-C stops the fit and keeps the best state so far (`interrupted_` is then True).

        Parameters
        ----------
        data : Ratings, Graph, ShardedRatings or ShardedGraph
            The observations; a networkx or igraph graph or a scipy sparse matrix is accepted as a
            graph. Every rating is one observation; of a graph, every pair of nodes is
            one, present or absent (see `absent`).
        engine : str or Engine, default="local"
            Where the work runs: "local" (threads of this machine), or an engine object such as
            `LocalEngine` or `DaskEngine`.
        callback : callable, optional
            Called with a `Progress` after every iteration.
        checkpoint : str or path-like, optional
            File to which the state of the fit is saved. By default nothing is saved.
        checkpoint_every : int, default=10
            Number of iterations between two checkpoints.
        resume : bool, default=False
            Continue from `checkpoint` if the file exists. The result is the same, bit for bit,
            as that of a fit that was never stopped. A single run that has ended goes on if
            `max_iter` is larger or `tol` smaller now.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If a parameter or the data are not valid, or if the checkpoint belongs to other data
            or settings.

        Examples
        --------
        >>> import coterie as ct
        >>> graph = ct.Graph.from_edges([0, 0, 1, 3, 3, 4], [1, 2, 2, 4, 5, 5])
        >>> model = ct.MMSBM(n_groups=2, n_init=3, rng=0).fit(graph)
        >>> model.memberships_.shape
        (6, 2)
        """
        data = self._own_kind(data)
        check(self, data)
        check_checkpoint_options(checkpoint, checkpoint_every, resume)
        file = RunCheckpoint(KIND, checkpoint, checkpoint_every, self._fingerprint(data))
        fit = file.load(SoftFitState) if resume else None
        if fit is None:
            fit = SoftFitState(self._seeds())
        else:
            with file.errors():
                fit.check(self.n_init, *self._result_sizes(data))
            window = self.patience if self._validates(data) else WINDOW
            fit.continue_last(
                self.max_iter, lambda run: has_converged(run.scores, self.tol, window)
            )
        training_data, held_out = self._hold_out(data, fit.held_out_seed)
        self.interrupted_ = False
        self.hard_entropy_ = None
        with running_engine(engine) as runner:
            for seed in fit.remaining_seeds:
                rng = np.random.default_rng(seed)
                init = self._initial(training_data, seed, runner, callback)
                setup = self._set_up(training_data, runner, rng)
                trace = self._start(setup, fit, file, rng, init)
                self.interrupted_ = self._run(setup, trace, fit, file, callback, held_out)
                if self.interrupted_:
                    break
        self._set_results(data, fit.finished)
        return self

    def compile(self, data: Data, engine: str | Engine = "local") -> None:
        """Compile the kernels that `fit(data)` needs, on a few nodes.

        Numba compiles a kernel on its first call and caches it on disk. Call this before `fit` to
        keep compilation out of a measured time.

        Parameters
        ----------
        data : Ratings, Graph, ShardedRatings or ShardedGraph
            The data that will be fitted. Only their kind matters.
        engine : str or Engine, default="local"
            The engine that `fit` will use.
        """
        data = self._own_kind(data)
        tiny = type(self)(**{**self.get_params(), **_SMALLEST_FIT, "absent": self._absent(data)})
        tiny.fit(smallest_like(data), engine)
        if self.init == "hard" and isinstance(data, Graph | Ratings):
            compile_hard_start(data, engine)

    def predictor(self, ratings: Ratings) -> SoftPredictor:
        """Return what the model has learned from ratings, as a Recommender uses it.

        Parameters
        ----------
        ratings : Ratings
            The ratings that it was fitted to.

        Returns
        -------
        SoftPredictor
            Memberships and theta of all runs, whose predictions are averaged.
        """
        return SoftPredictor.of_runs(self.values_, self.runs_, self.prior)

    @property
    def fits_rating_shards(self) -> bool:
        """Whether `fit` learns from ratings in shards without loading all of them."""
        return not (self.negatives_per_rating or self.validation)

    def _seeds(self) -> list[int]:
        """Draw one seed per run, and the seed that chooses the held-out ratings."""
        return [int(seed) for seed in stream_keys(as_generator(self.rng), self.n_init + 1)]

    def _hold_out(self, data: Data, seed: int) -> tuple[Data, Callable[[SoftState], float] | None]:
        """Return the training data, and a function that scores a state on the held-out ratings."""
        if not self._validates(data) or not isinstance(data, Ratings):
            return data, None
        order = np.random.default_rng(seed).permutation(len(data))
        count = min(max(1, round(self.validation * len(data))), len(data) - 1)
        training, held_out = data.take(np.sort(order[count:])), data.take(np.sort(order[:count]))
        return training, lambda state: held_out_entropy(held_out, state)

    def _validates(self, data: Data) -> bool:
        """Return whether some of the ratings are held out."""
        return bool(self.validation) and isinstance(data, Ratings)

    @property
    def _stopping_rule(self) -> StoppingRule:
        return StoppingRule(self.max_iter, self.tol, self.patience)

    def _result_sizes(self, data: Data) -> tuple[tuple[int, int], tuple[int, int], int]:
        """Return the sizes of a result: nodes and groups of both sides, and levels."""
        groups = self.group_pair
        if isinstance(data, Ratings | ShardedRatings):
            return (data.n_users, data.n_items), groups, len(data.values)
        values = graph_values(data, self._absent(data))
        return (data.n_nodes,) * 2, groups, len(values)

    def _set_up(self, data: Data, engine: Engine, rng: Generator) -> ProblemSetup:
        """Turn the data into the problem that the EM loop solves."""
        pair = self.group_pair
        samples = self._samples_per_observation()
        if isinstance(data, ShardedRatings):
            return set_up_sharded_ratings(data, pair, engine, prior=self.prior, samples=samples)
        if isinstance(data, Ratings):
            return set_up_ratings(
                data,
                pair,
                engine,
                prior=self.prior,
                samples=samples,
                negatives_per_rating=self.negatives_per_rating,
                rng=rng,
            )
        settings = GraphSettings(self._absent(data), self.n_absent_samples, samples, self.prior)
        return set_up_graph(data, pair[0], engine, settings)

    @property
    def group_pair(self) -> tuple[int, int]:
        """Return the number of groups of both sides; for a graph they are equal."""
        groups = self.n_groups if isinstance(self.n_groups, tuple | list) else (self.n_groups,) * 2
        return int(groups[0]), int(groups[1])

    def _initial(self, data: Data, seed: int, engine: Engine, callback: Callback) -> Any:
        """Return what a run starts from; "hard" becomes the labels of a hard clustering."""
        if self.warm_start and hasattr(self, "theta_"):
            return self
        if not isinstance(self.init, str) or self.init != "hard":
            return self.init
        groups = self.group_pair
        # Weights of edges alone, or ratings with sampled negatives, are other observations.
        comparable = not self.negatives_per_rating and self._absent(data) != "ignored"
        start = hard_start(data, groups, seed, engine, callback, comparable=comparable)
        if start.comparable:
            lowest = start.entropy if self.hard_entropy_ is None else self.hard_entropy_
            self.hard_entropy_ = min(start.entropy, lowest)
        return start.labels

    def _start(
        self,
        setup: ProblemSetup,
        fit: SoftFitState,
        file: RunCheckpoint,
        rng: Generator,
        init: Any,
    ) -> EMTrace:
        """Return the unfinished run of a checkpoint, or a new run."""
        unfinished = fit.take_unfinished()
        if unfinished is not None:
            with file.errors():
                return unfinished.trace(setup.problem, setup.shape)
        return EMTrace(setup.problem.to_engine(initial_state(setup.shape, init, rng)), rng)

    def _run(
        self,
        setup: ProblemSetup,
        trace: EMTrace,
        fit: SoftFitState,
        file: RunCheckpoint,
        callback: Callback,
        held_out: Callable[[SoftState], float] | None,
    ) -> bool:
        """Run EM, add the result to the finished runs, and return whether it was interrupted."""

        def save(trace: EMTrace) -> None:
            if file.path is not None:
                file.save(replace(fit, unfinished=UnfinishedSoftRun.of(trace, setup.problem)))

        def save_if_due(trace: EMTrace) -> None:
            if file.due(trace.iteration):
                save(trace)

        interrupted = run_em(
            setup.problem,
            trace,
            self._stopping_rule,
            callback,
            held_out=held_out,
            after_iteration=save_if_due,
        )
        if interrupted:  # saved as unfinished, so that a resumed fit continues this run
            save(trace)
        fit.finished.append(run_result(setup, trace, validated=held_out is not None))
        if not interrupted and file.path is not None:
            file.save(replace(fit, last=UnfinishedSoftRun.of(trace, setup.problem)))
        return interrupted

    def _set_results(self, data: Data, runs: list[SoftRun]) -> None:
        """Set the fitted attributes from the best run."""
        self.runs_ = runs
        best = best_run(runs)
        self.theta_, self.entropy_ = best.theta, best.entropy
        self.history_, self.converged_ = best.history, best.converged
        if isinstance(data, Ratings):
            self.ratings_ = data  # a Recommender of this model needs the ids
        if isinstance(data, Ratings | ShardedRatings):
            self.user_memberships_ = best.user_memberships
            self.item_memberships_ = best.item_memberships
            self.values_ = data.values
            self.validation_history_ = best.held_out
        else:
            self.memberships_ = best.user_memberships
            self.values_ = graph_values(data, self._absent(data))

    def _samples_per_observation(self) -> int:
        """Return the number of draws per observation; 0 is the exact update."""
        return 0

    def _own_kind(self, data: Any) -> Any:
        """Return a graph of another library as a `Graph`; weights matter if pairs are ignored."""
        return as_graph(data, weighted=self.absent == "ignored")

    def _absent(self, data: Data) -> str:
        """Return how absent pairs are treated, with "auto" decided."""
        return absent_mode(self.absent, getattr(data, "n_nodes", 0))

    def _fingerprint(self, data: Data) -> JsonObject:
        """Return the data and settings that a resumed fit must share with its checkpoint."""
        given = {n: v for n, v in self.get_params().items() if n not in _MAY_CHANGE_ON_RESUME}
        given["n_groups"] = np.ravel(self.n_groups).tolist()
        return {"model": type(self).__name__, "data": data_digest(data), **given}
