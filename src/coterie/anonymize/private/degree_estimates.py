"""Degrees from noisy answers: their distribution, that of each node, and assortativity.

Only noisy answers are used, so everything here is post-processing and costs no privacy.

    tail[d]    number of nodes with degree >= d; tail[0] = n and the last entry is 0
    counts[d]  number of nodes with degree d, as a smooth float

Assortativity comes from the edges between bins of noisy degrees, so the matrix is blurred: a node
of degree 30 may be in the bin of 50. The law of the noise is public, so the blur can be removed
(Richardson-Lucy deconvolution).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

_TINY = 1e-300
# How far neighbouring counts differ: as counts of random events do, and by a share of the count.
# Chosen on ten networks.
_SCATTER = 0.5  # of the variance of a Poisson number
_ROUGHNESS = 0.15
_STEEPNESS = 1.0  # additional difference of the counts of d and d + 1, times 1 / d
_WINDOW = 0.1  # counts are averaged over degrees that differ by at most this share
_SMOOTHING_ROUNDS = 3
# The largest degrees: how many, relative to the noise of the counts, and their distribution
_EXTREMES = 1.5  # standard deviations of the noise: fewer nodes than this are hidden by it
_SHAPES = (-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5)  # of a generalised Pareto distribution
_N_SCALES = 30
_OUTLIERS = 0.75  # this many degrees, times the scale of the noise, may leave the distribution
_CAUTION = 2.0  # … if their squares exceed those of the noise by more than this factor
_SUM_ROUNDS = 8  # of moving degrees until they have their sum; rounding leaves a few ends
# Deconvolution of the edges between bins of degrees
_FEWEST_ROUNDS, _MOST_ROUNDS = 10, 300
_ROUNDS_PER_SIGNAL = 4  # further rounds would reproduce the noise of the cells
EXTRA_BINS = 2  # bins of true degrees, in addition to those of noisy degrees
_FEWEST_ENDS = 1e-12  # instead of 0, where something is divided by ends


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
        from scipy.linalg import LinAlgError, solveh_banded  # here: loading it takes long

        try:
            smooth = solveh_banded(bands, precision * values)
        except LinAlgError:  # next to this much noise, the observations have no weight
            break
        fitted = np.clip(falling_fit(smooth), 0, n_nodes)
    return join_plateaus(fitted)


def largest_degrees(
    tail: np.ndarray, counts: np.ndarray, rate: float, largest: np.ndarray, largest_rate: float
) -> np.ndarray:
    """Return the expected largest degrees, falling, given noisy counts and noisy degrees.

    `tail` is the smooth N(0), N(1), …, and `counts` the noisy N(1), N(2), …; `largest` are the
    noisy largest degrees. The degrees above a threshold follow a generalised Pareto distribution,
    as those above a high threshold do in most distributions. Its scale and shape have a
    posterior, with the exact laws of the noise; the result is the mean over it. If the first noisy
    degrees are further from this mean than noise explains, the result moves towards them.
    """
    n = round(float(tail[0]))
    count = min(max(round(_EXTREMES * np.sqrt(2) / rate), 4), len(largest), max(n // 4, 1))
    # The threshold is the last degree that more than `count` nodes reach
    threshold = max(int(np.searchsorted(-tail, -(count + 0.5), side="right")) - 1, 0)
    above = max(float(tail[threshold]), 1.0)
    rank = np.arange(count) + 0.5
    excess = np.arange(threshold + 1, len(counts) + 1) - threshold
    scale = np.geomspace(0.5, max(n - 1.0 - threshold, 1.0), _N_SCALES)
    rows, degree_rows = [], []
    for shape in _SHAPES:  # one row per scale
        expected = np.clip(
            threshold + scale[:, None] * _pareto(above / rank, shape)[None, :], 0, n - 1
        )
        misfit = np.abs(
            counts[threshold:] - above * _reached(excess[None, :] / scale[:, None], shape)
        ).sum(1)
        rows.append(-rate * misfit - largest_rate * np.abs(largest[:count] - expected).sum(1))
        degree_rows.append(expected)
    logs = np.concatenate(rows)
    weight = np.exp(logs - logs.max())
    mean = weight @ np.concatenate(degree_rows) / weight.sum()
    first = min(max(round(_OUTLIERS / rate), 1), count)
    observed = join_plateaus(falling_fit(np.clip(largest, 0, n - 1).astype(np.float64)))[:first]
    explained = _CAUTION * first * 2 / largest_rate**2
    squares = float(np.square(largest[:first] - mean[:first]).sum())
    mean[:first] += max(1.0 - explained / max(squares, _TINY), 0.0) * (observed - mean[:first])
    return np.asarray(np.minimum.accumulate(mean))


def _pareto(times: np.ndarray, shape: float) -> np.ndarray:
    """Return the excess, in units of the scale, that one in `times` exceeds."""
    return np.log(times) if shape == 0 else (times**shape - 1) / shape


def _reached(excess: np.ndarray, shape: float) -> np.ndarray:
    """Return the probability of an excess, in units of the scale: the inverse of `_pareto`."""
    if shape == 0:
        return np.asarray(np.exp(-excess))
    base = np.maximum(1 + shape * excess, 0.0)
    powers = np.power(base, -1 / shape, out=np.zeros(base.shape), where=base > 0)
    return np.asarray(powers)


@dataclass(frozen=True, eq=False)
class DegreeDistribution:
    """The degree distribution of the original, estimated from noisy answers."""

    tail: np.ndarray  # float64: the expected number of nodes with degree >= d, for d = 0, 1, …
    largest: np.ndarray  # float64: the largest degrees, falling

    @classmethod
    def estimate(
        cls,
        n_nodes: int,
        tail_counts: np.ndarray,
        rate: float,
        largest: np.ndarray,
        largest_rate: float,
    ) -> DegreeDistribution:
        """Estimate the distribution from the counts N(d), d = 1, 2, …, and the largest degrees.

        Both answers are noisy integers, with noise of these rates. The largest degrees, as many
        as the noise of the counts would hide, follow from both answers, the others from
        `tail_counts`.
        """
        tail = np.r_[float(n_nodes), smooth_tail(tail_counts, n_nodes, rate), 0.0]
        tail = np.minimum.accumulate(tail)
        return cls(tail, largest_degrees(tail, tail_counts, rate, largest, largest_rate))

    def with_sum(self, total: float, rate: float, largest_rate: float) -> DegreeDistribution:
        """Return a distribution close to this one whose degrees sum to about `total`.

        The sum is known much more exactly than its parts, from the number of edges. What is
        missing is divided between the largest degrees and the counts below them, in proportion to
        the variances of both sums, as the noise explains them (`rate` and `largest_rate`). A
        largest degree is known from its own answer, and from the counts: these are wrong by some
        ranks, and the degrees of neighbouring ranks differ little in narrow distributions. A count
        moves by a few nodes, and a largest degree by a few neighbours, in place of one neighbour
        at many nodes of low degree.
        """
        tail, largest = self.tail.copy(), self.largest.copy()
        n, top = self.n_nodes, len(largest)
        limit = max(n - 1.0, 0.0)
        for _ in range(_SUM_ROUNDS):
            found = DegreeDistribution(tail, largest)
            missing = total - float(found.sequence(0.5).sum())
            counted = int(np.count_nonzero(tail[1:] > top))
            per_rank = (largest[0] - largest[-1]) / top if top else 0.0
            in_counts = 2 * counted / rate**2
            in_largest = 2 * top * min(1 / largest_rate, per_rank / rate) ** 2
            if abs(missing) < 1 or in_counts + in_largest == 0:
                return found
            part = missing * in_counts / (in_counts + in_largest)
            if counted:
                moved = np.clip(tail[1 : counted + 1] + part / counted, top, n)
                tail[1 : counted + 1] = np.minimum.accumulate(moved)
            if top:
                largest = np.clip(largest + (missing - part) / top, counted, limit)
        return DegreeDistribution(tail, largest)

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
    factor = float(np.exp(-rate))  # not with scipy.signal: loading it takes longer than this
    return np.fromiter(accumulate(values.tolist(), lambda sum_, v: v + factor * sum_), float)


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


class BinnedEnds(NamedTuple):
    """The edges between bins of true degrees, as estimated: ends are counted, so edges twice."""

    thresholds: np.ndarray  # int64: the bin of degree d is the number of thresholds <= d
    edges: np.ndarray  # float64[bins, bins]: symmetric
    assortativity: float


def equal_end_thresholds(degrees: np.ndarray, n_bins: int) -> np.ndarray:
    """Return thresholds that divide the nodes into bins with equal sums of max(degree, 1).

    Nodes of equal degree stay together, so there may be fewer than `n_bins` bins.

    >>> equal_end_thresholds(np.array([1, 1, 1, 1, 4, 8]), 4)
    array([4, 8])
    """
    if not len(degrees):
        return np.empty(0, np.int64)
    ordered = np.sort(degrees).astype(np.int64)
    ends = np.cumsum(np.maximum(ordered, 1))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, n_bins) / n_bins)
    thresholds = np.unique(ordered[cuts])
    return np.asarray(thresholds[thresholds > ordered[0]])


def blur(
    degrees: np.ndarray, thresholds: np.ndarray, noisy_thresholds: np.ndarray, rate: float
) -> np.ndarray:
    """Return C[b, c] = P(the noisy degree is in bin c | the true degree is in bin b).

    An end of an edge is drawn at random from those in bin b. The noise is discrete Laplace,
    P(z) ~ exp(-rate |z|).
    """
    values, counts = np.unique(degrees, return_counts=True)
    reached = _at_least(noisy_thresholds[None, :] - values[:, None], rate)
    reached = np.c_[np.ones(len(values)), reached, np.zeros(len(values))]
    inside = reached[:, :-1] - reached[:, 1:]
    bins = np.searchsorted(thresholds, values, side="right")
    ends = np.maximum(values * counts, _FEWEST_ENDS)
    weight = np.zeros((len(thresholds) + 1, len(values)))
    weight[bins, np.arange(len(values))] = ends
    return np.asarray(weight @ inside / np.maximum(weight.sum(1, keepdims=True), _FEWEST_ENDS))


def _at_least(z: np.ndarray, rate: float) -> np.ndarray:
    """Return P(noise >= z) of the discrete Laplace distribution."""
    q = np.exp(-rate)
    positive = np.exp(-rate * np.maximum(z, 0)) / (1 + q)
    negative = 1 - np.exp(-rate * np.maximum(1 - z, 1)) / (1 + q)
    return np.asarray(np.where(z > 0, positive, negative))


def n_rounds(n_edges: int, n_bins: int, rate: float) -> int:
    """Return the number of rounds: more, the larger a mean cell is relative to its noise.

    >>> n_rounds(15_000, 24, 0.05), n_rounds(200_000, 24, 0.05)
    (25, 300)
    """
    signal = rate * n_edges / (n_bins * (n_bins + 1) / 2)
    return int(np.clip(_ROUNDS_PER_SIGNAL * signal**2, _FEWEST_ROUNDS, _MOST_ROUNDS))


def deconvolve(
    blurred: np.ndarray, blur_matrix: np.ndarray, ends: np.ndarray, rounds: int
) -> np.ndarray:
    """Return the symmetric matrix J >= 0 with row sums `ends` and C' J C close to `blurred`.

    Each round multiplies J by the ratio of the blurred matrix to the prediction, averaged over the
    noisy bins that a true bin reaches, and then restores the row sums.
    """
    total = max(float(ends.sum()), _FEWEST_ENDS)
    edges = np.outer(ends, ends) / total
    for _ in range(rounds):
        predicted = blur_matrix.T @ edges @ blur_matrix
        edges = edges * (
            blur_matrix @ (blurred / np.maximum(predicted, _FEWEST_ENDS)) @ blur_matrix.T
        )
        edges = (edges + edges.T) / 2
        factor = np.sqrt(ends / np.maximum(edges.sum(1), _FEWEST_ENDS))
        edges = edges * factor[:, None] * factor[None, :]
    return np.asarray(edges)


def estimate_assortativity(
    degrees: np.ndarray,
    bin_edges: np.ndarray,
    noisy_thresholds: np.ndarray,
    rate: float,
    n_bins: int,
    rounds: int,
) -> BinnedEnds:
    """Estimate the edges between bins of true degrees, and the assortativity.

    `degrees` is the estimated degree sequence, `bin_edges` the symmetric matrix of ends between
    bins of noisy degrees (cells >= 0), `rate` that of the noise of the degrees, and `rounds` the
    number of rounds of the deconvolution.
    """
    thresholds = equal_end_thresholds(degrees, n_bins)
    bins = np.searchsorted(thresholds, degrees, side="right")
    d = degrees.astype(np.float64)
    ends = np.bincount(bins, d, len(thresholds) + 1)
    total, known = float(ends.sum()), float(bin_edges.sum())
    if total <= 0 or known <= 0:
        return BinnedEnds(thresholds, np.outer(ends, ends) / max(total, 1.0), 0.0)
    edges = deconvolve(
        bin_edges * (total / known),
        blur(degrees, thresholds, noisy_thresholds, rate),
        ends,
        rounds,
    )
    mean = (d**2).sum() / total
    variance = (d**3).sum() / total - mean**2
    if variance <= _FEWEST_ENDS:
        return BinnedEnds(thresholds, edges, 0.0)
    centre = np.bincount(bins, d**2, len(ends)) / np.maximum(ends, _FEWEST_ENDS) - mean
    r = float(centre @ edges @ centre / (edges.sum() * variance))
    return BinnedEnds(thresholds, edges, float(np.clip(r, -1.0, 1.0)))
