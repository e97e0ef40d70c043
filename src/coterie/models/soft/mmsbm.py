"""MMSBM and MCMMSBM: mixed membership by EM, exact or with sampled groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from coterie.base.randomness import RandomState
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
from coterie.models.soft.estimator import SoftModel


class MMSBM(SoftModel):
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
