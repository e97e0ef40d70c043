"""Generalized k-means: hard clustering of graphs, ratings and points.

`fit` reads from top to bottom: check the parameters (`validation.py`), build the objective where
the engine works (`objectives/`), search (`search/`), describe the result (`results.py`).
"""

from __future__ import annotations

import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, NamedTuple, Self, TypedDict

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine, running_engine
from coterie.engine.checkpoint import RunCheckpoint
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.data_digest import data_digest, digest
from coterie.models.declaration import Ability, Declaration
from coterie.models.foreign_data import as_graph, node_names
from coterie.models.hard.checkpoint import (
    KIND,
    ChosenBlocks,
    HardFitState,
    load_fit,
    save_fit,
    search_saver,
    seed_name,
)
from coterie.models.hard.connected import connect
from coterie.models.hard.description.choice import (
    MODELS,
    choose_description,
    description_length_of_result,
    graph_objective,
    is_described,
)
from coterie.models.hard.description.comparison import ComparedModel
from coterie.models.hard.description.directed_weighted import (
    DIRECTED,
    cell_data,
    cell_description_length,
)
from coterie.models.hard.description.fit import description_length_of
from coterie.models.hard.description.sampling import PosteriorSamples, draw_samples
from coterie.models.hard.description.state import KINDS, multigraph
from coterie.models.hard.graph_results import GraphResults
from coterie.models.hard.memory import check_memory
from coterie.models.hard.objectives import (
    OBJECTIVES,
    BlockObjective,
    GaussianObjective,
    make_objective,
    objective_for,
)
from coterie.models.hard.objectives.interface import Labels, Objective
from coterie.models.hard.predictor import HardPredictor
from coterie.models.hard.results import block_summary, is_locally_optimal
from coterie.models.hard.search import SearchResult, auto_k, best, paper
from coterie.models.hard.search.paper import PaperTrace
from coterie.models.hard.validation import block_counts, check_request, given_labels
from coterie.models.hard.weight_models import COUNTS, mean_weights, weight_model
from coterie.models.rating_model import RatingModel
from coterie.models.smallest_data import smallest_like

_MAY_CHANGE_ON_RESUME = ("max_iter", "tol", "rng")  # the checkpoint stores rng separately
_SMALLEST_FIT = {"max_iter": 1, "n_init": 1, "init": "random", "rng": 0}


class _SearchTask(NamedTuple):
    """The inputs that all runs of a fit share."""

    objective: Objective
    n_blocks: tuple[int, ...]  # per side
    start: Labels | None  # the first labels; None: the search chooses them
    engine: Engine
    callback: Callback


class _SearchArguments(TypedDict):
    """Keyword arguments that `best.run` and `paper.run` share."""

    rng: np.random.Generator
    engine: Engine
    max_iter: int
    tol: float
    min_block_size: int
    callback: Callback


