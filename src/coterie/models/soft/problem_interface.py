"""What the EM loop asks of a model and its data, and what problems share."""

from __future__ import annotations

from operator import add as plus
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from coterie.models.soft.state import SoftState

Spread = Any  # a state as a problem keeps it: parts of it may live with an engine's workers


class Problem(Protocol):
    """Iterations as pure functions of (shards, state)."""

    def inside(self, state: SoftState) -> Spread:
        """A state as the problem keeps it."""
        ...

    def outside(self, spread: Spread) -> SoftState:
        """The way back."""
        ...

    def step(self, spread: Spread, rng: Generator) -> tuple[Spread, float]:
        """The next state, and the entropy of the one given."""
        ...

    def entropy(self, spread: Spread) -> float:
        """The entropy of a state."""
        ...

    def penalty(self, spread: Spread) -> float:
        """What the prior adds to the entropy: -prior times the sum of logarithms; 0 without one."""
        ...


Sums = TypeVar("Sums", bound=tuple[Any, ...])


def add(a: Sums, b: Sums) -> Sums:
    """Two tuples of sums, field by field. Pure: an engine may have to run it twice."""
    made: Sums = a._make(map(plus, a, b)) if hasattr(a, "_make") else type(a)(map(plus, a, b))
    return made


def log_sum(shares: np.ndarray) -> float:
    """The sum of logarithms; a share of 0, which no prior leaves behind, counts as the smallest."""
    return float(log_sums(shares).sum())


def log_sums(shares: np.ndarray) -> np.ndarray:
    """The sum of logarithms of each row."""
    sums: np.ndarray = np.log(np.maximum(shares, np.finfo(np.float64).tiny)).sum(axis=-1)
    return sums
