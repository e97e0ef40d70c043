"""Maximum-entropy block model with given degrees and block edges, and its most likely pairs.

People of one block and one degree have the same probabilities, so they are one *type*. Types are
numbered block by block, by rising degree:

start          int64[blocks + 1]: the types of block r are start[r] … start[r + 1] - 1
people, degree float64[types]: number of people of a type, and their degree
x              float64[types]: rises with the degree within a block
cells          pairs of blocks r <= s with an edge: first, second (int64), edges, w (float64)

The probability of an edge between people of types t and u in blocks r and s is z / (1 + z) with
z = x_t x_u w_rs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from coterie.kernels.numba.compile import njit

_SMALL = 0.03125  # below this z, four terms of the series of z / (1 + z) are exact to 1e-6
_LONGEST_STEP = 1.0  # of log x and log w


class TypeArrays(NamedTuple):
    """The types of people: see above."""

    start: np.ndarray
    people: np.ndarray
    degree: np.ndarray


class CellArrays(NamedTuple):
    """The pairs of blocks with an edge, and for each block the cells that it is part of."""

    first: np.ndarray
    second: np.ndarray
    edges: np.ndarray
    of_block: np.ndarray  # int64[blocks + 1]: offsets into the next two
    cell: np.ndarray  # int64
    other: np.ndarray  # int64: the other block of the cell


@njit(nogil=True, cache=True)
def _sum_moments(types, x, moments, r):
    """Update the sums of n x, n x², n x³, n x⁴ over the types of block r before each type."""
    total = np.zeros(4)
    for t in range(types.start[r], types.start[r + 1]):
        power = types.people[t]
        for i in range(4):
            moments[t, i] = total[i]
            power *= x[t]
            total[i] += power


@njit(nogil=True, cache=True)
def _row(types, x, moments, y, s):
    """Return the sums of p and p (1 - p) over block s for somebody with x w = y."""
    expected = slope = 0.0
    for t in range(types.start[s + 1] - 1, types.start[s] - 1, -1):
        z = y * x[t]
        n = types.people[t]
        if z < _SMALL:
            below = moments[t]
            a = y * (below[0] + n * x[t])
            x2, y2 = (
                x[t] * x[t],
                y * y,
            )  # powers would be rounded differently
            b = y2 * (below[1] + n * x2)
            c = y * y2 * (below[2] + n * (x[t] * x2))
            d = y2 * y2 * (below[3] + n * (x2 * x2))
            return expected + a - b + c - d, slope + a - 2 * b + 3 * c - 4 * d
        p = z / (1.0 + z)
        expected += n * p
        slope += n * p / (1.0 + z)
    return expected, slope


@njit(nogil=True, cache=True)
def _step(missing, slope):
    """Return exp of a Newton step of bounded length."""
    if slope <= 0.0:
        return 1.0
    return math.exp(min(max(missing / slope, -_LONGEST_STEP), _LONGEST_STEP))


@njit(nogil=True, cache=True)
def improve_fit(types, cells, x, w):
    """Change x and w in place by one Newton step each; return two sums of absolute errors.

    The errors are those of the expected degrees before the step (over people), and of the expected
    edges of the cells before the step of w. Blocks are updated one after the other. Inside a block
    all x change at once, so the slope of the block's own cell counts twice: then no step
    overshoots.
    """
    k = len(types.start) - 1
    moments = np.empty((len(x), 4))
    for r in range(k):
        _sum_moments(types, x, moments, r)
    new = np.empty_like(x)
    of_degrees = 0.0
    for r in range(k):
        lowest = 0.0
        for t in range(types.start[r], types.start[r + 1]):
            expected = slope = 0.0
            for i in range(cells.of_block[r], cells.of_block[r + 1]):
                y = x[t] * w[cells.cell[i]]
                e, v = _row(types, x, moments, y, cells.other[i])
                if cells.other[i] == r:  # nobody is connected to themselves
                    z = y * x[t]
                    e -= z / (1.0 + z)
                    v = 2.0 * (v - z / ((1.0 + z) * (1.0 + z)))
                expected += e
                slope += v
            of_degrees += types.people[t] * abs(types.degree[t] - expected)
            # In the solution x rises with the degree.
            lowest = max(lowest, x[t] * _step(types.degree[t] - expected, slope))
            new[t] = lowest
        for t in range(types.start[r], types.start[r + 1]):
            x[t] = new[t]
        _sum_moments(types, x, moments, r)
    of_cells = 0.0
    for c in range(len(w)):
        r, s = cells.first[c], cells.second[c]
        expected = slope = 0.0
        for t in range(types.start[r], types.start[r + 1]):
            y = x[t] * w[c]
            e, v = _row(types, x, moments, y, s)
            if r == s:
                z = y * x[t]
                e = 0.5 * (e - z / (1.0 + z))
                v = 0.5 * (v - z / ((1.0 + z) * (1.0 + z)))
            expected += types.people[t] * e
            slope += types.people[t] * v
        of_cells += abs(cells.edges[c] - expected)
        w[c] *= _step(cells.edges[c] - expected, slope)
    return of_degrees, of_cells


@njit(nogil=True, cache=True)
def list_type_pairs(types, cells, x, w, least, score, pairs):
    """Find the pairs of types with z = x_t x_u w_rs >= `least`; return their number.

    The first ones fill `score` (z) and `pairs` (the pairs of people of these types), as far as
    they have room. So a call with empty arrays only counts.
    """
    found = 0
    for c in range(len(w)):
        r, s = cells.first[c], cells.second[c]
        for t in range(types.start[r + 1] - 1, types.start[r] - 1, -1):
            last = types.start[s] if r != s else t
            reached = False
            for u in range(types.start[s + 1] - 1, last - 1, -1):
                z = x[t] * x[u] * w[c]
                if z < least:
                    break
                reached = True
                n_pairs = types.people[t] * types.people[u]
                if r == s and t == u:
                    n_pairs = types.people[t] * (types.people[t] - 1) / 2
                if n_pairs > 0:
                    if found < len(score):
                        score[found] = z
                        pairs[found] = n_pairs
                    found += 1
            if not reached:  # smaller x_t do not reach it either
                break
    return found
