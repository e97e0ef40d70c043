"""What `GeneralizedKMeans` and `BlockModel` share: data, checkpoints, engines and results.

`fit` reads from top to bottom: check the parameters (`declaration` and `validation.py`), build the
objective where the engine works (`objectives/`), search, describe the result (`results.py`). Which
search runs is what the two classes decide.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph, Ratings
from coterie.data.foreign import as_graph
from coterie.engine import Engine, LocalEngine, running_engine
from coterie.engine.checkpoint import RunCheckpoint, check_checkpoint_options
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.data_kinds import data_digest, digest
from coterie.models.foreign_data import node_names
from coterie.models.hard.checkpoint import KIND, HardFitState, seed_name
from coterie.models.hard.connected import connect
from coterie.models.hard.costs import (
    BlockObjective,
    GaussianObjective,
    make_objective,
    objective_for,
)
from coterie.models.hard.costs.gaussian import nearest_centre
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.description.choice import description_length_by
from coterie.models.hard.graph_results import GraphResults
from coterie.models.hard.predictor import HardPredictor
from coterie.models.hard.results import block_summary, is_locally_optimal
from coterie.models.hard.search import SearchResult, SearchSettings, SearchTask
from coterie.models.hard.search.runs import run_all
from coterie.models.hard.validation import block_counts, given_labels
from coterie.models.rating_model import RatingModel

_MAY_CHANGE_ON_RESUME = ("max_iter", "tol")  # of search="paper"
RENAMED = {  # attributes of earlier versions
    "user_labels_": "labels_[0]",
    "item_labels_": "labels_[1]",
    "objective_": "model_ of a BlockModel, or objective of a GeneralizedKMeans",
}


@dataclass
class FitJob:
    """One fit in progress."""

    objective: Objective
    data: Any
    state: HardFitState
    file: RunCheckpoint
    engine: Engine
    callback: Callback
    n_blocks: tuple[int, ...] = ()  # per side, if they are given
    start: Labels | None = None  # the first labels, if they are given
    began: float = 0.0  # when the search began

    def set_blocks(self, n_blocks: Any, init: Any, min_block_size: int) -> None:
        """Check the given numbers of blocks and first labels, and keep them."""
        sizes = self.objective.n_elements
        self.n_blocks = block_counts(n_blocks, sizes, min_block_size)
        self.start = given_labels(init, sizes, self.n_blocks, min_block_size)

    @property
    def seconds(self) -> float:
        """The time since the search began."""
        return time.perf_counter() - self.began


class HardClustering(GraphResults, RatingModel):
    """A model that puts every node into exactly one block."""

    labels_: Any
    entropy_: float
    history_: list[Iteration]
    run_entropies_: list[float]
    n_blocks_: Any
    interrupted_: bool
    converged_: bool
    locally_optimal_: bool
    seconds_: float
    n_features_in_: int  # of points
    n_init: int
    min_block_size: int
    connected: bool
    rng: RandomState

    def fit(
        self,
        X: Graph | Ratings | ShardedGraph | ShardedRatings | np.ndarray,
        y: None = None,
        *,
        engine: str | Engine = "local",
        callback: Callback = silent,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
    ) -> Self:
        """Cluster the data.

        Ctrl-C ends the search early, keeps the best labels so far and sets `interrupted_`.

        Parameters
        ----------
        X : Graph, Ratings, ShardedGraph, ShardedRatings or array of shape (n, n_features)
            The data that the model requires. A networkx or igraph graph or a scipy sparse matrix
            is accepted as a graph; its weights (edge attribute "weight", or the entries) are read
            by models of weights. Shards are loaded into the memory of this process, except by
            ``search="paper"``; with the Dask engine the workers read them again and plan the moves,
            which this process checks and makes.
        y : None
            Accepted for scikit-learn; has no effect.
        engine : str or Engine, default="local"
            Where the work runs: ``"local"`` (threads of this process), ``"dask"`` (a cluster that
            is started on this machine), or a `LocalEngine` or `DaskEngine`.
        callback : callable, optional
            Called with a `Progress` after each iteration. By default nothing is reported.
        checkpoint : path-like, optional
            File to which the search is saved.
        checkpoint_every : int, default=10
            Number of iterations of ``search="paper"`` between two saves. The other searches are
            saved after each of their steps, as long as that takes less than 3 % of the time.
        resume : bool, default=False
            Continue from `checkpoint` if the file exists. The result is the same as without
            interruption. With ``search="paper"`` `max_iter` and `tol` may differ from the earlier
            fit: a single run that has ended goes on if `max_iter` is larger or `tol` smaller now.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If a parameter is invalid, does not fit the data, or does not fit the checkpoint.

        Examples
        --------
        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> ct.GeneralizedKMeans(1).fit(g).labels_
        array([0, 0, 0], dtype=int32)
        """
        if isinstance(y, str | Engine):  # it was the second argument before version 1
            raise InputError(
                f"`engine` is given by name, not by place: {y!r}", remedy="use `engine=`"
            )
        data = self._own_kind(X)
        self.check_request(
            engine, checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume
        )
        rng = as_generator(self.rng)
        file = RunCheckpoint(KIND)
        if checkpoint is not None:
            file = RunCheckpoint(KIND, checkpoint, checkpoint_every, self._fingerprint(data))
        state = file.load(HardFitState) if resume else None
        data, shards = self._take_data(data)
        settings = self._settings()
        with running_engine(engine) as running, self._driver(running) as driver:
            objective = objective_for(
                self._edge_model(),
                data,
                settings.move_score,
                running,
                sequential=settings.is_best,
                shards=shards,
            )
            job = FitJob(objective, data, state or HardFitState(rng), file, driver, callback)
            self._prepare(job)
            job.began = time.perf_counter()
            self._search(job)
        for sentence in self._remarks():
            warnings.warn(sentence, AssumptionWarning, stacklevel=2)
        return self

    def check_request(
        self,
        engine: str | Engine = "local",
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
    ) -> None:
        """Raise an error for a fit that cannot work, before any work is done.

        The data are not needed, so the command line can call this before it reads a file or starts
        a cluster.

        Parameters
        ----------
        engine : {"local", "dask"} or Engine, default="local"
            The argument that `fit` will be given, as are the others.
        checkpoint : str or path-like, optional
            The checkpoint to write.
        checkpoint_every : int, default=10
            Iterations between two checkpoints.
        resume : bool, default=False
            Whether `fit` will continue from the checkpoint.
        """
        self.check_parameters()
        if not (isinstance(engine, LocalEngine) or (isinstance(engine, str) and engine != "dask")):
            self._check_cluster()
        check_checkpoint_options(checkpoint, checkpoint_every, resume)

    def fit_predict(self, X: Graph | Ratings | np.ndarray, y: None = None, **options: Any) -> Any:
        """Cluster the data and return the labels.

        Parameters
        ----------
        X : Graph, Ratings or array of shape (n, n_features)
            The data that the model requires.
        y : None
            Accepted for scikit-learn; has no effect.
        **options
            Passed to `fit`.

        Returns
        -------
        ndarray of shape (n,), int32, or a pair of them
            `labels_`: the block of each node; for ratings of each user and of each item.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.GeneralizedKMeans(1).fit_predict(ct.Graph.from_edges([0, 1], [1, 2]))
        array([0, 0, 0], dtype=int32)
        """
        return self.fit(X, y, **options).labels_

    def score(self, X: Graph | Ratings | np.ndarray, y: None = None) -> float:
        """Return minus the entropy of data in the fitted blocks; higher is better.

        Parameters
        ----------
        X : Graph, Ratings or array of shape (n, n_features)
            A graph or ratings of the nodes that the model was fitted to; other points are in the
            block of the nearest centre. Of real-valued weights only the edges count.
        y : None
            Accepted for scikit-learn; has no effect.

        Returns
        -------
        float
            In nats; of the data of the fit, ``-entropy_``.

        Examples
        --------
        >>> import numpy as np
        >>> import coterie as ct
        >>> m = ct.GeneralizedKMeans(2, objective="gaussian").fit(np.array([[0.0], [1.0], [5.0]]))
        >>> bool(np.isclose(m.score(np.array([[0.0], [1.0], [5.0]])), -m.entropy_))
        True
        """
        self._require_fit()
        data = self._own_kind(X)
        if isinstance(data, ShardedGraph | ShardedRatings):
            data = data.load()
        if self._data_type() is np.ndarray:
            points = self._points(data)
            squares = nearest_centre(points, self.centers_)[1]
            return -float(squares.sum() / 2 + points.size / 2 * math.log(2 * math.pi))
        objective = make_objective(self._edge_model(), data)
        if objective.n_elements != tuple(map(len, self._sides())):
            raise InputError(
                "these data have other nodes than those that the model was fitted to",
                remedy="give data of the same nodes",
            )
        counts = tuple(int(z.max(initial=-1)) + 1 for z in self._sides())
        return -float(objective.entropy(objective.start(self._sides(), counts)))

    def labels_by_id(self, data: Graph | Ratings) -> dict[Any, int] | tuple[dict[Any, int], ...]:
        """Return the block of each node by its original id.

        Parameters
        ----------
        data : Graph, networkx.Graph, igraph.Graph or Ratings
            The data that the model was fitted to.

        Returns
        -------
        dict, or tuple of two dict
            Block by id; for ratings one dictionary for users and one for items.

        Examples
        --------
        >>> import numpy as np
        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0], [1], ids=np.array(["ann", "bob"]))
        >>> ct.GeneralizedKMeans(1).fit(g).labels_by_id(g)
        {'ann': 0, 'bob': 0}
        """
        if not isinstance(data, Ratings):
            return dict(zip(node_names(data), self.labels_.tolist(), strict=True))
        ids = (data.user_ids, data.item_ids)
        return tuple(
            dict(zip(names.tolist(), labels.tolist(), strict=True))
            for names, labels in zip(ids, self.labels_, strict=True)
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say the new name of an attribute of earlier versions."""
            new = f"; it is called {RENAMED[name]} now" if name in RENAMED else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{new}")

    def predictor(self, ratings: Ratings) -> HardPredictor:
        """Return what the model has learned from ratings, as a Recommender uses it.

        Parameters
        ----------
        ratings : Ratings
            The ratings that it was fitted to.

        Returns
        -------
        HardPredictor
            The blocks, and how often each rating occurs in each pair of blocks.
        """
        users, items = self.labels_
        return HardPredictor.of_blocks(users, items, ratings)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about the estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags

        points = self._data_type() is np.ndarray
        return Tags(
            estimator_type="clusterer",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=points, sparse=not points),
            no_validation=not points,
        )

    def check_parameters(self) -> None:
        """Raise InputError for a parameter that is invalid or does not fit the others."""
        super().check_parameters()
        settings = self._settings()
        points = self._data_type() is np.ndarray
        if settings.is_best and settings.move_score == "fixed" and not points:
            raise InputError(
                '`search="best"`, the default, does not support `move_score="fixed"`',
                remedy='use `search="paper"`',
            )

    # what the two classes decide

    def _settings(self) -> SearchSettings:
        """Return how the entropy is minimised."""
        return SearchSettings.among(self.get_params())

    @abstractmethod
    def _search(self, job: FitJob) -> None:
        """Find the blocks and set the fitted attributes."""

    @abstractmethod
    def _check_cluster(self) -> None:
        """Raise an error if the search cannot run on a cluster."""

    def _prepare(self, job: FitJob) -> None:
        """Check what depends on the data, before any work is done."""

    def _remarks(self) -> list[str]:
        """Return what to warn about after the fit."""
        return []

    @property
    def _blocks_chosen(self) -> bool:
        """Whether the model chooses the number of blocks."""
        return False

    def _fitted_model(self) -> str:
        """Return the name of the model of the result."""
        return self._edge_model()

    # the fit

    def _own_kind(self, data: Any) -> Any:
        """Return a graph of another library as a `Graph`, for models of graphs."""
        if self._data_type() is not Graph:
            return data
        return as_graph(data, weighted=self._reads_weights())

    def _reads_weights(self) -> bool:
        """Return whether the model has weights."""
        return self._edge_model() == "weighted"

    def _take_data(self, data: Any) -> tuple[Any, ShardedGraph | None]:
        """Load shards that the search needs in memory, and keep the data for the results.

        Return the data, and the shards that a graph was loaded from."""
        shards = None
        if isinstance(data, ShardedRatings):
            data = data.load()  # items need rows too, and shards contain those of users only
        elif isinstance(data, ShardedGraph) and (self._settings().is_best or self._blocks_chosen):
            shards, data = data, data.load()
        if isinstance(data, Ratings):
            self.ratings_ = data
        self.graph_ = data if isinstance(data, Graph) else None
        if self.connected and self.graph_ is None:
            raise InputError(
                "`connected` blocks need a graph in memory",
                remedy="leave it out for ratings, points and shards",
            )
        return data, shards

    def _driver(self, engine: Engine) -> AbstractContextManager[Engine]:
        """Return the engine that a search uses: for a sequential one, threads of this process."""
        if self._settings().is_best and not isinstance(engine, LocalEngine):
            return LocalEngine()
        return nullcontext(engine)

    def _minimise_entropy(
        self, job: FitJob, n_blocks: tuple[int, ...], start: Labels | None
    ) -> None:
        """Search at these numbers of blocks and set the fitted attributes."""
        task = SearchTask(
            job.objective,
            n_blocks,
            job.state.rng,
            job.engine,
            self._settings(),
            start,
            job.callback,
        )
        self.interrupted_ = run_all(task, job.state, job.file)
        self.seconds_ = job.seconds
        chosen = min(job.state.finished, key=lambda run: run.entropy)
        job.callback(Progress("checking", 0, entropy=chosen.entropy))
        self._set_results(task, chosen)
        self.run_entropies_ = [run.entropy for run in job.state.finished]

    def _set_results(
        self, task: SearchTask, found: SearchResult, optimal: bool | None = None
    ) -> None:
        """Set the fitted attributes that describe the best clustering.

        `optimal` says whether it is locally optimal; None: check.
        """
        if self.connected:
            task, joined = self._connect(task, found)
            if not np.array_equal(joined.labels[0], found.labels[0]):
                optimal = False if optimal is not None else None
            found = joined
        objective = task.objective
        self.labels_ = found.labels[0] if len(found.labels) == 1 else found.labels
        state = objective.start(found.labels, task.n_blocks)
        self.entropy_ = objective.entropy(state)
        self.history_ = found.history
        self.converged_ = found.converged
        occupied = tuple(int((sizes > 0).sum()) for sizes in state.sizes)
        self.n_blocks_ = occupied[0] if len(occupied) == 1 else occupied
        if isinstance(objective, GaussianObjective):
            self.centers_ = objective.centers(state)
            self.n_features_in_ = self.centers_.shape[1]
        if isinstance(objective, BlockObjective):
            blocks = block_summary(objective, state)
            self.block_edges_, self.block_pairs_ = blocks.edges, blocks.pairs
            self.block_probabilities_ = blocks.probabilities
        if optimal is None:
            optimal = not found.interrupted and is_locally_optimal(
                objective, state, task.engine, self.min_block_size
            )
        self.locally_optimal_ = optimal

    def _connect(self, task: SearchTask, found: SearchResult) -> tuple[SearchTask, SearchResult]:
        """Return the result with connected blocks."""
        objective, graph = task.objective, self._graph()
        assert isinstance(objective, BlockObjective)
        name = self._fitted_model()
        length = description_length_by(name, objective, graph)
        requested = None if self._blocks_chosen else task.n_blocks[0]
        labels = connect(name, graph, found.labels[0], requested, length)
        if requested is None:
            self.description_length_ = length(labels)
        count = max(int(labels.max(initial=-1)) + 1, requested or 1)
        return replace(task, n_blocks=(count,)), found._replace(labels=(labels,))

    def _fingerprint(self, data: Any) -> JsonObject:
        """Return what a checkpoint must agree with: the data and the parameters of the run."""
        free = ("rng",) if self._settings().is_best else ("rng", *_MAY_CHANGE_ON_RESUME)
        given = {n: v for n, v in self.get_params().items() if n not in free}
        for name, value in given.items():
            if name == "init" and not isinstance(value, str):
                given[name] = digest(value if isinstance(value, tuple) else [value])
            elif isinstance(value, tuple):
                given[name] = list(value)
        seed = seed_name(self.rng)
        return {"model": type(self).__name__, "data": data_digest(data), "seed": seed, **given}

    # scikit-learn

    def _sides(self) -> Labels:
        """Return the labels of each side."""
        return self.labels_ if isinstance(self.labels_, tuple) else (self.labels_,)

    def _require_fit(self) -> None:
        """Raise an error for a model that is not fitted."""
        if "labels_" in vars(self):
            return
        problem = f"this {type(self).__name__} is not fitted yet: call `fit` first"
        if "sklearn" in sys.modules:  # its tools expect its own error
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(problem)
        raise InputError(problem)

    def _points(self, data: Any) -> np.ndarray:
        """Return points with the features of the fit, checked."""
        points: np.ndarray = make_objective("gaussian", data).given
        if points.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {points.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input",
                remedy="give the features of the fit",
            )
        return points