class GeneralizedKMeans(GraphResults, RatingModel):
    """Hard clustering of graphs, ratings and points with stochastic block models.

    Every node is assigned to exactly one block such that the entropy S, the negative
    log-likelihood of the data given the blocks, is as low as possible. Nodes of one block have
    similar neighbours; a block need not be densely connected inside. With ``objective="gaussian"``
    this is k-means.

    Parameters
    ----------
    n_blocks : int, tuple of (int, int), "auto" or "nested", default=10
        Number of blocks. For ratings one number for users and items, or a tuple
        ``(user blocks, item blocks)``. ``"auto"`` finds the partition with the shortest description
        length, whatever its number of blocks (Peixoto, 2017); it needs the whole graph on one
        machine. For the objectives ``"simple"``, ``"degree-corrected"``, ``"communities"`` and
        ``"auto"``, and for directed and weighted graphs, every move and merge is judged by the
        description length; for ratings the numbers of blocks are compared after a search at each.
        ``"nested"`` finds a hierarchy, blocks of blocks, which can tell apart more and smaller
        blocks (Peixoto, 2014); it supports the objectives ``"simple"``, ``"degree-corrected"`` and
        ``"auto"``.
    objective : str, default="simple"
        The model of the data. For a `Graph`: ``"simple"`` (undirected, unweighted),
        ``"degree-corrected"`` (Karrer & Newman, 2011), ``"communities"`` (degree-corrected, with
        one density inside blocks and one between them; Zhang & Peixoto, 2020; requires
        ``n_blocks="auto"``), ``"auto"`` (whichever of these three has the shortest description;
        requires ``n_blocks="auto"`` or ``"nested"``), ``"directed"``,
        ``"directed-degree-corrected"`` (requires ``n_blocks="auto"``) or ``"weighted"``. For
        `Ratings`: ``"ratings"`` (one distribution over rating levels per cell), ``"binomial"`` or
        ``"likes"`` (which pairs occur, whatever the rating). For an array of points:
        ``"gaussian"``.
    search : {"best", "paper"}, default="best"
        ``"best"`` merges single nodes, moves them and perturbs the result; it reaches the lowest
        entropies. ``"paper"`` is Generalized k-means from random labels (Algorithm 4 of Prost &
        Yoon); use it for data that do not fit into one process, and to compare with the paper.
    score : {"auto", "exact", "fixed"}, default="auto"
        How ``search="paper"`` scores a move: by the exact change of S, or with the parameters held
        fixed, the approximation of Prost & Yoon. ``"auto"`` is ``"fixed"`` for points, which gives
        Lloyd's k-means, and ``"exact"`` for everything else.
    alpha : float, default=0.1
        Share of the nodes that one iteration of ``search="paper"`` moves at once, in (0, 1].
    max_iter : int, default=300
        Maximum number of iterations per run.
    tol : float, default=1e-6
        Stop if the lowest entropy has not fallen by this share within about ``1 / alpha``
        iterations. 0 runs all iterations.
    init : "random" or array-like of shape (n,), default="random"
        The first labels. For ratings a tuple of two arrays.
    n_init : int, default=1
        Number of runs; the one with the lowest entropy is kept.
    min_block_size : int, default=0
        Minimum number of nodes per block.
    connected : bool, default=False
        Whether every block must be connected (graphs only). Blocks that fall apart are split, and
        adjacent parts are merged again to the requested number of blocks, or for ``"auto"`` to the
        shortest description. There are more blocks only if the graph has more components.
    weight_model : {"counts", "normal", "lognormal", "exponential"}, default="counts"
        What weights are. ``"counts"``: numbers of events; ``objective="weighted"`` has Poisson
        cells, and a pair without an edge has weight 0. The others are for measured values on the
        edges that exist: which pairs have an edge is described by `objective` (``"weighted"``
        means ``"simple"``; also ``"degree-corrected"``, ``"directed"``,
        ``"directed-degree-corrected"``), and the weights of a cell have one normal, log-normal or
        exponential distribution, integrated over a conjugate prior (Peixoto, 2018). ``"normal"``
        allows negative weights. Requires ``search="best"``; the search minimises the description
        length, also with a given number of blocks.
    rng : int, numpy.random.Generator or None, default=0
        Seed. The same seed gives the same result for any number of threads. None uses fresh
        entropy from the operating system.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32
        Block of each node or point. Not set for ratings.
    user_labels_ : ndarray of shape (n_users,), int32
        Block of each user (ratings only).
    item_labels_ : ndarray of shape (n_items,), int32
        Block of each item (ratings only).
    entropy_ : float
        Entropy S of the result in nats.
    n_blocks_ : int or tuple of int
        Number of blocks that are not empty.
    block_edges_ : ndarray of shape (k, k), or (k, q, levels) for ratings
        Edges between blocks, those inside a block counted once; total weights for
        ``"weighted"``; ratings per level for ``"ratings"``. Not set for points.
    block_pairs_ : ndarray of shape (k, k) or (k, q)
        Pairs of nodes per cell; for ``"ratings"`` the number of ratings. Not set for points.
    block_probabilities_ : ndarray of the shape of block_edges_
        ``block_edges_ / block_pairs_``, 0 for cells without pairs. Not set for points.
    centers_ : ndarray of shape (k, n_features)
        Mean of each block (points only).
    block_weights_ : ndarray of shape (k, k)
        Mean weight of the edges of each cell, NaN without edges; for `weight_model` other than
        ``"counts"``. `block_edges_` then has numbers of edges.
    history_ : list of Iteration
        ``iteration``, ``seconds``, ``entropy`` and ``moved`` of each iteration of the best run.
        For graphs with ``n_blocks="auto"`` ``entropy`` is the description length.
    run_entropies_ : list of float
        Entropy of each run.
    levels_ : list of ndarray of shape (n,), int32
        The hierarchy (``n_blocks="nested"``): the block of each node per level, from the smallest
        blocks, which are also `labels_`, to the largest. The level with one block is left out.
    description_length_ : float
        Description length of the result in nats (``n_blocks="auto"`` or ``"nested"``).
        Graphs are described as multigraphs, so the lengths of the objectives ``"simple"``,
        ``"degree-corrected"`` and ``"communities"`` on one graph can be compared.
    description_lengths_ : dict of tuple to float
        The shortest description length in nats of every number of blocks that was tried
        (``n_blocks="auto"``).
    objective_ : str
        The objective of the result: the one that was chosen for ``objective="auto"``, else
        `objective`.
    converged_ : bool
        Whether the search stopped by itself rather than at `max_iter`.
    locally_optimal_ : bool
        Whether no single move lowers S, verified by a pass over all nodes. For graphs with
        ``n_blocks="auto"``: whether no single move to any block, or to a block of its own,
        shortens the description.
    interrupted_ : bool
        Whether Ctrl-C ended the search; the other attributes describe the best result so far.
    seconds_ : float
        Time of the search, without compiling.
    graph_ : Graph or None
        The graph that the model was fitted to; None for other data.
    ratings_ : Ratings
        The ratings that the model was fitted to, with the ids that a recommender needs.

    See Also
    --------
    MMSBM : Soft clustering, each node with a distribution over groups.
    Anonymizer : Publish a graph that is drawn from the blocks of another.

    References
    ----------
    F. Prost and J. Yoon. Parallel Clustering of Graphs for Anonymization and Recommender Systems.

    B. Karrer and M. E. J. Newman. Stochastic blockmodels and community structure in networks.
    Physical Review E 83, 016107, 2011.

    T. P. Peixoto. Hierarchical block structures and high-resolution model selection in large
    networks. Physical Review X 4, 011047, 2014.

    L. Zhang and T. P. Peixoto. Statistical inference of assortative community structures. Physical
    Review Research 2, 043271, 2020.

    T. P. Peixoto. Nonparametric weighted stochastic block models. Physical Review E 97, 012306,
    2018.

    T. P. Peixoto. Nonparametric Bayesian inference of the microcanonical stochastic block model.
    Physical Review E 95, 012317, 2017.

    Examples
    --------
    Two triangles, joined by one edge:

    >>> import coterie as ct
    >>> g = ct.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
    >>> m = ct.GeneralizedKMeans(2, rng=0).fit(g)
    >>> bool(m.labels_[0] == m.labels_[2] != m.labels_[3] == m.labels_[5])
    True
    >>> m.block_edges_.astype(int).tolist(), m.locally_optimal_
    ([[3, 1], [1, 3]], True)
    """

    entropy_: float
    samples_: PosteriorSamples  # set by the command line, for reports
    compared_models_: list[ComparedModel]

    declaration = Declaration(
        "hard",
        {},
        {},
        frozenset({Ability.PREDICT}),
        {"n_blocks": "groups", "max_iter": "iterations", "n_init": "runs"},
    )

    def __init__(
        self,
        n_blocks: int | tuple[int, int] | str = 10,
        *,
        objective: str = "simple",
        search: str = "best",
        score: str = "auto",
        alpha: float = 0.1,
        max_iter: int = 300,
        tol: float = 1e-6,
        init: str | np.ndarray | tuple[np.ndarray, ...] = "random",
        n_init: int = 1,
        min_block_size: int = 0,
        connected: bool = False,
        weight_model: str = COUNTS,
        rng: RandomState = 0,
    ) -> None:
        self.n_blocks = n_blocks
        self.objective = objective
        self.search = search
        self.score = score
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.min_block_size = min_block_size
        self.connected = connected
        self.weight_model = weight_model
        self.rng = rng

    def fit(
        self,
        data: Graph | Ratings | ShardedGraph | ShardedRatings | np.ndarray,
        engine: str | Engine = "local",
        callback: Callback = silent,
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
    ) -> Self:
        """Cluster the data.

        Ctrl-C ends the search early, keeps the best labels so far and sets `interrupted_`.

        Parameters
        ----------
        data : Graph, Ratings, ShardedGraph, ShardedRatings or array of shape (n, n_features)
            The data that `objective` requires. A networkx or igraph graph or a scipy sparse
            matrix is accepted as a graph; its weights (edge attribute "weight", or the entries)
            are read by ``objective="weighted"``. Shards are loaded into the memory of this process
            by ``search="best"``, also with the Dask engine: its workers read them again and plan
            the moves, which this process checks and makes.
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
        GeneralizedKMeans
            The fitted model itself.

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
        self._fit(self._own_kind(data), engine, callback, checkpoint, checkpoint_every, resume)
        if self.n_blocks == "auto" and self.graph_ is not None and self.n_blocks_ == 1:
            for sentence in self.explain():
                warnings.warn(sentence, AssumptionWarning, stacklevel=2)
        return self

    def _fit(
        self,
        data: Any,
        engine: str | Engine,
        callback: Callback,
        checkpoint: str | PathLike[str] | None,
        checkpoint_every: int,
        resume: bool,
    ) -> Self:
        """Fit to data of coterie's own types."""
        check_request(
            self,
            engine,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
        )
        rng = as_generator(self.rng)
        file = RunCheckpoint(KIND)
        if checkpoint is not None:
            file = RunCheckpoint(KIND, checkpoint, checkpoint_every, self._fingerprint(data))
        fit = load_fit(file) if resume else None
        if fit is None:
            fit = HardFitState(rng)
        data, shards = self._take_data(data)
        self.objective_ = self.objective
        with running_engine(engine) as running, self._driver(running) as driver:
            described = self.n_blocks in ("auto", "nested") and is_described(
                self.objective, data, self.weight_model
            )
            kept = graph_objective(self.objective, self.weight_model)
            sequential = self.search == "best"
            objective = objective_for(
                kept, data, self.score, running, sequential=sequential, shards=shards
            )
            if self.n_blocks not in ("auto", "nested"):
                sizes, least = objective.n_elements, self.min_block_size
                n_blocks = block_counts(self.n_blocks, sizes, least)
                start = given_labels(self.init, sizes, n_blocks, least)
                check_memory(objective, n_blocks, self.search, driver.threads)

            began = time.perf_counter()
            if self.weight_model != COUNTS or (described and self.search == "best"):
                assert isinstance(objective, BlockObjective)
                fixed = None if described else n_blocks[0]
                self._fit_description(objective, data, fixed, fit, file, driver, callback, began)
                return self
            if self.n_blocks == "auto":
                n_blocks, start = self._choose_blocks(objective, fit, file, driver, callback)
            task = _SearchTask(objective, n_blocks, start, driver, callback)
            with file.errors():
                fit.check(objective.n_elements, n_blocks)
            fit.continue_last(self.max_iter, self.tol, self.alpha)
            self.interrupted_ = self._search(task, fit, file)
            self.seconds_ = time.perf_counter() - began

            chosen = min(fit.finished, key=lambda run: run.entropy)
            callback(Progress("checking", 0, entropy=chosen.entropy))
            self._set_results(task, chosen)
        self.run_entropies_ = [run.entropy for run in fit.finished]
        return self

    def _take_data(self, data: Any) -> tuple[Any, ShardedGraph | None]:
        """Load shards that the search needs in memory, and keep the data for the results.

        Return the data, and the shards that a graph was loaded from."""
        shards = None
        if isinstance(data, ShardedRatings):
            data = data.load()  # items need rows too, and shards contain those of users only
        elif isinstance(data, ShardedGraph) and self.search == "best":
            shards, data = data, data.load()
        if isinstance(data, Ratings):
            self.ratings_ = data
        self.graph_ = data if isinstance(data, Graph) else None
        if self.connected and self.graph_ is None:
            raise InputError(
                "`connected` blocks need a graph in memory",
                remedy="leave it out for ratings, points and shards",
            )
        if self.weight_model != COUNTS:
            data = self._require_weights(data)
        return data, shards

    def _driver(self, engine: Engine) -> AbstractContextManager[Engine]:
        """Return the engine that a search uses: for a sequential one, threads of this process."""
        if self.search == "best" and not isinstance(engine, LocalEngine):
            return LocalEngine()
        return nullcontext(engine)

    def _fit_description(
        self,
        objective: BlockObjective,
        data: Graph,
        n_blocks: int | None,
        fit: HardFitState,
        file: RunCheckpoint,
        engine: Engine,
        callback: Callback,
        began: float,
    ) -> None:
        """Find the shortest description and set the fitted attributes.

        The number of blocks is free unless it is given (real-valued weights)."""
        found, lengths = choose_description(
            self.objective,
            objective,
            data,
            rng=fit.rng,
            engine=engine,
            callback=callback,
            n_init=self.n_init,
            min_block_size=self.min_block_size,
            nested=self.n_blocks == "nested",
            weights=self.weight_model,
            n_blocks=n_blocks,
            saver=search_saver(file, fit),
        )
        if self.n_blocks == "nested":
            self.levels_ = list(found.levels)
        self.objective_, self.interrupted_ = found.objective, found.interrupted
        self.description_lengths_: dict[tuple[int, ...], float] = {
            (k,): length for k, length in lengths.items()
        }
        self.description_length_ = found.length
        kept = graph_objective(found.objective, self.weight_model)
        final = objective_for(kept, data, self.score, engine)
        assert isinstance(final, BlockObjective)
        task = _SearchTask(final, (max(found.n_blocks, 1),), None, engine, callback)
        self.seconds_ = time.perf_counter() - began
        entropy = final.entropy(final.start((found.labels,), task.n_blocks))
        self._set_results(
            task,
            SearchResult(
                (found.labels,), entropy, found.history, not found.interrupted, found.interrupted
            ),
            optimal=found.locally_optimal,
        )
        if self.weight_model != COUNTS:
            topology = cell_data(data, found.objective)
            edges_only = cell_description_length(topology, found.labels)
            entropy += found.length - edges_only
            self._set_weights(data, found.labels, entropy)
        self.run_entropies_ = [entropy]

    def _set_weights(self, graph: Graph, labels: np.ndarray, entropy: float) -> None:
        """Set the attributes that real-valued weights change."""
        self.entropy_ = entropy
        self.block_weights_ = mean_weights(graph, labels)

    def _require_weights(self, data: Any) -> Graph:
        """Return the graph if its weights can have the model that was chosen."""
        if not isinstance(data, Graph):
            raise InputError(
                f"`weight_model={self.weight_model!r}` needs a graph in memory",
                remedy="leave it out for ratings and points",
            )
        weight_model(self.weight_model, data)  # raises if the weights are not possible
        if data.directed and self.objective not in DIRECTED:
            raise InputError(
                f"objective {self.objective!r} requires an undirected graph and this one is "
                "directed",
                remedy='use `objective="directed"`',
            )
        return data

    def sample(
        self,
        data: Graph | None = None,
        *,
        n_samples: int = 100,
        n_chains: int = 2,
        thin: int = 2,
        burn_in: int = 20,
        rng: RandomState = 0,
        engine: str | Engine = "local",
        callback: Callback = silent,
    ) -> PosteriorSamples:
        """Draw partitions from the posterior, to see how certain the blocks are.

        Each chain starts at the fitted blocks. Moves of single nodes and merges and splits of
        blocks are drawn with the probabilities of the model, exp(-description length); the number
        of blocks may change. Hierarchies cannot be sampled.

        Parameters
        ----------
        data : Graph, optional
            The graph that the model was fitted to. By default, the one that it holds.
        n_samples : int, default=100
            Number of samples per chain.
        n_chains : int, default=2
            Number of independent chains.
        thin : int, default=2
            Sweeps over all nodes between two samples.
        burn_in : int, default=20
            Sweeps before the first sample.
        rng : int, numpy.random.Generator or None, default=0
            Seed. The same seed gives the same samples for any number of threads.
        engine : str or Engine, default="local"
            Where the chains run: "local" or a `LocalEngine`.
        callback : callable, optional
            Called with a `Progress` after each sample.

        Returns
        -------
        PosteriorSamples
            The samples, with `marginals_`, `confidence_`, `block_counts_` and `r_hat_`.

        Raises
        ------
        InputError
            If the model is not fitted to this graph, or its objective has no posterior here.
        """
        for name, value in (("n_samples", n_samples), ("n_chains", n_chains), ("thin", thin)):
            if value < 1:
                raise InputError(f"invalid {name}: {value}", remedy="give at least 1")
        if data is None:
            data = getattr(self, "graph_", None)
        data = as_graph(data)
        if data is None or len(getattr(self, "labels_", ())) != data.n_nodes:
            raise InputError(
                "the model was not fitted to this graph", remedy="call fit with the same graph"
            )
        if self.n_blocks == "nested":
            raise InputError(
                "a hierarchy cannot be sampled", remedy='fit the model with `n_blocks="auto"`'
            )
        if self.objective_ not in KINDS:
            raise InputError(
                f'objective "{self.objective_}" cannot be sampled',
                remedy=f"use one of {', '.join(KINDS)}",
            )
        side = make_objective(graph_objective(self.objective_), data).sides[0]
        with running_engine(engine) as running:
            return draw_samples(
                KINDS[self.objective_],
                multigraph(side.indptr, side.indices),
                self.labels_,
                n_samples=n_samples,
                n_chains=n_chains,
                thin=thin,
                burn_in=burn_in,
                rng=as_generator(rng),
                engine=running,
                callback=callback,
            )

    def compile(
        self,
        data: Graph | Ratings | ShardedGraph | ShardedRatings | np.ndarray,
        engine: str | Engine = "local",
    ) -> None:
        """Compile the kernels that `fit(data)` needs, on a few nodes.

        Numba compiles a kernel on its first call and caches it on disk. Call this before `fit` to
        keep compilation out of a measured time.

        Parameters
        ----------
        data : Graph, Ratings, ShardedGraph, ShardedRatings or array of shape (n, n_features)
            The data that will be clustered. Only their kind matters.
        engine : str or Engine, default="local"
            The engine that `fit` will use.
        """
        tiny = type(self)(**{**self.get_params(), **_SMALLEST_FIT, "min_block_size": 0})
        tiny.n_blocks = self.n_blocks if self.n_blocks in ("auto", "nested") else 1
        tiny._fit(smallest_like(self._own_kind(data)), engine, silent, None, 10, False)

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
        return HardPredictor.of_blocks(self.user_labels_, self.item_labels_, ratings)

    def fit_predict(self, data: Graph | Ratings | np.ndarray, **options: Any) -> np.ndarray:
        """Cluster the data and return the labels.

        Parameters
        ----------
        data : Graph, Ratings or array of shape (n, n_features)
            The data that `objective` requires.
        **options
            Passed to `fit`.

        Returns
        -------
        ndarray of shape (n,), int32
            Block of each node; for ratings, of each user.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.GeneralizedKMeans(1).fit_predict(ct.Graph.from_edges([0, 1], [1, 2]))
        array([0, 0, 0], dtype=int32)
        """
        self.fit(data, **options)
        return self.labels_ if hasattr(self, "labels_") else self.user_labels_

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
        return (
            dict(zip(data.user_ids.tolist(), self.user_labels_.tolist(), strict=True)),
            dict(zip(data.item_ids.tolist(), self.item_labels_.tolist(), strict=True)),
        )

    def _own_kind(self, data: Any) -> Any:
        """Return a graph of another library as a `Graph`, for the objectives of graphs."""
        kind = OBJECTIVES.get(self.objective)
        if kind is not None and kind.data is not Graph:
            return data
        weighted = self.objective == "weighted" or self.weight_model != COUNTS
        return as_graph(data, weighted=weighted)

    def _choose_blocks(
        self,
        objective: Objective,
        fit: HardFitState,
        file: RunCheckpoint,
        engine: Engine,
        callback: Callback,
    ) -> tuple[tuple[int, ...], Labels | None]:
        """Return the numbers of blocks with the shortest description, and the first labels."""
        if fit.chosen is None:
            tried = auto_k.choose(
                objective,
                rng=fit.rng,
                engine=engine,
                min_block_size=self.min_block_size,
                callback=callback,
            )
            lengths = {c.n_blocks: c.description_length for c in tried}
            fit.chosen = ChosenBlocks(tried[0].n_blocks, tried[0].labels, lengths)
            save_fit(file, fit)
        self.description_lengths_ = fit.chosen.lengths
        return fit.chosen.n_blocks, fit.chosen.labels if self.search == "best" else None

    def _search(self, task: _SearchTask, fit: HardFitState, file: RunCheckpoint) -> bool:
        """Run the searches that are not finished; return whether Ctrl-C stopped them."""
        while len(fit.finished) < self.n_init:
            try:
                result, trace = self._run(task, fit, file)
                fit.finished.append(result)
                if result.interrupted:
                    # The last checkpoint stays: this state may be in the middle of an iteration.
                    return True
                save_fit(file, fit, trace)
            except KeyboardInterrupt:
                if not fit.finished:
                    raise
                return True
        return False

    def _run(
        self, task: _SearchTask, fit: HardFitState, file: RunCheckpoint
    ) -> tuple[SearchResult, PaperTrace | None]:
        """Run the search once, or continue the one that a checkpoint interrupted.

        The trace is the end of the run, from which it could go on (`search="paper"` only).
        """
        objective, n_blocks, start, engine, callback = task
        common: _SearchArguments = {
            "rng": fit.rng,
            "engine": engine,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "min_block_size": self.min_block_size,
            "callback": callback,
        }
        if self.search == "best":
            saver = search_saver(file, fit)
            return best.run(objective, n_blocks, start, saver=saver, **common), None

        def save_if_due(trace: PaperTrace) -> None:
            if file.due(len(trace.history)):
                save_fit(file, fit, trace)

        unfinished = fit.take_unfinished()
        if unfinished is not None:
            with file.errors():
                trace = unfinished.trace(objective, n_blocks)
        else:
            labels = start or paper.random_labels(
                objective.n_elements, n_blocks, fit.rng, self.min_block_size
            )
            trace = paper.begin(objective, n_blocks, labels)
        found = paper.run(objective, trace, alpha=self.alpha, after_iteration=save_if_due, **common)
        return found, trace

    def _set_results(
        self, task: _SearchTask, found: SearchResult, optimal: bool | None = None
    ) -> None:
        """Set the fitted attributes that describe the best clustering.

        `optimal` says whether it is locally optimal; None: check.
        """
        if self.connected and getattr(self, "graph_", None) is not None:
            task, joined = self._connect(task, found)
            if not np.array_equal(joined.labels[0], found.labels[0]):
                optimal = False if optimal is not None else None
            found = joined
        if len(found.labels) == 1:
            self.labels_ = found.labels[0]
        else:
            self.user_labels_, self.item_labels_ = found.labels
        objective = task.objective
        state = objective.start(found.labels, task.n_blocks)
        self.entropy_ = objective.entropy(state)
        self.history_: list[Iteration] = found.history
        self.converged_ = found.converged
        occupied = tuple(int((sizes > 0).sum()) for sizes in state.sizes)
        self.n_blocks_ = occupied[0] if len(occupied) == 1 else occupied
        if isinstance(objective, GaussianObjective):
            self.centers_ = objective.centers(state)
        if isinstance(objective, BlockObjective):
            blocks = block_summary(objective, state)
            self.block_edges_, self.block_pairs_ = blocks.edges, blocks.pairs
            self.block_probabilities_ = blocks.probabilities
        if optimal is not None:
            self.locally_optimal_ = optimal
            return
        self.locally_optimal_ = not found.interrupted and is_locally_optimal(
            objective, state, task.engine, self.min_block_size
        )
        if self.n_blocks == "auto" and isinstance(objective, BlockObjective):
            self.description_length_ = description_length_of_result(objective, found.labels)

    def _connect(self, task: _SearchTask, found: SearchResult) -> tuple[_SearchTask, SearchResult]:
        """Return the result with connected blocks."""
        objective = task.objective
        assert isinstance(objective, BlockObjective) and self.graph_ is not None
        name = getattr(self, "objective_", self.objective)

        def length(labels: np.ndarray) -> float:
            if name in MODELS:  # "communities" has a length of its own
                return description_length_of(name, objective.sides[0], labels)
            if name in DIRECTED:
                assert self.graph_ is not None
                return cell_description_length(cell_data(self.graph_, name), labels)
            return description_length_of_result(objective, (labels,))

        requested = None if self.n_blocks == "auto" else task.n_blocks[0]
        labels = connect(name, self.graph_, found.labels[0], requested, length)
        if requested is None:
            self.description_length_ = length(labels)
        count = max(int(labels.max(initial=-1)) + 1, requested or 1)
        return task._replace(n_blocks=(count,)), found._replace(labels=(labels,))

    def _fingerprint(self, data: Any) -> JsonObject:
        """Return what a checkpoint must agree with: the data and the parameters of the run."""
        free = _MAY_CHANGE_ON_RESUME if self.search == "paper" else ("rng",)
        given = {n: v for n, v in self.get_params().items() if n not in free}
        given["n_blocks"] = np.ravel(self.n_blocks).tolist()
        if not isinstance(self.init, str):
            given["init"] = digest(self.init if isinstance(self.init, tuple) else [self.init])
        seed = seed_name(self.rng)
        return {"model": type(self).__name__, "data": data_digest(data), "seed": seed, **given}
