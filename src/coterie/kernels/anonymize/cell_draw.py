"""Drawing a graph cell by cell in O(m): distinct pairs, uniformly (design 3.5).

members   int32, the nodes block after block; block b holds members[start[b]:start[b + 1]]
rows, columns, counts   int64, cell c joins block rows[c] with block columns[c], counts[c] edges
"""

from __future__ import annotations

import numpy as np
from numba import njit

from coterie.kernels.graphs.pairs import EMPTY, contains, insert, pair_within
from coterie.kernels.numba.random import below, stream


@njit(inline="always", cache=True)
def _pairs_of(start, row, column):
    n = start[row + 1] - start[row]
    m = start[column + 1] - start[column]
    return n * (n - 1) // 2 if row == column else n * m


@njit(nogil=True, cache=True)
def draw_cells(members, start, rows, columns, counts, key):
    """(source, target) of the edges of these cells. A cell more than half full is drawn by its
    holes, so the work is O(edges + cells) whatever the density."""
    total = counts.sum()
    source = np.empty(total, np.int32)
    target = np.empty(total, np.int32)
    table = np.full(16, EMPTY, np.uint64)
    state = stream(key, 0)
    filled = 0
    for c in range(len(rows)):
        count = counts[c]
        if count == 0:
            continue
        row, column = rows[c], columns[c]
        pairs = _pairs_of(start, row, column)
        by_holes = 2 * count > pairs
        wanted = pairs - count if by_holes else count
        size = 16
        while size < 2 * wanted:
            size *= 2
        if size > len(table):
            table = np.full(size, EMPTY, np.uint64)
        chosen = table[:size]
        chosen[:] = EMPTY
        drawn = 0
        while drawn < wanted:
            state, index = below(state, pairs)
            if insert(chosen, np.uint64(index)):
                drawn += 1
                if not by_holes:
                    _place(source, target, filled, members, start, row, column, index)
                    filled += 1
        if by_holes:
            for index in range(pairs):
                if not contains(chosen, np.uint64(index)):
                    _place(source, target, filled, members, start, row, column, index)
                    filled += 1
    return source, target


@njit(inline="always", cache=True)
def _place(source, target, at, members, start, row, column, index):
    first, second = start[row], start[column]
    if row == column:
        i, j = pair_within(index, start[row + 1] - first)
    else:
        width = start[column + 1] - second
        i, j = index // width, index % width
    source[at] = members[first + i]
    target[at] = members[second + j]
