"""Generalized k-means: hard clustering of graphs, ratings and points (cl:alg5)."""

from __future__ import annotations

import time
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine, running_engine
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.base import Estimator
from coterie.models.data_digest import data_digest, digest
from coterie.models.hard.checkpoint import Keeper, seed_name
from coterie.models.hard.objectives import make_objective
from coterie.models.hard.objectives.interface import Labels
from coterie.models.hard.objectives.sharded import ShardedObjective, place, sharded
from coterie.models.hard.results import describe, no_move_helps
from coterie.models.hard.search import SearchResult, auto_k, best, paper
from coterie.models.hard.validation import block_counts, check_options, check_saving, given_labels

_NOT_PART_OF_THE_RUN = ("max_iter", "tol", "rng")
_TINY = 6  # nodes of the graph that the kernels are compiled on


class GeneralizedKMeans(Estimator):
    """Hard clustering: every element in one block, the entropy S = -log likelihood made small.

    Parameters
    ----------
    n_blocks : how many blocks, "auto", or (users, items) for two node sets
    objective : "simple", "degree-corrected", "directed", "weighted" (Graph); "ratings", "binomial",
        "likes" (Ratings); "gaussian" (array of points)
    search : "paper" is Generalized k-means from a random start; "best" the lowest S we can reach
    score : "exact" (the change of S), "fixed" (the paper's approximation, theta held fixed), or
        "auto": fixed for Gaussian points, where it is Lloyd's k-means, exact for all others
    alpha : the share of the elements that an iteration of the paper's search looks at
    max_iter, tol : at most so many iterations; stop when about 1/alpha of them have not lowered
        the best S by `tol` (relative). tol=0 runs all
    init : "random", or labels of your own (two arrays for two node sets)
    n_init : starts; the best result is kept
    min_block_size : no block of the result is smaller
    rng : seed (0 included), Generator or None

    Learnt
    ------
    labels_ (user_labels_, item_labels_ for two node sets), entropy_, n_blocks_ (non-empty),
    history_ (entropy after each iteration's moves), converged_, locally_optimal_ (a full pass
    found no single move that lowers S), interrupted_, seconds_ (the search alone),
    run_entropies_ (one a
    start), block_edges_, block_pairs_, block_probabilities_ (graphs, ratings), centers_ (points),
    description_lengths_ (n_blocks="auto": nats by the numbers of blocks that were tried)

    >>> g = Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
    >>> m = GeneralizedKMeans(2, n_init=5, rng=0).fit(g)
    >>> bool(m.labels_[0] == m.labels_[2] != m.labels_[3] == m.labels_[5])
    True
    >>> m.block_edges_.astype(int).tolist(), m.locally_optimal_
    ([[3, 1], [1, 3]], True)
    """

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
        """Cluster. Ctrl-C keeps the best labels so far and sets `interrupted_`.

        With `checkpoint` the paper's search is saved to that file every few iterations; with
        `resume` it goes on from there, to the same numbers as if it had never stopped.
        """
        check_options(self)
        keeper = Keeper(as_generator(self.rng))
        if checkpoint is not None:
            check_saving(self, checkpoint_every)
            keeper = Keeper(keeper.rng, checkpoint, checkpoint_every, self._fingerprint(data))
        if resume:
            keeper.load()
        if isinstance(data, ShardedRatings):
            data = data.load()  # both node sets need their rows, and shards have the users' only
        if isinstance(data, Ratings):
            self.ratings_ = data  # a Recommender of this model needs the names
        score = None if self.score == "auto" else self.score
        with running_engine(engine) as running:
            objective = place(self.objective, data, score, running)
            auto = self.n_blocks == "auto"
            if not auto:
                counts = block_counts(self.n_blocks, objective.n_elements, self.min_block_size)
                start = given_labels(self.init, objective.n_elements, counts, self.min_block_size)
            callback(Progress("compiling", 0))
            self._compile(objective)
            began = time.perf_counter()
            if auto:
                counts, start = self._choose(objective, keeper.rng, running, callback)
            runs = self._runs(objective, counts, start, keeper, running, callback)
            self.seconds_ = time.perf_counter() - began
            chosen = min(runs, key=lambda run: run.entropy)
            self.interrupted_ = runs[-1].interrupted
            callback(Progress("checking", 0, entropy=chosen.entropy))
            self._keep(objective, chosen, counts, running)
        self.run_entropies_ = [run.entropy for run in runs]
        return self

    def fit_predict(self, data: Graph | Ratings | np.ndarray, **options: Any) -> np.ndarray:
        """Fit and give the labels; of two node sets those of the rows (users)."""
        self.fit(data, **options)
        return self.labels_ if hasattr(self, "labels_") else self.user_labels_

    def labels_by_id(self, data: Graph | Ratings) -> dict[Any, int] | tuple[dict[Any, int], ...]:
        """The block of every node by the name the user gave it; two dictionaries for ratings.

        >>> g = Graph.from_edges([0], [1], ids=np.array(["ann", "bob"]))
        >>> GeneralizedKMeans(1).fit(g).labels_by_id(g)
        {'ann': 0, 'bob': 0}
        """
        if isinstance(data, Graph):
            return dict(zip(data.ids.tolist(), self.labels_.tolist(), strict=True))
        return (
            dict(zip(data.user_ids.tolist(), self.user_labels_.tolist(), strict=True)),
            dict(zip(data.item_ids.tolist(), self.item_labels_.tolist(), strict=True)),
        )

    def _choose(
        self, objective: Any, rng: Generator, engine: Engine, callback: Callback
    ) -> tuple[tuple[int, ...], Labels | None]:
        """The number of blocks with the shortest description, and where the search starts."""
        least = self.min_block_size
        tried = auto_k.choose(
            objective, rng=rng, engine=engine, min_block_size=least, callback=callback
        )
        self.description_lengths_ = {c.n_blocks: c.description_length for c in tried}
        return tried[0].n_blocks, tried[0].labels if self.search == "best" else None

    def _runs(
        self,
        objective: Any,
        counts: tuple[int, ...],
        start: Labels | None,
        keeper: Keeper,
        engine: Engine,
        callback: Callback,
    ) -> list[SearchResult]:
        runs = keeper.finished
        while len(runs) < self.n_init and not (runs and runs[-1].interrupted):
            try:
                keeper.add(self._run(objective, counts, start, keeper, engine, callback))
            except KeyboardInterrupt:
                if not runs:
                    raise
                best_yet = min(runs, key=lambda run: run.entropy)
                keeper.add(best_yet._replace(interrupted=True))
        return runs

    def _run(
        self,
        objective: Any,
        counts: tuple[int, ...],
        start: Labels | None,
        keeper: Keeper,
        engine: Engine,
        callback: Callback,
    ) -> SearchResult:
        common: dict[str, Any] = {
            "rng": keeper.rng,
            "engine": engine,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "min_block_size": self.min_block_size,
            "callback": callback,
        }
        if self.search == "best":
            return best.run(objective, counts, start, **common)
        trace = keeper.resumed(objective, counts)
        if trace is None:
            sizes, least = objective.n_elements, self.min_block_size
            labels = start or paper.random_labels(sizes, counts, keeper.rng, least)
            trace = paper.begin(objective, counts, labels)
        return paper.run(objective, trace, alpha=self.alpha, each=keeper.each, **common)

    def _fingerprint(self, data: Any) -> dict[str, Any]:
        """What a checkpoint must agree with; iterations and tol may change on the way."""
        given = {n: v for n, v in self.get_params().items() if n not in _NOT_PART_OF_THE_RUN}
        given["n_blocks"] = np.ravel(self.n_blocks).tolist()
        if not isinstance(self.init, str):
            given["init"] = digest(self.init if isinstance(self.init, tuple) else [self.init])
        seed = seed_name(self.rng)
        return {"model": type(self).__name__, "data": data_digest(data), "seed": seed, **given}

    def _compile(self, objective: Any) -> None:
        """Have Numba compile what the search will run; every block model shares its kernels."""
        if objective.name == "gaussian":
            tiny = make_objective("gaussian", np.arange(_TINY * 1.0)[:, None], objective.score)
        else:
            ring = np.arange(_TINY)
            tiny = make_objective("simple", Graph.from_edges(ring, (ring + 1) % _TINY))
            tiny.score = objective.score
        with LocalEngine(1) as engine:
            if isinstance(objective, ShardedObjective):
                tiny = sharded(tiny, engine)
            few = type(self)(**{**self.get_params(), "max_iter": 1, "min_block_size": 0})
            if self.n_blocks == "auto":
                few._choose(tiny, np.random.default_rng(0), engine, silent)
            keeper = Keeper(np.random.default_rng(0))
            found = few._run(tiny, (2,), None, keeper, engine, silent)
            few._keep(tiny, found, (2,), engine)

    def _keep(
        self, objective: Any, found: SearchResult, counts: tuple[int, ...], engine: Engine
    ) -> None:
        if len(found.labels) == 1:
            self.labels_ = found.labels[0]
        else:
            self.user_labels_, self.item_labels_ = found.labels
        state = objective.start(found.labels, counts)
        self.entropy_: float = objective.entropy(state)
        self.history_: list[Iteration] = found.history
        self.converged_ = found.converged
        occupied = tuple(int((sizes > 0).sum()) for sizes in state.sizes)
        self.n_blocks_ = occupied[0] if len(occupied) == 1 else occupied
        for name, value in describe(objective, state).items():
            setattr(self, name, value)
        self.locally_optimal_ = not found.interrupted and no_move_helps(
            objective, state, engine, self.min_block_size
        )
