"""Choose the two settings of the wiring that reproduce assortativity and path length."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coterie.data import Graph

_STEP = np.sqrt(2.0)
_NOISES = 0.1 * _STEP ** np.arange(13)  # from nearly sorted by degree to nearly random
_EXTRA_STEPS = 2
_EPSILONS = np.r_[0.0, np.geomspace(0.01, 0.64, 7)]
# Rewiring shortens paths a little, so the wired graph aims at longer ones.
_HEADROOM = 1.03


class RingSettings(NamedTuple):
    """The order of the nodes on the ring, and the share of edges that ignore it."""

    noise: float = np.inf  # of the order by degree; infinite: random order
    epsilon: float = 0.0  # share of edges with the second end anywhere in its block


def calibrate(
    wired: Callable[[RingSettings], Graph],
    *,
    assortativity: float,
    path_length: float,
    measure_assortativity: Callable[[Graph], float],
    measure_path_length: Callable[[Graph], float],
) -> RingSettings:
    """Choose the noise by assortativity, then epsilon by average path length.

    Apart from random variation both effects are monotone: less noise makes the graph more
    assortative and its paths longer, more epsilon makes paths shorter. Each setting is found by
    bisection on a fixed grid. If paths are too short even with epsilon = 0, the noise is lowered
    further, because rewiring restores assortativity but not path length.
    """

    def too_random(noise: float) -> bool:
        return measure_assortativity(wired(RingSettings(noise))) < assortativity

    def too_short(noise: float, epsilon: float) -> bool:
        return measure_path_length(wired(RingSettings(noise, epsilon))) < _HEADROOM * path_length

    noise = np.inf
    if too_random(noise):
        noise = float(_NOISES[max(_first(_NOISES, too_random) - 1, 0)])
        for _ in range(_EXTRA_STEPS):
            if noise == _NOISES[0] or not too_short(noise, 0.0):
                break
            noise /= _STEP
    epsilon = float(_EPSILONS[_first(_EPSILONS, lambda e: too_short(noise, e))])
    return RingSettings(noise, epsilon)


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
