"""Draw a graph cell by cell in O(edges): distinct node pairs, uniformly at random.

members   int32: the nodes, block by block; block b is members[start[b]:start[b + 1]]
rows, columns, counts   int64: cell c is the pair of blocks (rows[c], columns[c]) and gets
          counts[c] edges
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.graphs.pairs import EMPTY, contains, insert, pair_within
from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.random import below, stream


@njit(forceinline=True, cache=True)
def _pairs_of(start, row, column):
    n = start[row + 1] - start[row]
    m = start[column + 1] - start[column]
    return n * (n - 1) // 2 if row == column else n * m


@njit(nogil=True, cache=True)
def draw_cells(members, start, rows, columns, counts, key):
    """Return (source, target) of the edges of these cells.

    In a cell that is more than half full, the pairs without an edge are drawn instead, so the
    work is O(edges + cells) for every density.
    """
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
        by_missing_pairs = 2 * count > pairs
        wanted = pairs - count if by_missing_pairs else count
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
                if not by_missing_pairs:
                    _place(source, target, filled, members, start, row, column, index)
                    filled += 1
        if by_missing_pairs:
            for index in range(pairs):
                if not contains(chosen, np.uint64(index)):
                    _place(source, target, filled, members, start, row, column, index)
                    filled += 1
    return source, target


@njit(forceinline=True, cache=True)
def _place(source, target, at, members, start, row, column, index):
    first, second = start[row], start[column]
    if row == column:
        i, j = pair_within(index, start[row + 1] - first)
    else:
        width = start[column + 1] - second
        i, j = index // width, index % width
    source[at] = members[first + i]
    target[at] = members[second + j]
