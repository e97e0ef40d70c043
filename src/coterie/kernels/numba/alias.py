"""Draw from many discrete distributions (Walker's alias method): O(k) to prepare, O(1) per draw.

Used by the kernels of `kernels/soft`. Slot i of a table returns i with probability keep[i], and
other[i] otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import uniform


class AliasTables(NamedTuple):
    """One table per row."""

    keep: np.ndarray  # float64, n × k
    other: np.ndarray  # int32, n × k


@njit(nogil=True, cache=True)
def alias_tables(weights):
    """Return AliasTables for the rows of `weights` (n × k, >= 0); a row of zeros is uniform."""
    n, k = weights.shape
    keep, other = np.ones((n, k)), np.empty((n, k), np.int32)
    small, large = np.empty(k, np.int64), np.empty(k, np.int64)
    for u in range(n):
        total = 0.0
        for i in range(k):
            total += weights[u, i]
        n_small = n_large = 0
        for i in range(k):
            other[u, i] = i
            # Divided first: k / total overflows where all weights are subnormal.
            keep[u, i] = weights[u, i] / total * k if total > 0.0 else 1.0
            if keep[u, i] < 1.0:
                small[n_small] = i
                n_small += 1
            else:
                large[n_large] = i
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            low, high = small[n_small], large[n_large - 1]
            other[u, low] = high
            keep[u, high] -= 1.0 - keep[u, low]
            if keep[u, high] < 1.0:
                n_large -= 1
                small[n_small] = high
                n_small += 1
        # Rounding alone leaves entries on the small side: slots that are full, or, if their weight
        # is 0, must never be drawn.
        for place in range(n_small):
            last = small[place]
            if weights[u, last] > 0.0:
                keep[u, last] = 1.0
            else:
                other[u, last] = np.argmax(weights[u])
    return AliasTables(keep, other)


@njit(inline="always", cache=True)
def draw(keep, other, state):
    """Return (new state, a number): one uniform draw chooses the slot and its alternative."""
    state, u = uniform(state)
    place = u * len(keep)
    slot = np.uint64(place)
    # Load both and choose one: the processor would mispredict a branch here half of the time.
    second = np.uint64(other[slot])
    return state, second if place - np.float64(slot) >= keep[slot] else slot
