"""MCMMSBM: mixed membership by Monte-Carlo EM (cl:alg4)."""

from __future__ import annotations

from typing import Any

from coterie.base.randomness import RandomState
from coterie.models.soft.mmsbm import MMSBM


class MCMMSBM(MMSBM):
    """MMSBM whose update is drawn: `samples` pairs of groups an observation (cl:alg4).

    Its expected update is the exact one up to O(1/s). `history_` holds the exact entropy of each
    state, which takes a pass of its own. See docs/soft.md for when it pays.

    Parameters
    ----------
    samples
        Draws for each observation (s in the paper). All others are those of `MMSBM`.

    >>> import coterie as ct
    >>> ratings = ct.Ratings.from_arrays([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], [5, 1, 5, 1, 4])
    >>> model = ct.MCMMSBM(n_groups=2, samples=10, max_iter=50, rng=0).fit(ratings)
    >>> model.theta_.shape
    (2, 2, 3)
    """

    samples: int

    # Every name stands here because scikit-learn's get_params reads this signature.
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
