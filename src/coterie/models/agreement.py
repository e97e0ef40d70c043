"""Agreement of two clusterings of the same elements, corrected for chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.base.special_functions import gammaln

_SPREAD = 15.0  # standard deviations of the hypergeometric distribution that are summed


class KnownLabels(NamedTuple):
    """Labels from outside: numbers of nodes, the label of each, and how well blocks agree."""

    nodes: np.ndarray
    labels: np.ndarray
    ari: float
    ami: float


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Return Hubert and Arabie's index: 1 for equal clusterings, about 0 for independent ones.

    >>> adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    table, in_a, in_b = _contingency(a, b)
    n = float(len(a))
    both, together_a, together_b = (float((c * (c - 1) / 2).sum()) for c in (table, in_a, in_b))
    pairs = n * (n - 1) / 2
    expected = together_a * together_b / pairs if pairs else 0.0
    largest = (together_a + together_b) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def adjusted_mutual_information(a: np.ndarray, b: np.ndarray) -> float:
    """Return Vinh, Epps and Bailey's index, normalised by the mean of the two entropies.

    >>> round(adjusted_mutual_information(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])), 3)
    -0.5
    """
    table, in_a, in_b = _contingency(a, b)
    n = float(len(a))
    if n == 0 or (len(in_a) == 1 and len(in_b) == 1):
        return 1.0
    entropy_a, entropy_b, joint = (_entropy(c / n) for c in (in_a, in_b, table))
    mutual = entropy_a + entropy_b - joint
    expected = _expected_information(in_a, in_b, n)
    mean = (entropy_a + entropy_b) / 2
    if abs(mean - expected) < 1e-15:
        return 1.0
    return float((mutual - expected) / (mean - expected))


def _contingency(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes of the non-empty intersections, of a's blocks and of b's blocks."""
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    common = np.unique(x.astype(np.int64) * (y.max(initial=0) + 1) + y, return_counts=True)[1]
    return common.astype(float), np.bincount(x).astype(float), np.bincount(y).astype(float)


def _entropy(p: np.ndarray) -> float:
    return -float((p * np.log(p)).sum())


def _expected_information(in_a: np.ndarray, in_b: np.ndarray, n: float) -> float:
    """Return the expected mutual information of random clusterings with these block sizes.

    The overlap of two blocks is hypergeometric. Blocks of equal size share one sum.
    """
    total = 0.0
    log_n = gammaln(n + 1)
    for s, times_s in zip(*np.unique(in_a, return_counts=True), strict=True):
        for t, times_t in zip(*np.unique(in_b, return_counts=True), strict=True):
            mean = s * t / n
            spread = _SPREAD * (np.sqrt(mean * (1 - s / n) * (1 - t / n)) + 1)
            low = max(1.0, s + t - n, np.floor(mean - spread))
            high = min(s, t, np.ceil(mean + spread))
            m = np.arange(low, high + 1)
            chance = np.exp(
                gammaln(s + 1) + gammaln(t + 1) + gammaln(n - s + 1) + gammaln(n - t + 1) - log_n
                - gammaln(m + 1) - gammaln(s - m + 1) - gammaln(t - m + 1)
                - gammaln(n - s - t + m + 1)
            )  # fmt: skip
            total += times_s * times_t * float((chance * m / n * np.log(n * m / (s * t))).sum())
    return total
