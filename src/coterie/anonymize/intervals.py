"""Confidence intervals of shares."""

from __future__ import annotations

import numpy as np

NORMAL_95 = 1.959963984540054  # 95 % of a normal distribution are within so many deviations

Interval = tuple[float, float]


def wilson(successes: float, trials: float) -> Interval:
    """Return the 95 % interval of a share (Wilson, 1927); (0, 1) without trials.

    >>> tuple(round(x, 3) for x in wilson(5, 10))
    (0.237, 0.763)
    """
    if trials <= 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + NORMAL_95**2 / (2 * trials)
    half = NORMAL_95 * np.sqrt(share * (1 - share) / trials + NORMAL_95**2 / (4 * trials**2))
    whole = 1 + NORMAL_95**2 / trials
    return max(0.0, float((centre - half) / whole)), min(1.0, float((centre + half) / whole))
