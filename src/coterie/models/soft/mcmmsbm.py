"""MCMMSBM: mixed membership by Monte Carlo EM (Algorithm 3 of Prost & Yoon)."""

from __future__ import annotations

from typing import Any

from coterie.base.randomness import RandomState
from coterie.models.soft.mmsbm import MMSBM


class MCMMSBM(MMSBM):
    """Mixed-membership stochastic block model, fitted by Monte Carlo EM.

    The model is that of `MMSBM`. Instead of summing over all pairs of groups, an iteration draws
    `samples` pairs of groups per observation. The expected update equals the exact one up to
    O(1 / samples). Prefer `MMSBM` unless there are many groups: its exact update is usually faster.

    Parameters
    ----------
    n_groups : int or (int, int), default=10
        Number of user groups and of item groups, or one number for both. For a graph, the number
        of groups of nodes.
    samples : int, default=30
        Number of draws per observation (s in the paper). More draws make the update more accurate
        and slower.
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
        estimates their sums without bias from `absent_samples` draws per node, "ignored" learns
        from the weights of edges alone, "auto" is "exact" up to 5,000 nodes and "sampled" above.
    absent_samples : int, default=100
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
        Exact entropy S = -log likelihood of the training data in nats.
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
    MMSBM : The same model with the exact update.
    GeneralizedKMeans : Hard clustering: every node in one block.
    Recommender : Predictions, rankings and explanations from a fitted model.
    align : Match the groups of two runs.

    Notes
    -----
    An iteration costs O(|X| s) for |X| observations and s draws, plus one exact pass that computes
    the entropy for `history_`. The result is the state with the lowest exact entropy, because the
    entropy of a sampled update may also rise.

    References
    ----------
    .. [1] F. Prost and J. Yoon, "Parallel Clustering of Graphs for Anonymization and Recommender
       Systems", Algorithm 3.
    .. [2] A. Godoy-Lorite, R. Guimerà, C. Moore and M. Sales-Pardo, "Accurate and scalable social
       recommendation using mixed-membership stochastic block models", PNAS 113 (50), 2016.

    Examples
    --------
    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [5, 1, 5, 1, 4])
    >>> model = ct.MCMMSBM(n_groups=2, samples=10, max_iter=50, rng=0).fit(ratings)
    >>> model.theta_.shape
    (2, 2, 3)
    """

    samples: int

    # All parameters are repeated because scikit-learn's get_params reads this signature.
    def __init__(
        self,
        n_groups: int | tuple[int, int] = 10,
        *,
        samples: int = 30,
        max_iter: int = 500,
        tol: float = 1e-6,
        prior: float = 0.0,
        n_init: int = 1,
        init: Any = "random",
        absent: str = "auto",
        absent_samples: int = 100,
        negatives_per_rating: float = 0.0,
        validation: float = 0.0,
        patience: int = 10,
        warm_start: bool = False,
        rng: RandomState = 0,
    ) -> None:
        super().__init__(
            n_groups,
            max_iter=max_iter,
            tol=tol,
            prior=prior,
            n_init=n_init,
            init=init,
            absent=absent,
            absent_samples=absent_samples,
            negatives_per_rating=negatives_per_rating,
            validation=validation,
            patience=patience,
            warm_start=warm_start,
            rng=rng,
        )
        self.samples = samples

    def _samples_per_observation(self) -> int:
        return self.samples
