"""Pairs of nodes: a hash set, the numbering of all pairs of a cell, and rows from pairs.

Used by the kernels of `kernels/anonymize` and by `anonymize/draw`.

    table   uint64, its length a power of two, EMPTY if a slot is free; linear probing, at most half
            full; removal moves later entries back, so there are no tombstones

The numbering uses integer arithmetic only, without a square root, so it is always exact.
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.copies import copy_into
from coterie.kernels.numba.random import mix

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_S32 = np.uint64(32)


@njit(nogil=True, cache=True)
def pair_key(u, v):
    """Return one key for the unordered pair {u, v}."""
    if u < v:
        return (np.uint64(u) << _S32) | np.uint64(v)
    return (np.uint64(v) << _S32) | np.uint64(u)


@njit(nogil=True, cache=True)
def new_table(count):
    """Return an empty table with room for `count` keys."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, EMPTY, np.uint64)


@njit(nogil=True, cache=True)
def slot_of(table, key):
    """Return the slot of `key`, or the free slot where it would go."""
    mask = np.uint64(len(table) - 1)
    slot = mix(key) & mask
    while table[slot] != EMPTY and table[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True, cache=True)
def contains(table, key):
    """Return whether `key` is in the table."""
    return table[slot_of(table, key)] == key


@njit(nogil=True, cache=True)
def insert(table, key):
    """Insert `key`; return False if it was present."""
    slot = slot_of(table, key)
    if table[slot] == key:
        return False
    table[slot] = key
    return True


@njit(nogil=True, cache=True)
def remove_with(table, values, key):
    """Remove `key`, which must be present; `values`, one per slot, move with the keys."""
    one = np.uint64(1)
    mask = np.uint64(len(table) - 1)
    hole = slot_of(table, key)
    slot = hole
    while True:
        slot = (slot + one) & mask
        if table[slot] == EMPTY:
            break
        home = mix(table[slot]) & mask
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            table[hole] = table[slot]
            values[hole] = values[slot]
            hole = slot
    table[hole] = EMPTY


@njit(nogil=True, cache=True)
def remove(table, key):
    """Remove `key`, which must be present."""
    remove_with(table, table, key)


@njit(nogil=True, cache=True)
def pair_within(index, n):
    """Return pair number `index` (0 .. n(n-1)/2 - 1) of n nodes, as (i, j) with i < j.

    Row i has n-1-i pairs. Each long row is joined with a short one, so that all rows of the folded
    table have the same length and one division finds the pair.
    """
    odd = n & 1
    width = n - 1 + odd
    row = index // width
    column = index - row * width
    if column < n - 1 - row:
        return row, row + 1 + column
    folded = n - 1 - row - odd
    return folded, folded + 1 + column - (n - 1 - row)


@njit(nogil=True, cache=True)
def rows_from_pairs(source, target, n):
    """Return (indptr, indices) of the undirected graph with these distinct pairs, no loops.

    Two counting passes; the second visits rows in order, which leaves every row sorted. O(n + m).
    """
    m = len(source)
    indptr = np.zeros(n + 1, np.int64)
    for e in range(m):
        indptr[source[e] + 1] += 1
        indptr[target[e] + 1] += 1
    for v in range(n):
        indptr[v + 1] += indptr[v]
    fill = indptr[:-1].copy()
    unsorted = np.empty(2 * m, np.int32)
    for e in range(m):
        u, v = source[e], target[e]
        unsorted[fill[u]] = v
        fill[u] += 1
        unsorted[fill[v]] = u
        fill[v] += 1
    # The matrix is symmetric: visiting the rows in order appends rising numbers to every neighbour.
    copy_into(fill, indptr[:-1])
    indices = np.empty(2 * m, np.int32)
    for u in range(n):
        for slot in range(indptr[u], indptr[u + 1]):
            v = unsorted[slot]
            indices[fill[v]] = u
            fill[v] += 1
    return indptr, indices
