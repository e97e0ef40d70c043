"""The interface between the EM loop and an EM problem, and helpers that problems share."""

from __future__ import annotations

from operator import add as plus
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator

from coterie.models.soft.state import SoftState

# A state as a problem stores it: parts of it may be in the memory of an engine's workers.
EngineState = Any


class Problem(Protocol):
    """An EM problem: iterations as pure functions of the observations and a state."""

    def to_engine(self, state: SoftState) -> EngineState:
        """Distribute a state to the engine."""
        ...

    def from_engine(self, engine_state: EngineState) -> SoftState:
        """Collect a state from the engine; the inverse of `to_engine`."""
        ...

    def step(self, engine_state: EngineState, rng: Generator) -> tuple[EngineState, float]:
        """Return the next state, and the entropy of the given one."""
        ...

    def entropy(self, engine_state: EngineState) -> float:
        """Return the entropy of a state."""
        ...

    def penalty(self, engine_state: EngineState) -> float:
        """Return what the prior adds to the entropy: -prior × the sum of logarithms."""
        ...


Sums = TypeVar("Sums", bound=tuple[Any, ...])


def add(a: Sums, b: Sums) -> Sums:
    """Add two tuples field by field. Pure, because an engine may have to run it twice."""
    made: Sums = a._make(map(plus, a, b)) if hasattr(a, "_make") else type(a)(map(plus, a, b))
    return made


def log_sum(shares: np.ndarray) -> float:
    """Return the sum of logarithms; a share of 0 counts as the smallest positive number."""
    return float(log_sums(shares).sum())


def log_sums(shares: np.ndarray) -> np.ndarray:
    """Return the sum of logarithms of each row."""
    sums: np.ndarray = np.log(np.maximum(shares, np.finfo(np.float64).tiny)).sum(axis=-1)
    return sums
