"""MMSBM: mixed membership by exact EM (cl:alg3), without the k·l factor an observation."""

from __future__ import annotations

from typing import Any

from coterie.base.randomness import RandomState
from coterie.models.soft.estimator import SoftModel


class MMSBM(SoftModel):
    """Every node belongs to several groups, a little to each; exact EM (cl:alg3).

    Parameters
    ----------
    n_groups
        Groups of users and of items, or of nodes; one number for both.
    max_iter, tol
        At most so many iterations; fewer once the best entropy has not improved by `tol`
        (relative) for ten of them. `tol=0` runs them all.
    prior
        A pseudo-count on every membership and every cell of theta: Dirichlet(1 + prior), the
        update its mode. 0 is the paper's maximum likelihood.
    n_init
        Runs from different starts; the best is shown, all are in `runs_`.
    init
        "random"; labels of a hard clustering (one array for a graph, a pair for ratings, or a
        fitted clustering); or a fitted soft model of the same shape.
    absent
        Graphs: what becomes of absent pairs. "exact" visits all of them, "sampled" estimates
        their sums without bias from `absent_samples` draws a node, "auto" chooses by size (exact
        up to 5,000 nodes), "ignored" learns from the weights of the edges alone.
    negatives_per_rating
        Ratings: so many unrated pairs for each rating are observations of one more
        configuration, "not rated". `theta_` then sums to less than 1 over the values: what is
        missing is the probability of not being rated.
    validation, patience
        Ratings: this share is held out, and the fit stops when their entropy has not improved
        for `patience` iterations; the state that was best for them is kept.
    warm_start
        Begin where the last `fit` ended.
    rng
        A seed (0 included), a Generator, or None. The same seed gives the same floats for any
        number of threads.

    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [5, 1, 5, 1, 4])
    >>> model = ct.MMSBM(n_groups=2, max_iter=50, rng=0).fit(ratings)
    >>> model.user_memberships_.shape, model.theta_.shape
    ((3, 2), (2, 2, 3))
    >>> bool(model.entropy_ <= model.history_[0].entropy)
    True
    """

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
        absent_samples: int = 100,
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
        self.absent_samples = absent_samples
        self.negatives_per_rating = negatives_per_rating
        self.validation = validation
        self.patience = patience
        self.warm_start = warm_start
        self.rng = rng
