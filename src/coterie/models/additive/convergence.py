"""Decide when more samples would not improve the predictions of a fit.

The chains are independent, so the variance between their mean predictions, divided by the number
of chains, estimates the squared error that comes from averaging finitely many samples. More samples
reduce only this part of the error. No ratings are held back for it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from coterie.data.negatives import are_in
from coterie.kernels.additive.predict import Samples, distributions
from coterie.models.additive.chains import Observed, stack_samples

_MAX_PAIRS = 2000


class SamplingError:
    """The share of the squared error of predictions that is due to the number of samples.

    Predictions are compared on unrated pairs, drawn so that users are as active and items as
    popular as in the ratings.
    """

    def __init__(self, observed: Observed, values: np.ndarray, key: int) -> None:
        self.values = values
        self.users, self.items = _unrated_pairs(observed, np.random.default_rng(key))
        self.rounds = 0
        self.means = np.zeros(0)  # chains x pairs: sums of expected ratings over rounds
        self.noise = 0.0  # sum over rounds of the mean variance of a predicted distribution

    def add(self, samples: Sequence[Samples]) -> None:
        """Add one round: a sample of each chain."""
        p = np.array(
            [
                distributions(stack_samples([one]), self.users, self.items, 0, len(self.users))
                for one in samples
            ]
        )
        expected = p @ self.values
        if not self.rounds:
            self.means = np.zeros_like(expected)
        self.means += expected
        self.noise += float((p @ self.values**2 - expected**2).mean())
        self.rounds += 1

    def share(self) -> float:
        """Return the share; infinite with fewer than two chains or two rounds."""
        if self.rounds < 2 or len(self.means) < 2:
            return np.inf
        means = self.means / self.rounds
        variance = float(means.var(axis=0, ddof=1).mean()) / len(means)
        return variance / max(self.noise / self.rounds, 1e-12)


def _unrated_pairs(observed: Observed, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return users and items of unrated pairs in user order; of any pairs if all are rated."""
    n = len(observed.level)
    users = observed.users[rng.integers(0, n, 2 * _MAX_PAIRS)]
    items = observed.items[rng.integers(0, n, 2 * _MAX_PAIRS)]
    rated = observed.users * observed.n_items + observed.items
    unrated = np.flatnonzero(~are_in(users * observed.n_items + items, rated))
    chosen = (unrated if len(unrated) else np.arange(len(users)))[:_MAX_PAIRS]
    order = chosen[np.argsort(users[chosen], kind="stable")]
    return users[order], items[order]
