"""MMSBM: mixed membership by exact EM (cl:alg3), without the k·l factor an observation."""

from __future__ import annotations

from typing import Any

from coterie.base.randomness import RandomState
from coterie.models.soft.base import SoftModel


class MMSBM(SoftModel):
    """Every node belongs to several groups, a little to each; exact expectation-maximisation.

    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [5, 1, 5, 1, 4])
    >>> model = ct.MMSBM(n_groups=2, max_iter=50, rng=0).fit(ratings)
    >>> model.user_memberships_.shape, model.theta_.shape
    ((3, 2), (2, 2, 3))
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
        absent_ratio: float = 0.0,
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
        self.absent_ratio = absent_ratio
        self.validation = validation
        self.patience = patience
        self.warm_start = warm_start
        self.rng = rng
