"""k-means as a block model of points: S = sum |x - mu|^2 / 2 (cl:ex1.3).

sums   (k, dim)  sum of the points of each block
sizes  (k,)      how many they are; an empty block attracts nobody until it is refilled
"""

from __future__ import annotations

import numpy as np
from numba import njit

LEAST_GAIN = 1e-9


@njit(nogil=True, cache=True)
def plan_points(points, sums, sizes, labels, elements, exact, wanted, gains):
    """The nearest centre (fixed: Lloyd) or the exact change of S (Hartigan) for each element.

    Ties stay where a point is; otherwise the lowest label wins. An exact move to an empty block
    costs nothing, so it is open to every point that is not alone."""
    k, dim = sums.shape
    for i in range(len(elements)):
        v = elements[i]
        a = labels[v]
        best, least, own = a, np.inf, np.inf
        for y in range(k):
            n = sizes[y]
            if n == 0.0:
                cost = 0.0 if exact else np.inf
            else:
                cost = 0.0
                for c in range(dim):
                    step = points[v, c] - sums[y, c] / n
                    cost += step * step
                if exact:
                    if y != a:
                        cost *= n / (n + 1.0)
                    elif n > 1.0:
                        cost *= n / (n - 1.0)
                cost *= 0.5
            if y == a:
                own = cost
            if cost < least:
                least, best = cost, y
        gained = own - least
        wanted[i] = best if gained > LEAST_GAIN else a
        gains[i] = gained if gained > LEAST_GAIN else 0.0


@njit(nogil=True, cache=True)
def move_points(points, sums, sizes, labels, elements, wanted, least):
    """Make the moves that leave no block under `least`; sums, sizes, labels are IN/OUT"""
    moved = 0
    for i in range(len(elements)):
        v = elements[i]
        a, b = labels[v], wanted[i]
        if a == b or sizes[a] - 1.0 < least:
            continue
        for c in range(sums.shape[1]):
            sums[a, c] -= points[v, c]
            sums[b, c] += points[v, c]
        sizes[a] -= 1.0
        sizes[b] += 1.0
        labels[v] = b
        moved += 1
    return moved


@njit(nogil=True, cache=True)
def sweep_points(points, sums, sizes, labels, order, least):
    """Hartigan's pass: each point in turn to its best block. Gives (moves, entropy gained)"""
    moved, total = 0, 0.0
    wanted, gains = np.empty(1, np.int32), np.empty(1)
    for i in range(len(order)):
        one = order[i : i + 1]
        plan_points(points, sums, sizes, labels, one, True, wanted, gains)
        if move_points(points, sums, sizes, labels, one, wanted, least):
            moved += 1
            total += gains[0]
    return moved, total
