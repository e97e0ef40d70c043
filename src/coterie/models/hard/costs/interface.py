"""The interface between a search and an objective; the package docstring explains its use."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from coterie.engine import Engine

Labels = tuple[np.ndarray, ...]  # int32, one array per side


class ClusterState(Protocol):
    """A clustering with its statistics; `labels` are current after every call."""

    labels: Labels
    n_blocks: tuple[int, ...]

    @property
    def sizes(self) -> tuple[np.ndarray, ...]:
        """The number of elements in each block of each side, float64."""
        ...

    @property
    def statistics(self) -> tuple[np.ndarray, ...]:
        """Everything that moves change besides the labels.

        A checkpoint stores it, because sums of fractions depend on the order of summation."""
        ...

    def copy(self) -> Self:
        """Return an independent copy."""
        ...


class MovePlan(NamedTuple):
    """The best label of each element of a batch, before any of them moves."""

    wanted: np.ndarray  # int32, the best label; on a tie the present one
    gains: np.ndarray  # float64, how much S would fall if only this element moved to the best
    # other label; negative if the present one is better


class Objective(Protocol):
    """A model of fixed data; everything that changes is in the state."""

    name: str
    score: str  # how moves are scored unless a call says otherwise: "exact" or "fixed"
    n_elements: tuple[int, ...]  # elements per side: (n,) or (users, items)

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> Any:
        """Return the state of these labels, with statistics counted from the data."""
        ...

    def entropy(self, state: Any) -> float:
        """Return S, from the statistics alone."""
        ...

    def prepare(self, state: Any, side: int, engine: Engine, score: str | None = None) -> float:
        """Compute the tables that `plan_moves` needs; return S."""
        ...

    def plan_moves(
        self,
        state: Any,
        side: int,
        elements: np.ndarray,
        engine: Engine,
        score: str | None = None,
    ) -> MovePlan:
        """Find the best label of each element against fixed statistics."""
        ...

    def apply(
        self, state: Any, side: int, elements: np.ndarray, wanted: np.ndarray, min_block_size: int
    ) -> int:
        """Move the elements to the wanted labels; return the number of moves made."""
        ...

    def sweep(
        self, state: Any, side: int, order: np.ndarray, min_block_size: int
    ) -> tuple[int, float]:
        """Move the elements one by one, each exactly; return (moves made, entropy gained)."""
        ...
