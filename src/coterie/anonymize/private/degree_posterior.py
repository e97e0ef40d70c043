"""Degrees from noisy answers: the degree distribution, and what is known of each node's degree.

Only noisy answers are used, so everything here is post-processing and costs no privacy.

    tail[d]    number of nodes with degree >= d; tail[0] = n and the last entry is 0
    counts[d]  number of nodes with degree d, as a smooth float
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

_TINY = 1e-300
# How far neighbouring counts differ: as counts of random events do, and by a share of the count.
# Chosen on ten networks; see "The draw" in docs/explanation/differential-privacy.md.
_SCATTER = 0.5  # of the variance of a Poisson number
_ROUGHNESS = 0.15
_STEEPNESS = 1.0  # additional difference of the counts of d and d + 1, times 1 / d
_WINDOW = 0.1  # counts are averaged over degrees that differ by at most this share
_SMOOTHING_ROUNDS = 3
_LARGEST = 0.75  # this many largest degrees, times the scale of the noise of the counts


def falling_fit(values: np.ndarray) -> np.ndarray:
    """Return the falling sequence with the least squared distance to `values`.

    The pool-adjacent-violators algorithm: neighbours in the wrong order are replaced by their
    mean, until none is left.

    >>> falling_fit(np.array([5.0, 1.0, 3.0, 0.0]))
    array([5., 2., 2., 0.])
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        mean, size = float(value), 1
        while means and means[-1] <= mean:
            mean = (mean * size + means[-1] * sizes[-1]) / (size + sizes[-1])
            size += sizes.pop()
            means.pop()
        means.append(mean)
        sizes.append(size)
    return np.repeat(np.array(means, np.float64), np.array(sizes, np.int64))


def join_plateaus(values: np.ndarray) -> np.ndarray:
    """Replace the steps of a falling sequence by straight lines between the middles of plateaus.

    >>> join_plateaus(np.array([4.0, 4.0, 4.0, 1.0, 1.0, 1.0]))
    array([4., 4., 3., 2., 1., 1.])
    """
    if not len(values):
        return values.astype(np.float64)
    start = np.r_[0, np.flatnonzero(np.diff(values)) + 1]
    end = np.r_[start[1:], len(values)]
    middle = (start + end - 1) / 2
    return np.asarray(np.interp(np.arange(len(values)), middle, values[start]))


def smooth_tail(noisy: np.ndarray, n_nodes: int, rate: float) -> np.ndarray:
    """Return the falling sequence N(1), N(2), … that explains its noisy values best.

    Minimises the squared distance to the noisy values, relative to the variance of the noise
    (discrete Laplace with `rate`), plus the squared differences of neighbouring counts
    N(d) - N(d + 1), relative to the variance that counts of this size have. Large counts at small
    degrees therefore stay as they are, and the sparse end of the distribution becomes smooth.
    """
    # Limits are applied to the result only: noise that is cut on one side has a bias
    values = noisy.astype(np.float64)
    fitted = join_plateaus(np.clip(falling_fit(values), 0, n_nodes))
    n = len(values)
    if n < 3:
        return fitted
    degree = np.arange(1, n + 1)
    first = np.maximum(degree - 1 - (_WINDOW * degree).astype(np.int64), 0)
    last = np.minimum(degree + (_WINDOW * degree).astype(np.int64), n)
    precision = rate**2 / 2
    for _ in range(_SMOOTHING_ROUNDS):
        running = np.r_[0.0, np.cumsum(-np.diff(np.r_[fitted, 0.0]))]
        count = np.maximum((running[last] - running[first]) / (last - first), 0.0)
        relative = _ROUGHNESS + _STEEPNESS / degree
        variance = _SCATTER * count + (relative * count) ** 2 + 1e-3
        weight = 1 / np.maximum(variance[:-2], variance[1:-1])
        bands = np.zeros((3, n))  # of the symmetric matrix: second, first and main diagonal
        bands[2] = precision
        for shift, factor in ((0, 1.0), (1, 4.0), (2, 1.0)):
            bands[2, shift : n - 2 + shift] += factor * weight
        bands[1, 1 : n - 1] -= 2 * weight
        bands[1, 2:n] -= 2 * weight
        bands[0, 2:n] += weight
        from scipy.linalg import solveh_banded  # here: loading it takes long

        fitted = np.clip(falling_fit(solveh_banded(bands, precision * values)), 0, n_nodes)
    return join_plateaus(fitted)


