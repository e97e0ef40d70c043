"""The objective of k-means: Gaussian blocks with unit covariance (Prost & Yoon, "k-means").

Kernel: `kernels/hard/gaussian.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from coterie.base.errors import InputError
from coterie.engine import Engine
from coterie.kernels.hard.gaussian import move_points, plan_points, sweep_points
from coterie.models.hard.costs.interface import Labels, MovePlan


@dataclass
class PointState:
    """Labels, and the sum of the points in each block."""

    labels: Labels
    n_blocks: tuple[int, ...]
    sums: np.ndarray
    sizes: tuple[np.ndarray, ...]

    @property
    def statistics(self) -> tuple[np.ndarray, ...]:
        """Everything that moves change besides the labels."""
        return (self.sums, *self.sizes)

    def copy(self) -> PointState:
        """Return an independent copy."""
        return PointState(
            (self.labels[0].copy(),), self.n_blocks, self.sums.copy(), (self.sizes[0].copy(),)
        )


class GaussianObjective:
    """The entropy of points in Gaussian blocks: S = sum |x - mu|^2 / 2 + (N dim / 2) log 2 pi.

    score="fixed" is Lloyd's rule, the nearest centre; "exact" is Hartigan's rule, which takes into
    account that the centre moves with the point.

    >>> objective = GaussianObjective(np.array([[0.0], [2.0]]))
    >>> state = objective.start((np.array([0, 0]),), (1,))
    >>> round(objective.entropy(state) - math.log(2 * math.pi), 9)
    1.0
    """

    name = "gaussian"

    def __init__(self, points: np.ndarray, score: str = "fixed") -> None:
        if np.iscomplexobj(points):
            raise InputError("Complex data not supported", remedy="give real numbers")
        self.points = np.ascontiguousarray(points, np.float64)
        if self.points.ndim != 2:
            raise InputError(
                f"points must be a 2-d array, got shape {np.shape(points)}",
                remedy="Reshape your data: one row per point and one column per feature",
            )
        if self.points.shape[1] == 0:
            raise InputError(
                f"0 feature(s) (shape={self.points.shape}) while a minimum of 1 is required.",
                remedy="give one column per feature",
            )
        bad = np.argwhere(~np.isfinite(self.points))
        if len(bad):
            raise InputError(
                f"point {bad[0][0]}, feature {bad[0][1]} is not finite",
                remedy="remove or replace NaN and infinite values",
            )
        self.given = self.points
        self.origin = self.points.mean(axis=0) if len(self.points) else 0.0
        self.points = self.points - self.origin  # avoids cancellation in sums of squares
        self.score = score
        self.n_elements = (len(self.points),)
        self._squares = float((self.points**2).sum())

    def start(self, labels: Labels, n_blocks: tuple[int, ...]) -> PointState:
        """Return the state of these labels."""
        z = np.array(labels[0], np.int32)
        sums = np.zeros((n_blocks[0], self.points.shape[1]))
        np.add.at(sums, z, self.points)
        sizes = np.bincount(z, minlength=n_blocks[0]).astype(np.float64)
        return PointState((z,), n_blocks, sums, (sizes,))

    def entropy(self, state: PointState) -> float:
        """Return S, from the sums alone."""
        sizes = np.maximum(state.sizes[0], 1.0)
        inner = self._squares - float(((state.sums**2).sum(axis=1) / sizes).sum())
        return inner / 2 + self.points.size / 2 * math.log(2 * math.pi)

    def centers(self, state: PointState) -> np.ndarray:
        """Return the mean of each block; NaN for an empty one."""
        sizes = np.where(state.sizes[0] > 0, state.sizes[0], np.nan)
        centers: np.ndarray = state.sums / sizes[:, None] + self.origin
        return centers

    def prepare(
        self, state: PointState, side: int, engine: Engine, score: str | None = None
    ) -> float:
        """Return S; points need no tables."""
        return self.entropy(state)

    def plan_moves(
        self,
        state: PointState,
        side: int,
        elements: np.ndarray,
        engine: Engine,
        score: str | None = None,
    ) -> MovePlan:
        """Find the best block of each point against fixed centres."""
        wanted, gains = np.empty(len(elements), np.int32), np.empty(len(elements))
        cuts = np.linspace(0, len(elements), engine.threads + 1).astype(np.int64)

        def plan_part(a: int, b: int) -> None:
            plan_points(
                self.points,
                state.sums,
                state.sizes[0],
                state.labels[0],
                elements[a:b],
                (score or self.score) == "exact",
                wanted[a:b],
                gains[a:b],
            )

        engine.map(plan_part, cuts[:-1], cuts[1:])
        return MovePlan(wanted, gains)

    def apply(
        self,
        state: PointState,
        side: int,
        elements: np.ndarray,
        wanted: np.ndarray,
        min_block_size: int = 0,
    ) -> int:
        """Move the points to the wanted blocks; return the number of moves made."""
        z, sizes = state.labels[0], state.sizes[0]
        min_size = float(min_block_size)
        return int(move_points(self.points, state.sums, sizes, z, elements, wanted, min_size))

    def sweep(
        self, state: PointState, side: int, order: np.ndarray, min_block_size: int = 0
    ) -> tuple[int, float]:
        """Move the points one by one (Hartigan); return (moves made, entropy gained)."""
        z, sizes = state.labels[0], state.sizes[0]
        min_size = float(min_block_size)
        moved, gained = sweep_points(self.points, state.sums, sizes, z, order, min_size)
        return int(moved), float(gained)


def nearest_centre(points: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of the nearest centre of each point, and its squared distance.

    >>> nearest_centre(np.array([[0.0], [4.0]]), np.array([[1.0], [4.5]]))
    (array([0, 1], dtype=int32), array([1.  , 0.25]))
    """
    squares = ((points[:, None, :] - centers) ** 2).sum(2)
    squares[np.isnan(squares)] = np.inf  # the centre of an empty block
    chosen = squares.argmin(1)
    return chosen.astype(np.int32), squares[np.arange(len(points)), chosen]
