"""Sort observations and split them into groups of one row and one level, in O(|X|)."""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def counting_order(order, keys, buckets):
    """Sort `order` by keys[order] with a stable counting sort (int64 in, int64 out)."""
    start = np.zeros(buckets + 1, np.int64)
    for e in range(len(keys)):
        start[keys[e] + 1] += 1
    for b in range(buckets):
        start[b + 1] += start[b]
    ordered = np.empty_like(order)
    for place in range(len(order)):
        key = keys[order[place]]
        ordered[start[key]] = order[place]
        start[key] += 1
    return ordered


@njit(nogil=True, cache=True)
def group_starts(order, row, level):
    """Return where each group begins in `order`, and the end of the last: groups + 1 numbers."""
    count = 0
    for e in range(len(order)):
        if e == 0 or row[order[e]] != row[order[e - 1]] or level[order[e]] != level[order[e - 1]]:
            count += 1
    starts = np.empty(count + 1, np.int64)
    g = 0
    for e in range(len(order)):
        if e == 0 or row[order[e]] != row[order[e - 1]] or level[order[e]] != level[order[e - 1]]:
            starts[g] = e
            g += 1
    starts[count] = len(order)
    return starts


@njit(nogil=True, cache=True)
def count_groups(order, row, level):
    """Count distinct (row, level) pairs; `order` lists the observations by level."""
    seen = np.full(row.max() + 1 if len(row) else 0, -1, np.int64)
    count = 0
    for e in order:
        if seen[row[e]] != level[e]:
            seen[row[e]] = level[e]
            count += 1
    return count
