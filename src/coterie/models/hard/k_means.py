"""Generalized k-means: hard clustering of graphs, ratings and points, number of blocks given."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from coterie.base.errors import InputError
from coterie.base.randomness import RandomState
from coterie.data import Graph, Ratings
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
)
from coterie.models.hard.clustering import ClusteringFacts, FitJob, HardClustering
from coterie.models.hard.costs import OBJECTIVES
from coterie.models.hard.search import SEARCH_PARAMETERS
from coterie.models.hard.validation import check_memory, require_number_of_blocks

_POINTS_START = "The result is the best of ten descents from random labels"


class GeneralizedKMeans(HardClustering):
    """Hard clustering of graphs, ratings and points with a given number of blocks.

    Every node is assigned to exactly one block such that the entropy S, the negative
    log-likelihood of the data given the blocks, is as low as possible. Nodes of one block have
    similar neighbours; a block need not be densely connected inside. With ``objective="gaussian"``
    this is k-means. `BlockModel` chooses the number of blocks itself.

    Parameters
    ----------
    n_blocks : int or tuple of (int, int), default=10
        Number of blocks. For ratings one number for users and items, or a tuple
        ``(user blocks, item blocks)``.
    objective : str, default="simple"
        The model of the data. For a `Graph`: ``"simple"`` (undirected, unweighted),
        ``"degree-corrected"`` (Karrer & Newman, 2011), ``"directed"`` or ``"weighted"`` (weights
        are counts). For `Ratings`: ``"ratings"`` (one distribution over rating levels per cell),
        ``"binomial"`` or ``"likes"`` (which pairs occur, whatever the rating). For an array of
        points: ``"gaussian"``.
    search : {"best", "paper"}, default="best"
        ``"best"`` merges single nodes, moves them and perturbs the result; it reaches the lowest
        entropies. ``"paper"`` is Generalized k-means from random labels (Algorithm 4 of Prost &
        Yoon); use it for data that do not fit into one process, and to compare with the paper.
    move_score : {"auto", "exact", "fixed"}, default="auto"
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
        adjacent parts are merged again to the requested number of blocks. There are more blocks
        only if the graph has more components.
    rng : int, numpy.random.Generator or None, default=0
        Seed. The same seed gives the same result for any number of threads. None uses fresh
        entropy from the operating system.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32, or a pair of them
        Block of each node or point; for ratings the blocks of the users and those of the items.
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
    history_ : list of Iteration
        ``iteration``, ``seconds``, ``entropy`` and ``moved`` of each iteration of the best run.
    run_entropies_ : list of float
        Entropy of each run.
    converged_ : bool
        Whether the search stopped by itself rather than at `max_iter`.
    locally_optimal_ : bool
        Whether no single move lowers S, verified by a pass over all nodes.
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
    BlockModel : The number of blocks, a hierarchy or the model is chosen by description length.
    MMSBM : Soft clustering, each node with a distribution over groups.
    Anonymizer : Publish a graph that is drawn from the blocks of another.

    References
    ----------
    F. Prost and J. Yoon. Parallel Clustering of Graphs for Anonymization and Recommender Systems.

    B. Karrer and M. E. J. Newman. Stochastic blockmodels and community structure in networks.
    Physical Review E 83, 016107, 2011.

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

    declaration = Declaration(
        name="hard",
        assumptions={
            DataKind.GRAPH: OBJECTIVES["simple"].assumption,
            DataKind.RATINGS: OBJECTIVES["ratings"].assumption,
            DataKind.POINTS: OBJECTIVES["gaussian"].assumption,
        },
        parameters={
            "n_blocks": Pair(Integer(1)),
            "objective": OneOf(*OBJECTIVES),
            **SEARCH_PARAMETERS,
            "init": Anything('"random", or one label per node'),
            "n_init": Integer(1),
            "min_block_size": Integer(0),
            "connected": Flag(),
            "rng": SEED,
        },
        abilities=frozenset({Ability.PREDICT, Ability.CHECKPOINT, Ability.SHARDS, Ability.CLUSTER}),
        option_names={"n_blocks": "groups", "max_iter": "iterations", "n_init": "runs"},
        renamed={"score": "move_score"},
        removed=frozenset({"weight_model"}),
        groups=Groups.BLOCKS,
    )
    _SMALLEST: ClassVar[dict[str, Any]] = {
        "n_blocks": 1,
        "max_iter": 1,
        "n_init": 1,
        "init": "random",
        "min_block_size": 0,
        "rng": 0,
    }

    def __init__(
        self,
        n_blocks: int | tuple[int, int] = 10,
        *,
        objective: str = "simple",
        search: str = "best",
        move_score: str = "auto",
        alpha: float = 0.1,
        max_iter: int = 300,
        tol: float = 1e-6,
        init: str | np.ndarray | tuple[np.ndarray, ...] = "random",
        n_init: int = 1,
        min_block_size: int = 0,
        connected: bool = False,
        rng: RandomState = 0,
    ) -> None:
        self.n_blocks = n_blocks
        self.objective = objective
        self.search = search
        self.move_score = move_score
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.min_block_size = min_block_size
        self.connected = connected
        self.rng = rng

    def check_parameters(self) -> None:
        """Raise InputError for a parameter that is invalid or does not fit the others."""
        require_number_of_blocks(self.n_blocks, self.objective)
        super().check_parameters()
        if self.connected and self.min_block_size > 0:
            raise InputError(
                "`connected` blocks cannot have a minimum size",
                remedy="leave out `min_block_size` or `connected`",
            )

    def assumptions(self, data: Graph | Ratings | np.ndarray) -> list[str]:
        return [OBJECTIVES[self.objective].assumption, self._start_sentence()]

    def facts(self) -> ClusteringFacts:
        return ClusteringFacts(
            model=self.objective,
            model_chosen=False,
            blocks_chosen=False,
            description_length=None,
            minimised_length=False,
            levels=(),
            counts_weights=self.objective == "weighted",
            merges_first=self.search == "best",
        )

    def _start_sentence(self) -> str:
        other_seed = "another seed can give a slightly different result"
        if not isinstance(self.init, str):
            start = "The result comes from a search that began with the given labels"
        elif self.search == "paper":
            number = "one random start" if self.n_init == 1 else f"{self.n_init} random starts"
            number = number if self.n_init == 1 else f"the best of {number}"
            start = f"The result comes from {number}"
        elif self.objective == "gaussian":
            start = _POINTS_START
        else:
            start = merging_start(self.n_init)
        return f"{start}; {other_seed}."

    def _data_type(self) -> type:
        known = OBJECTIVES.get(self.objective)
        return Graph if known is None else known.data

    def _edge_model(self) -> str:
        return self.objective

    def _check_cluster(self) -> None:
        if self.objective == "gaussian":
            raise InputError(
                "objective 'gaussian' runs on one machine only", remedy='use `engine="local"`'
            )

    def _prepare(self, job: FitJob) -> None:
        (n, *_) = job.objective.n_elements
        if self._data_type() is np.ndarray and isinstance(self.n_blocks, int) and n < self.n_blocks:
            raise InputError(
                f"{self.n_blocks} blocks are more than the points: n_samples={n}",
                remedy=f"ask for at most {n} blocks" if n else None,
            )
        job.set_blocks(self.n_blocks, self.init, self.min_block_size)
        check_memory(job.objective, job.n_blocks, self.search, job.engine.threads)

    def _search(self, job: FitJob) -> None:
        self._minimise_entropy(job, job.n_blocks, job.start)


def merging_start(n_init: int) -> str:
    """Say where `search="best"` and the shortest description start.

    >>> merging_start(1)
    'The search began with every node in a block of its own and made random choices'
    """
    start = "The search began with every node in a block of its own and made random choices"
    return start if n_init == 1 else f"{start}; the result is the best of {n_init} runs"
