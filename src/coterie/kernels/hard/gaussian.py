"""k-means as a block model of points: S = sum |x - mu|^2 / 2 (Prost & Yoon, example "k-means").

Used by `models/hard/costs/gaussian.py`.

    sums   (k, dim)  sum of the points of each block
    sizes  (k,)      points per block; Lloyd's rule never chooses an empty block
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

MIN_GAIN = 1e-9


@njit(nogil=True, cache=True)
def plan_points(points, sums, sizes, labels, elements, exact, wanted, gains):
    """Find the best block of each element: the nearest centre (Lloyd), or by the exact change of S
    (Hartigan, `exact`).

    On a tie a point stays in its block; otherwise the lowest label wins. An exact move to an empty
    block costs nothing, so every point that is not alone may make it."""
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
        wanted[i] = best if gained > MIN_GAIN else a
        gains[i] = gained if gained > MIN_GAIN else 0.0


@njit(nogil=True, cache=True)
def move_points(points, sums, sizes, labels, elements, wanted, min_size):
    """Make the moves that leave `min_size` points in each block; sums, sizes, labels are IN/OUT."""
    moved = 0
    for i in range(len(elements)):
        v = elements[i]
        a, b = labels[v], wanted[i]
        if a == b or sizes[a] - 1.0 < min_size:
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
def sweep_points(points, sums, sizes, labels, order, min_size):
    """Move each point in turn to its best block (Hartigan); return (moves, entropy gained)."""
    moved, total = 0, 0.0
    wanted, gains = np.empty(1, np.int32), np.empty(1)
    for i in range(len(order)):
        one = order[i : i + 1]
        plan_points(points, sums, sizes, labels, one, True, wanted, gains)
        if move_points(points, sums, sizes, labels, one, wanted, min_size):
            moved += 1
            total += gains[0]
    return moved, total
