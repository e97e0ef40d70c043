"""Clustering by degree from three noisy sums: the triangles and two sums of local clustering.

The width of the noise of these sums is private. What is used here is an estimate of it from public
facts: the steps of the ladder, and the largest noisy degrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_HIGHEST = 0.97  # clustering of a degree bin
_MODEL_ERROR = 0.01  # relative error of a sum that bins alone cause
_BEND = 0.05  # expected second difference between bins
_SLOPE = 1.0  # expected first difference
_ROBUST_ROUNDS = 8
_COMMON_SHARE = 0.5  # expected largest number of common neighbours, as a share of a large degree
_COMMON_SUM = 1.0  # expected largest sum of weights over common neighbours, for either damping


class NoisySum(NamedTuple):
    """A sum over nodes of triangles t_v times a weight, and its expected error."""

    value: float
    error: float
    damping: int  # the weight is 1 / C(max(d_v, damping), 2); 0: the weight is 1


def ladder_error(width: float, step: float, epsilon: float) -> float:
    """Return the expected error of a ladder with these widths."""
    return width * (2 / epsilon) + step * (2 / epsilon) ** 2


def triangle_sum(triangles: float, large_degree: float, epsilon: float) -> NoisySum:
    """Return 3 T, the sum of all t_v, with an error guessed from one of the largest degrees."""
    error = ladder_error(_COMMON_SHARE * max(large_degree, 2.0), 1.0, epsilon)
    return NoisySum(3.0 * max(triangles, 0.0), 3.0 * error, 0)


def clustering_sum(value: float, damping: int, own: float, step: float, epsilon: float) -> NoisySum:
    """Return a clustering sum with a guessed error; `own` and `step` are public constants."""
    error = ladder_error(2 * own + _COMMON_SUM, step, epsilon)
    return NoisySum(max(value, 0.0), error, damping)


def estimate_profile(
    degrees: np.ndarray, lowest: np.ndarray, sums: Sequence[NoisySum]
) -> np.ndarray:
    """Return the mean local clustering per degree bin that explains the sums best (float64).

    `lowest` are the lowest degrees of the bins. The sums do not determine all bins, so the least
    squares also keep neighbouring bins similar. The noise has heavy tails, so large residuals count
    by their size instead of their square.
    """
    n_bins = len(lowest)
    d = degrees[degrees >= 2].astype(np.float64)
    if not n_bins or not len(d):
        return np.zeros(n_bins)
    bins = np.clip(np.searchsorted(lowest, d, side="right") - 1, 0, n_bins - 1)
    pairs = d * (d - 1) / 2
    rows, goals = [], []
    for value, error, damping in sums:
        floor = np.maximum(d, damping)
        share = pairs / (floor * (floor - 1) / 2) if damping else pairs
        spread = np.hypot(error, _MODEL_ERROR * value) or 1.0
        rows.append(np.bincount(bins, share, n_bins) / spread)
        goals.append(value / spread)
    identity = np.eye(n_bins)
    bend = np.diff(identity, n=2, axis=0) / _BEND
    slope = np.diff(identity, axis=0) / _SLOPE
    prior = np.vstack([bend, slope])
    data, goal = np.array(rows), np.array(goals)
    weight = np.ones(len(data))
    for _ in range(_ROBUST_ROUNDS):
        from scipy.optimize import lsq_linear  # here: loading it takes long

        fitted = lsq_linear(
            np.vstack([data * weight[:, None], prior]),
            np.r_[goal * weight, np.zeros(len(prior))],
            bounds=(0.0, _HIGHEST),
            method="bvls",
        ).x
        weight = 1 / np.sqrt(np.maximum(np.abs(data @ fitted - goal), 1.0))
    return np.asarray(np.clip(fitted, 0.0, _HIGHEST))
