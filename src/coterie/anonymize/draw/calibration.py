"""Two dials of the wiring, turned until the graph is as long and as assortative as the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coterie.data import Graph

_STEP = np.sqrt(2.0)
_NOISES = 0.1 * _STEP ** np.arange(13)  # from strictly by degree to nearly random
_EXTRA_STEPS = 2
_EPSILONS = np.r_[0.0, np.geomspace(0.01, 0.64, 7)]
# Rewiring closes wedges across the ring and shortens paths a little; wired graphs aim above.
_HEADROOM = 1.03


class Dials(NamedTuple):
    """How the ring is ordered, and how many edges ignore it."""

    noise: float = np.inf
    epsilon: float = 0.0


def calibrate(
    wired: Callable[[Dials], Graph],
    *,
    assortativity: float,
    path_length: float,
    measure_assortativity: Callable[[Graph], float],
    measure_path_length: Callable[[Graph], float],
) -> Dials:
    """The dials whose wired graph comes nearest: noise by assortativity, then epsilon by APL.

    Both responses are monotone but for chance: less noise, more assortative and longer; more
    epsilon, shorter. Each is found by bisection on a fixed grid. Where even epsilon = 0 is too
    short, noise goes down further: rewiring brings assortativity back, but not length.
    """

    def too_random(noise: float) -> bool:
        return measure_assortativity(wired(Dials(noise))) < assortativity

    def too_short(noise: float, epsilon: float) -> bool:
        return measure_path_length(wired(Dials(noise, epsilon))) < _HEADROOM * path_length

    noise = np.inf
    if too_random(noise):
        noise = float(_NOISES[max(_first(_NOISES, too_random) - 1, 0)])
        for _ in range(_EXTRA_STEPS):
            if noise == _NOISES[0] or not too_short(noise, 0.0):
                break
            noise /= _STEP
    epsilon = float(_EPSILONS[_first(_EPSILONS, lambda e: too_short(noise, e))])
    return Dials(noise, epsilon)


def _first(grid: np.ndarray, holds: Callable[[float], bool]) -> int:
    """The first place of the grid where `holds` (false, then true); the last if nowhere.

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
