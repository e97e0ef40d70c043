"""The laws of the noise in closed form: expected errors, and how far an answer is from the truth.

Only public parameters are used, so everything here is post-processing. Half-widths are two-sided:
an answer is within them with the probability `level`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEVEL = 0.95
_NEGLIGIBLE = 80.0  # rungs of a ladder with a weight below exp(-80) are left out


def laplace_error(scale: float) -> float:
    """Return the expected size of discrete Laplace noise.

    >>> round(laplace_error(50), 2)
    50.0
    """
    q = math.exp(-1 / float(scale))
    return 2 * q / (1 - q * q)


def laplace_half_width(scale: float, level: float = LEVEL) -> int:
    """Return the smallest k with P(|noise| <= k) >= level, for discrete Laplace noise.

    P(|z| > k) = 2 q^(k+1) / (1 + q) with q = exp(-1 / scale).

    >>> laplace_half_width(50), laplace_half_width(0.1)
    (150, 0)
    """
    rate = 1 / float(scale)
    outside = math.log((1 - level) * (1 + math.exp(-rate)) / 2)
    return max(math.ceil(-outside / rate - 1 - 1e-9), 0)


def geometric_error(scale: float) -> float:
    """Return the standard deviation of geometric noise, P(z) ~ exp(-z / scale) for z >= 0.

    >>> round(geometric_error(50), 1)
    50.0
    """
    q = math.exp(-1 / float(scale))
    return math.sqrt(q) / (1 - q)


class LadderLaw(NamedTuple):
    """The law of a ladder's distance from its value: the rungs, and the probability of each."""

    inner: np.ndarray  # the largest distance of the rungs below
    width: np.ndarray  # half the number of integers on the rung
    probability: np.ndarray  # of the rung; what is missing to 1 is that of the value itself

    @classmethod
    def of(cls, width: float, step: float, epsilon: float) -> LadderLaw:
        """Return the law for the width and the step of a ladder (see ladder.py)."""
        half = float(epsilon) / 2
        rung = np.arange(math.ceil(_NEGLIGIBLE / half) + 10, dtype=np.float64)
        widths = width + rung * step
        weight = 2 * widths * np.exp(-half * (rung + 1))
        inner = rung * width + step * rung * (rung - 1) / 2
        return cls(inner, widths, weight / (1 + weight.sum()))

    def error(self) -> float:
        """Return the expected distance."""
        return float((self.probability * (self.inner + (self.width + 1) / 2)).sum())

    def within(self, distance: float) -> float:
        """Return the probability of a distance that is not larger."""
        part = np.clip((distance - self.inner) / np.maximum(self.width, 1e-300), 0.0, 1.0)
        return float(1 - (self.probability * (1 - part)).sum())


def ladder_half_width(laws: Sequence[LadderLaw], level: float = LEVEL) -> float:
    """Return the half-width of a ladder whose width is one of several that are equally likely."""
    low, high = 0.0, max(float(law.inner[-1]) for law in laws)
    for _ in range(60):
        middle = (low + high) / 2
        if sum(law.within(middle) for law in laws) / len(laws) < level:
            low = middle
        else:
            high = middle
    return high
