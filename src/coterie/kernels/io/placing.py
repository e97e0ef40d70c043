"""Sort matrix entries, given in any order, into row blocks and then into rows.

Used by `engine/sharding.py` for matrices that do not fit into memory: first all entries into row
blocks, then one block at a time. O(entries), plus the sorting of long rows.

    rows, columns    int32 and uint32, one of each per entry
    cuts             int64, blocks + 1: block b holds the rows cuts[b] .. cuts[b + 1] - 1
    keys             uint64: column << 32 | place of the entry, so that sorting keeps the order of
                     equal entries
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit

_SHORT = 32  # rows up to this length are sorted by insertion, the fastest method for them


@njit(nogil=True, cache=True)
def owners(rows, cuts, shift, guess, owner):
    """Set owner[e] to the block of rows[e] (int32).

    guess[row >> shift] is the block of the first row with the same leading bits; the block of
    the row is that one or one of the next few."""
    for e in range(len(rows)):
        row = rows[e]
        b = guess[row >> shift]
        while cuts[b + 1] <= row:
            b += 1
        owner[e] = b


@njit(nogil=True, cache=True)
def sort_rows(rows, columns, low, high):
    """Return (indptr, keys) of the rows low .. high - 1, with the keys of each row rising."""
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


@njit(forceinline=True, cache=True)
def _insert(keys, begin, end):
    """Sort keys[begin:end] by insertion."""
    for i in range(begin + 1, end):
        key = keys[i]
        j = i
        while j > begin and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            j -= 1
        keys[j] = key
