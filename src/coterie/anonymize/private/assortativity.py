"""Assortativity from the edges between bins of noisy degrees.

The bins are of noisy degrees, so the matrix is blurred: a node of degree 30 may be in the bin of
50. The law of the noise is public, so the blur can be removed (Richardson-Lucy deconvolution).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_FEWEST_ROUNDS, _MOST_ROUNDS = 10, 300
_ROUNDS_PER_SIGNAL = 4  # further rounds would reproduce the noise of the cells
_TINY = 1e-12


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
    ends = np.maximum(values * counts, _TINY)
    weight = np.zeros((len(thresholds) + 1, len(values)))
    weight[bins, np.arange(len(values))] = ends
    return np.asarray(weight @ inside / np.maximum(weight.sum(1, keepdims=True), _TINY))


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
    total = max(float(ends.sum()), _TINY)
    edges = np.outer(ends, ends) / total
    for _ in range(rounds):
        predicted = blur_matrix.T @ edges @ blur_matrix
        edges = edges * (blur_matrix @ (blurred / np.maximum(predicted, _TINY)) @ blur_matrix.T)
        edges = (edges + edges.T) / 2
        factor = np.sqrt(ends / np.maximum(edges.sum(1), _TINY))
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
    if variance <= _TINY:
        return BinnedEnds(thresholds, edges, 0.0)
    centre = np.bincount(bins, d**2, len(ends)) / np.maximum(ends, _TINY) - mean
    r = float(centre @ edges @ centre / (edges.sum() * variance))
    return BinnedEnds(thresholds, edges, float(np.clip(r, -1.0, 1.0)))