@dataclass(frozen=True, eq=False)
class DegreeDistribution:
    """The degree distribution of the original, estimated from noisy answers."""

    tail: np.ndarray  # float64: the expected number of nodes with degree >= d, for d = 0, 1, …
    largest: np.ndarray  # float64: the largest degrees, falling

    @classmethod
    def estimate(
        cls, n_nodes: int, tail_counts: np.ndarray, rate: float, largest: np.ndarray
    ) -> DegreeDistribution:
        """Estimate the distribution from the counts N(d), d = 1, 2, …, and the largest degrees.

        Both answers are noisy integers; `rate` is that of the noise of the counts. The largest
        degrees come from `largest`, as many as the noise of the counts would hide, the others
        from `tail_counts`.
        """
        n_largest = max(round(_LARGEST / rate), 1)
        tail = np.r_[float(n_nodes), smooth_tail(tail_counts, n_nodes, rate), 0.0]
        top = falling_fit(np.clip(largest, 0, max(n_nodes - 1, 0)).astype(np.float64))
        return cls(np.minimum.accumulate(tail), join_plateaus(top)[: min(n_largest, n_nodes)])

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return round(float(self.tail[0]))

    def sequence(self, shift: float) -> np.ndarray:
        """Return n degrees, falling: that of rank i is the largest d with N(d) > i + `shift`.

        `shift` in [0, 1) rounds the expected numbers of nodes up or down at random.
        """
        rank = np.arange(self.n_nodes) + shift
        degrees = np.searchsorted(-self.tail, -rank, side="left") - 1
        top = len(self.largest)
        degrees[:top] = np.rint(self.largest)
        return np.sort(np.maximum(degrees, 0))[::-1].astype(np.int64)

    @cached_property
    def counts(self) -> np.ndarray:
        """The expected number of nodes of each degree (float64), from 0 to the largest."""
        middle = self.sequence(0.5)
        top = len(self.largest)
        size = max(int(middle.max(initial=0)) + 1, len(self.tail))
        counts = np.zeros(size)
        np.add.at(counts, middle[:top], 1.0)
        smooth = -np.diff(np.r_[np.maximum(self.tail - top, 0.0), 0.0])
        counts[: len(smooth)] += smooth
        return counts


def posterior_means(noisy: np.ndarray, distribution: DegreeDistribution, rate: float) -> np.ndarray:
    """Return the expected degree of each node, given its noisy degree (float64[n]).

    The posterior is P(d | noisy) ~ counts[d] exp(-rate |noisy - d|).
    """
    counts = distribution.counts
    degree = np.arange(len(counts))
    _, below, above = _both_sides(noisy, counts, rate)
    _, below_sum, above_sum = _both_sides(noisy, counts * degree, rate)
    return np.asarray((below_sum + above_sum) / np.maximum(below + above, _TINY))


def sample_posterior(
    noisy: np.ndarray, distribution: DegreeDistribution, rate: float, rng: Generator
) -> np.ndarray:
    """Draw a degree of each node from its posterior (int64[n])."""
    counts = distribution.counts
    at, below, above = _both_sides(noisy, counts, rate)
    degree = np.arange(len(counts))
    # P(D <= d | D <= x) = L(d) e^(rate d) / (L(x) e^(rate x)), and the same from above.
    up = np.log(np.maximum(_discounted(counts, rate), _TINY)) + rate * degree
    down = np.log(np.maximum(_discounted(counts[::-1], rate)[::-1], _TINY)) - rate * degree
    up = np.maximum.accumulate(up)
    down = np.minimum.accumulate(down)
    is_below = rng.random(len(noisy)) * (below + above) < below
    level = np.log(np.maximum(rng.random(len(noisy)), _TINY))
    low = np.searchsorted(up, up[at] + level, side="left")
    start = down[np.minimum(at + 1, len(counts) - 1)]
    high = len(counts) - 1 - np.searchsorted(down[::-1], start + level, side="left")
    drawn = np.where(is_below, low, high)
    return np.asarray(np.clip(drawn, 0, len(counts) - 1), np.int64)


def _discounted(values: np.ndarray, rate: float) -> np.ndarray:
    """Return L with L(d) = sum over k <= d of values[k] exp(-rate (d - k))."""
    from scipy.signal import lfilter  # here: loading it takes long

    return np.asarray(lfilter([1.0], [1.0, -np.exp(-rate)], values))


def _both_sides(
    noisy: np.ndarray, values: np.ndarray, rate: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (x, sum over d <= x, sum over d > x) of values[d] exp(-rate |x - d|), per node.

    x is the noisy degree, moved to the nearest degree that is possible: beyond it the posterior
    does not change.
    """
    at = np.clip(noisy, 0, len(values) - 1).astype(np.int64)
    below = _discounted(values, rate)
    above = np.r_[_discounted(values[::-1], rate)[::-1], 0.0]
    return at, below[at], np.exp(-rate) * above[at + 1]
