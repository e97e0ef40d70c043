"""Choose the setting of the wiring that reproduces the average path length."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coterie.data import Graph

_EPSILONS = np.r_[0.0, np.geomspace(0.01, 0.64, 7)]
# Rewiring makes paths longer (by about 5 % on the development networks), so the wired graph aims
# at shorter ones.
_HEADROOM = 0.95


class RingSettings(NamedTuple):
    """The order of the nodes on the ring, and the share of edges that ignore it."""

    noise: float = np.inf  # of the order by degree; infinite: random order
    epsilon: float = 0.0  # share of edges with the second end anywhere in its block


def calibrate(
    wired: Callable[[RingSettings], Graph],
    *,
    path_length: float,
    measure_path_length: Callable[[Graph], float],
) -> RingSettings:
    """Choose epsilon by average path length: more epsilon makes paths shorter.

    Most graphs need epsilon = 0, so it is tried first; otherwise epsilon is found by bisection on
    a fixed grid. Assortativity needs no setting, because rewiring restores it.
    """

    def too_short(epsilon: float) -> bool:
        made = wired(RingSettings(epsilon=epsilon))
        return measure_path_length(made) < _HEADROOM * path_length

    if too_short(0.0):
        return RingSettings()
    return RingSettings(epsilon=float(_EPSILONS[_first(_EPSILONS, too_short)]))


def _first(grid: np.ndarray, holds: Callable[[float], bool]) -> int:
    """Return the first index of the grid where `holds` is true, by bisection; else the last.

    >>> _first(np.arange(10.0), lambda x: x >= 6.5)
    7
    """
    low, high = 0, len(grid) - 1
    while low < high:
        middle = (low + high) // 2
        if holds(float(grid[middle])):
            high = middle
        else:
            low = middle + 1
    return low
