"""The state of a block objective: labels, block statistics, and buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from coterie.kernels.hard.score_tables import ScoreTables
from coterie.kernels.hard.scores import Workspace, workspace
from coterie.kernels.hard.statistics import BlockStats
from coterie.models.hard.costs.interface import Labels

_KEPT_X = 17  # score rows are reused for neighbour counts x below this
_KEPT_BYTES = 1 << 25  # … in at most this much memory per thread


def planning_workspace(slots: int, k: int) -> Workspace:
    """Allocate the buffers of one thread for `plan_moves`, with room for rows that are reused."""
    return workspace(slots, k, _KEPT_X, min(2 * slots * _KEPT_X, _KEPT_BYTES // (8 * k)))


@dataclass
class BlockState:
    """Labels and block statistics; tables and buffers are created when first needed."""

    labels: Labels
    n_blocks: tuple[int, ...]
    counts: tuple[np.ndarray, ...]  # per side: float64 (slots, k)
    sizes: tuple[np.ndarray, ...]  # per side: float64 (k,)
    tables: dict[int, ScoreTables] = field(default_factory=dict)
    buffers: dict[int, list[Workspace]] = field(default_factory=dict)

    @property
    def statistics(self) -> tuple[np.ndarray, ...]:
        """Everything that moves change besides the labels."""
        return (*self.counts, *self.sizes)

    def stats(self, side: int) -> BlockStats:
        """Return the statistics as this side sees them."""
        other = len(self.labels) - 1 - side if len(self.labels) > 1 else side
        return BlockStats(
            self.counts[side], self.sizes[side], self.sizes[other], self.counts[other]
        )

    def copy(self) -> BlockState:
        """Return an independent copy of labels and statistics."""
        return BlockState(
            tuple(z.copy() for z in self.labels),
            self.n_blocks,
            tuple(c.copy() for c in self.counts),
            tuple(s.copy() for s in self.sizes),
        )


def restored_order(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return `values`, which are in the order of `order`, in the original order."""
    original = np.empty_like(values)
    original[order] = values
    return original
