"""Entries of a matrix, in any order, put where they belong: into row blocks, and into rows.

    rows, columns    int32 and uint32, one of each an entry
    cuts             int64, blocks + 1: block b holds the rows cuts[b] .. cuts[b + 1] - 1
    keys             uint64: column << 32 | place of the entry, so that sorting keeps the order of
                     equal entries

Row blocks for what does not fit into memory; then one block at a time. O(entries), but for rows
so long that their sorting counts.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_SHORT = 32  # entries that insertion sorts faster than anything else


@njit(nogil=True, cache=True)
def owners(rows, cuts, shift, guess, owner):
    """owner[e] = the block of rows[e] (int32). guess[row >> shift] is the block of the first row
    with the same leading digits; from there it is never far."""
    for e in range(len(rows)):
        row = rows[e]
        b = guess[row >> shift]
        while cuts[b + 1] <= row:
            b += 1
        owner[e] = b


@njit(nogil=True, cache=True)
def sort_rows(rows, columns, low, high):
    """(indptr, keys) of the rows low .. high - 1, each row's keys rising."""
    indptr = np.zeros(high - low + 1, np.int64)
    for e in range(len(rows)):
        indptr[rows[e] - low + 1] += 1
    for r in range(high - low):
        indptr[r + 1] += indptr[r]
    cursor = indptr[:-1].copy()
    keys = np.empty(len(rows), np.uint64)
    for e in range(len(rows)):
        r = rows[e] - low
        keys[cursor[r]] = np.uint64(columns[e]) << np.uint64(32) | np.uint64(e)
        cursor[r] += 1
    for r in range(high - low):
        a, b = indptr[r], indptr[r + 1]
        if b - a > _SHORT:
            keys[a:b].sort()
        else:
            _insert(keys, a, b)
    return indptr, keys


@njit(inline="always", cache=True)
def _insert(keys, begin, end):
    for i in range(begin + 1, end):
        key = keys[i]
        j = i
        while j > begin and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
