"""MMSBM and MCMMSBM: mixed membership by EM, exact or with sampled groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState, as_generator, stream_keys
from coterie.data import Graph, Ratings
from coterie.data.foreign import as_graph_or_ratings
from coterie.engine import Engine, running_engine
from coterie.engine.checkpoint import RunCheckpoint, check_checkpoint_options
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.data_kinds import data_digest
from coterie.models.declaration import (
    SEED,
    Ability,
    Anything,
    DataKind,
    Declaration,
    Flag,
    Groups,
    Integer,
    OneOf,
    Pair,
    Real,
)
from coterie.models.foreign_data import labels_of
from coterie.models.rating_model import RatingModel
from coterie.models.soft.em import (
    KIND,
    WINDOW,
    EMTrace,
    SoftFitState,
    SoftRun,
    UnfinishedSoftRun,
    has_converged,
    run_em,
)
from coterie.models.soft.graph_problem import GraphSettings
from coterie.models.soft.predictor import SoftPredictor, held_out_entropy
from coterie.models.soft.problems import (
    ProblemSetup,
    absent_mode,
    graph_values,
    hard_model,
    hard_start,
    local,
    set_up_graph,
    set_up_ratings,
)
from coterie.models.soft.state import SoftState, initial_state
from coterie.models.soft.validation import check

# A resumed fit may change these: they decide when a run stops, or the checkpoint stores their
# effect (seeds and initial states).
_MAY_CHANGE_ON_RESUME = ("max_iter", "tol", "patience", "rng", "init", "warm_start")


Data = Ratings | ShardedRatings | Graph | ShardedGraph


class MMSBM(RatingModel):
    """Mixed-membership stochastic block model, fitted by exact EM.

    Every user and item (or every node of a graph) belongs to several groups, with memberships that
    sum to 1. The probability of a rating is the average of `theta_` over the groups of the user
    and the item. Use it for recommendations with explainable groups, or to find overlapping groups
    in a network.

    Parameters
    ----------
    n_groups : int or (int, int), default=10
        Number of user groups and of item groups, or one number for both. For a graph, the number
        of groups of nodes.
    max_iter : int, default=500
        Maximum number of iterations per run.
    tol : float, default=1e-6
        Stop when the lowest entropy has improved by less than this relative amount within the
        last ten iterations. 0 always runs `max_iter` iterations.
    prior : float, default=0.0
        Pseudo-count added to every membership and every cell of theta (the mode of a
        Dirichlet(1 + prior) posterior). 0 is maximum likelihood, as in the paper.
    n_init : int, default=1
        Number of runs from different random starts. The attributes are those of the best run; all
        runs are in `runs_`.
    init : "random", "hard", labels or fitted model, default="random"
        Start of a run. "hard" clusters the data first, with one block per group, and starts from
        the blocks; for graphs this ends far lower than a random start. Or the labels of a hard
        clustering (an array for a graph, a pair of arrays for ratings, or a fitted clustering), or
        a fitted soft model of the same shape.
    absent : {"auto", "exact", "sampled", "ignored"}, default="auto"
        Graphs only: how pairs without an edge are used. "exact" visits all of them, "sampled"
        estimates their sums without bias from `n_absent_samples` draws per node, "ignored" learns
        from the weights of edges alone, "auto" is "exact" up to 5,000 nodes and "sampled" above.
    n_absent_samples : int, default=100
        Graphs only: number of draws per node if absent pairs are sampled.
    negatives_per_rating : float, default=0.0
        Ratings only: number of unrated pairs per rating that are used as observations of one more
        level, "not rated". `theta_` then sums to less than 1 over the values; the rest is the
        probability of not being rated.
    validation : float, default=0.0
        Ratings only: share of the ratings that is held out. The fit keeps the state with the
        lowest entropy on them.
    patience : int, default=10
        Ratings only: with `validation`, stop when the held-out entropy has not improved for this
        many iterations.
    warm_start : bool, default=False
        Start from the result of the previous `fit`.
    rng : int, numpy.random.Generator or None, default=0
        Seed of the random numbers. The same seed gives the same result for any number of threads.
        None uses a fresh seed.

    Attributes
    ----------
    user_memberships_ : ndarray of shape (n_users, n_user_groups)
        Memberships of users; every row sums to 1. Only after a fit to ratings.
    item_memberships_ : ndarray of shape (n_items, n_item_groups)
        Memberships of items; every row sums to 1. Only after a fit to ratings.
    memberships_ : ndarray of shape (n_nodes, n_groups)
        Memberships of nodes; every row sums to 1. Only after a fit to a graph.
    theta_ : ndarray of shape (n_user_groups, n_item_groups, n_values)
        Probability of each value for each pair of groups.
    values_ : ndarray of shape (n_values,)
        The values to which the last axis of `theta_` refers: distinct ratings, or for a graph 0
        (absent) and 1 (present) or the distinct weights.
    entropy_ : float
        Entropy S = -log likelihood of the training data in nats.
    hard_entropy_ : float or None
        Entropy of the hard clustering from which the fit started, the lowest of all runs. None
        without ``init="hard"``, or if the two entropies cannot be compared.
    history_ : list of Iteration
        `iteration`, `seconds` and `entropy` of each iteration of the best run.
    converged_ : bool
        Whether the best run met `tol` (or `patience`) before `max_iter`.
    interrupted_ : bool
        Whether Ctrl-C stopped the fit.
    validation_history_ : list of float
        Held-out entropy after each iteration. Only after a fit to ratings; empty without
        `validation`.
    runs_ : list of SoftRun
        Memberships, theta, entropy and history of every run. A `Recommender` averages the
        predictions of all runs.
    ratings_ : Ratings
        The training data. Only after a fit to a `Ratings` table.

    See Also
    --------
    MCMMSBM : The same model with a sampled update.
    GeneralizedKMeans : Hard clustering: every node in one block.
    Recommender : Predictions, rankings and explanations from a fitted model.
    align : Match the groups of two runs.

    Notes
    -----
    An iteration costs O(|X| l + G k l) for |X| observations, k and l groups and G distinct pairs of
    user and value, instead of O(|X| k l) as printed. The update is the same.

    References
    ----------
    .. [1] A. Godoy-Lorite, R. Guimerà, C. Moore and M. Sales-Pardo, "Accurate and scalable social
       recommendation using mixed-membership stochastic block models", PNAS 113 (50), 2016.
    .. [2] F. Prost and J. Yoon, "Parallel Clustering of Graphs for Anonymization and Recommender
       Systems", Algorithm 8.

    Examples
    --------
    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [5, 1, 5, 1, 4])
    >>> model = ct.MMSBM(n_groups=2, max_iter=50, rng=0).fit(ratings)
    >>> model.user_memberships_.shape, model.theta_.shape
    ((3, 2), (2, 2, 3))
    >>> bool(model.entropy_ <= model.history_[0].entropy)
    True
    """

    declaration = Declaration(
        name="mmsbm",
        assumptions={
            DataKind.GRAPH: "For each pair, a node acts as a member of one of its groups, drawn "
            "according to its memberships; pairs without an edge count as observations too.",
            DataKind.RATINGS: "For each rating, user and item act as members of one of their "
            "groups, drawn according to their memberships; pairs without a rating carry no "
            "information.",
        },
        parameters={
            "n_groups": Pair(Integer(1)),
            "max_iter": Integer(0),
            "tol": Real(least=0),
            "prior": Real(least=0),
            "n_init": Integer(1),
            "init": Anything('"random", "hard", labels, or a fitted clustering'),
            "absent": OneOf("auto", "exact", "sampled", "ignored"),
            "n_absent_samples": Integer(1),
            "negatives_per_rating": Real(least=0),
            "validation": Real(least=0, below=1),
            "patience": Integer(1),
            "warm_start": Flag(),
            "rng": SEED,
        },
        abilities=frozenset(
            {
                Ability.PREDICT,
                Ability.CHECKPOINT,
                Ability.SHARDS,
                Ability.CLUSTER,
                Ability.NEGATIVES,
            }
        ),
        option_names={
            "n_groups": "groups",
            "max_iter": "iterations",
            "n_init": "runs",
            "prior": "prior",
            "negatives_per_rating": "negatives_per_rating",
        },
        renamed={
            "absent_samples": "n_absent_samples",
            "absent_ratio": "negatives_per_rating",
            "absent_share": "negatives_per_rating",
        },
        groups=Groups.MEMBERSHIPS,
    )

    _SMALLEST: ClassVar[dict[str, Any]] = {
        "n_groups": 1,
        "max_iter": 1,
        "n_init": 1,
        "init": "random",
        "rng": 0,
    }

    theta_: np.ndarray
    values_: np.ndarray
    memberships_: np.ndarray
    user_memberships_: np.ndarray
    item_memberships_: np.ndarray
    hard_entropy_: float | None
    validation_history_: list[float]
    converged_: bool
    runs_: list[SoftRun]

    def __init__(
        self,
        n_groups: int | tuple[int, int] = 10,
        *,
        max_iter: int = 500,
        tol: float = 1e-6,
        prior: float = 0.0,
        n_init: int = 1,
        init: Any = "random",
        absent: str = "auto",
        n_absent_samples: int = 100,
        negatives_per_rating: float = 0.0,
        validation: float = 0.0,
        patience: int = 10,
        warm_start: bool = False,
        rng: RandomState = 0,
    ) -> None:
        self.n_groups = n_groups
        self.max_iter = max_iter
        self.tol = tol
        self.prior = prior
        self.n_init = n_init
        self.init = init
        self.absent = absent
        self.n_absent_samples = n_absent_samples
        self.negatives_per_rating = negatives_per_rating
        self.validation = validation
        self.patience = patience
        self.warm_start = warm_start
        self.rng = rng

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
            fit.continue_last(
                self.max_iter, lambda run: self._has_converged(run, self._validates(data))
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

    def compile(self, data: Any, engine: str | Engine = "local") -> None:
        """Compile the kernels that `fit(data)` needs, on a few nodes.

        Parameters
        ----------
        data : Ratings, Graph, ShardedRatings or ShardedGraph
            The data that will be fitted. Only their kind matters.
        engine : str or Engine, default="local"
            The engine that `fit` will use.
        """
        super().compile(data, engine)
        if self.init == "hard" and isinstance(data := self._own_kind(data), Graph | Ratings):
            hard_model(data, (1, 1), 0).compile(data, local(engine))

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

    def _has_converged(self, run: EMTrace, validated: bool) -> bool:
        """Return whether a run no longer improves; a held-out entropy has a window of its own."""
        window = self.patience if validated else WINDOW
        return has_converged(run.scores, self.tol, window)

    def _result_sizes(self, data: Data) -> tuple[tuple[int, int], tuple[int, int], int]:
        """Return the sizes of a result: nodes and groups of both sides, and levels."""
        groups = self.group_pair
        if isinstance(data, Ratings | ShardedRatings):
            return (data.n_users, data.n_items), groups, len(data.values)
        values = graph_values(data, self._absent(data))
        return (data.n_nodes,) * 2, groups, len(values)

    def _set_up(self, data: Data, engine: Engine, rng: Generator) -> ProblemSetup:
        """Turn the data into the problem that the EM loop solves."""
        samples = self._samples_per_observation()
        if isinstance(data, Ratings | ShardedRatings):
            return set_up_ratings(
                data,
                self.group_pair,
                engine,
                prior=self.prior,
                samples=samples,
                negatives_per_rating=self.negatives_per_rating,
                rng=rng,
            )
        settings = GraphSettings(self._absent(data), self.n_absent_samples, samples, self.prior)
        return set_up_graph(data, self.group_pair[0], engine, settings)

    @property
    def group_pair(self) -> tuple[int, int]:
        """Return the number of groups of both sides; for a graph they are equal."""
        groups = self.n_groups if isinstance(self.n_groups, tuple | list) else (self.n_groups,) * 2
        return int(groups[0]), int(groups[1])

    def _initial(self, data: Data, seed: int, engine: Engine, callback: Callback) -> Any:
        """Return what a run starts from: "random", labels, or the state of a fitted model."""
        init = self if self.warm_start and "theta_" in vars(self) else self.init
        if isinstance(init, MMSBM):
            return init._as_start(of_graph=isinstance(data, Graph | ShardedGraph))
        if not isinstance(init, str) or init != "hard":
            return labels_of(init)
        start = hard_start(data, self.group_pair, seed, engine, callback)
        # Weights of edges alone, or ratings with sampled negatives, are other observations.
        if not self.negatives_per_rating and self._absent(data) != "ignored":
            entropy = float(start.entropy_)
            lowest = entropy if self.hard_entropy_ is None else self.hard_entropy_
            self.hard_entropy_ = min(entropy, lowest)
        return start.labels_

    def _as_start(self, *, of_graph: bool) -> SoftState:
        """Return the fitted memberships and theta as the start of another fit."""
        if of_graph != self.fitted_to_graph:
            raise InputError(
                f"init is a {type(self).__name__} fitted to another kind of data",
                remedy="start from a model of the same kind, or init='random'",
            )
        sides = (
            (self.memberships_, self.memberships_)
            if of_graph
            else (self.user_memberships_, self.item_memberships_)
        )
        rows, columns = (np.ascontiguousarray(side, np.float64) for side in sides)
        theta = np.ascontiguousarray(np.moveaxis(np.asarray(self.theta_, np.float64), 2, 0))
        return SoftState(rows, columns, theta)

    @property
    def fitted_to_graph(self) -> bool:
        """Whether it has been fitted to a graph, and not to ratings."""
        return "memberships_" in vars(self)

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

        validated = held_out is not None
        interrupted = run_em(
            setup.problem,
            trace,
            self.max_iter,
            lambda run: self._has_converged(run, validated),
            callback,
            held_out=held_out,
            after_iteration=save_if_due,
        )
        if interrupted:  # saved as unfinished, so that a resumed fit continues this run
            save(trace)
        ended = SoftRun.of(trace, setup.problem, len(setup.values), validated=validated)
        fit.finished.append(ended)
        if not interrupted and file.path is not None:
            file.save(replace(fit, last=UnfinishedSoftRun.of(trace, setup.problem)))
        return interrupted

    def _set_results(self, data: Data, runs: list[SoftRun]) -> None:
        """Set the fitted attributes from the best run."""
        self.runs_ = runs
        best = min(runs, key=lambda run: run.score)
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
        return as_graph_or_ratings(data, weighted=self.absent == "ignored")

    def _decided(self, data: Data) -> dict[str, Any]:
        return {"absent": self._absent(data)}

    def _absent(self, data: Data) -> str:
        """Return how absent pairs are treated, with "auto" decided."""
        return absent_mode(
            self.absent, data.n_nodes if isinstance(data, Graph | ShardedGraph) else 0
        )

    def _fingerprint(self, data: Data) -> JsonObject:
        """Return the data and settings that a resumed fit must share with its checkpoint."""
        given = {n: v for n, v in self.get_params().items() if n not in _MAY_CHANGE_ON_RESUME}
        given["n_groups"] = np.ravel(self.n_groups).tolist()
        return {"model": type(self).__name__, "data": data_digest(data), **given}


class MCMMSBM(MMSBM):
    """Mixed-membership stochastic block model, fitted by Monte Carlo EM.

    The model is that of `MMSBM`. Instead of summing over all pairs of groups, an iteration draws
    `n_samples` pairs of groups per observation. The expected update equals the exact one up to
    O(1 / n_samples). Prefer `MMSBM` unless there are many groups: its exact update is usually
    faster.

    Parameters
    ----------
    n_groups : int or (int, int), default=10
        Number of user groups and of item groups, or one number for both. For a graph, the number
        of groups of nodes.
    n_samples : int, default=30
        Number of draws per observation (s in the paper). More draws make the update more accurate
        and slower.
    **options : Any
        The other parameters of `MMSBM`, with the same defaults. The attributes are the same too.

    See Also
    --------
    MMSBM : The same model with the exact update.

    Notes
    -----
    An iteration costs O(|X| s) for |X| observations and s draws, plus one exact pass that computes
    the entropy for `history_`. The result is the state with the lowest exact entropy, because the
    entropy of a sampled update may also rise.

    References
    ----------
    .. [1] F. Prost and J. Yoon, "Parallel Clustering of Graphs for Anonymization and Recommender
       Systems", Algorithm 3.

    Examples
    --------
    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [5, 1, 5, 1, 4])
    >>> model = ct.MCMMSBM(n_groups=2, n_samples=10, max_iter=50, rng=0).fit(ratings)
    >>> model.theta_.shape
    (2, 2, 3)
    """

    declaration = replace(
        MMSBM.declaration,
        name="mcmmsbm",
        parameters={**MMSBM.declaration.parameters, "n_samples": Integer(1)},
        option_names={**MMSBM.declaration.option_names, "n_samples": "samples"},
        renamed={**MMSBM.declaration.renamed, "samples": "n_samples"},
    )

    def __init__(
        self, n_groups: int | tuple[int, int] = 10, *, n_samples: int = 30, **options: Any
    ) -> None:
        super().__init__(n_groups, **options)
        self.n_samples = n_samples

    def _samples_per_observation(self) -> int:
        return self.n_samples
