"""Draw the edges of a stochastic block model, jumping from one edge to the next.

Used by `data/generators.py`.

    starts   int64, k + 1: block r owns the nodes starts[r] .. starts[r + 1] - 1
    P        float64, k x k: the probability of a pair in a cell; symmetric if undirected
    key      uint64: cell (r, s) draws from its own stream, so the order of cells is irrelevant

The gap to the next edge of a cell is geometric: floor(log u / log(1 - p)). An undirected diagonal
cell is a triangle, walked row by row, so no square root is needed to find a pair.
"""

from __future__ import annotations

import math

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import stream, uniform

_FAR = 4.0e18  # a gap longer than any cell


@njit(forceinline=True, cache=True)
def _gap(state, log_absent):
    """Return (new state, absent pairs before the next edge)."""
    state, u = uniform(state)
    if log_absent == -np.inf:
        return state, np.int64(0)
    gap = math.log1p(-u) / log_absent
    return state, np.int64(min(gap, _FAR))


@njit(nogil=True, cache=True)
def draw_cells(starts, P, directed, key, source, target):
    """Fill source, target (int32, one capacity) with distinct pairs; return how many were drawn.

    A result larger than the capacity means that the arrays were too short: draw again."""
    k = len(starts) - 1
    drawn = 0
    for r in range(k):
        for s in range(0 if directed else r, k):
            p = P[r, s]
            rows, columns = starts[r + 1] - starts[r], starts[s + 1] - starts[s]
            if p <= 0.0 or rows == 0 or columns == 0:
                continue
            log_absent = math.log1p(-p) if p < 1.0 else -np.inf
            state = stream(key, np.uint64(r * k + s))
            triangle = r == s and not directed
            row = 0
            width = 0 if triangle else columns - (1 if r == s else 0)
            state, column = _gap(state, log_absent)
            while row < rows:
                if column >= width:
                    if triangle:
                        column -= width
                        row += 1
                        width = row
                    elif width == 0:
                        break
                    else:
                        row += column // width
                        column %= width
                    continue
                if drawn < len(source):
                    skip_self = 1 if r == s and directed and column >= row else 0
                    source[drawn] = starts[r] + row
                    target[drawn] = starts[s] + column + skip_self
                drawn += 1
                state, gap = _gap(state, log_absent)
                column += 1 + gap
    return drawn
