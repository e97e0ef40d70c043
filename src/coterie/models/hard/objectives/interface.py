"""The interface between a search and an objective; the package's docstring tells how to use it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from coterie.engine import Engine

Labels = tuple[np.ndarray, ...]  # int32, one array a side


class ClusterState(Protocol):
    """A clustering with its statistics; `labels` are current after every call."""

    labels: Labels
    n_blocks: tuple[int, ...]

    @property
    def sizes(self) -> tuple[np.ndarray, ...]:
        """float64, the number of elements in each block of each side"""
        ...

    @property
    def statistics(self) -> tuple[np.ndarray, ...]:
        """All that moves change beside the labels; a checkpoint keeps it, since sums of fractions
        do not come out the same when they are made anew."""
        ...

    def copy(self) -> Self: ...


class MovePlan(NamedTuple):
    """What a batch wants, before anything moves."""

    wanted: np.ndarray  # int32, the best label; ties stay
    gains: np.ndarray  # float64, by how much S would fall if this element alone moved


class Objective(Protocol):
    """Data and a model of them; everything that changes lives in the state."""

    name: str
    n_elements: tuple[int, ...]

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> Any: ...

    def entropy(self, state: Any) -> float: ...

    def prepare(self, state: Any, side: int, engine: Engine) -> float: ...

    def plan(self, state: Any, side: int, elements: np.ndarray, engine: Engine) -> MovePlan: ...

    def apply(
        self, state: Any, side: int, elements: np.ndarray, wanted: np.ndarray, min_block_size: int
    ) -> int: ...

    def sweep(
        self, state: Any, side: int, order: np.ndarray, min_block_size: int
    ) -> tuple[int, float]: ...
