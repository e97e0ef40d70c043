"""Pairs of nodes as 64-bit keys: a hash set, and the numbering of all pairs of a cell.

    table   uint64, a power of two long, EMPTY where nothing stands; linear probing, never more than
            half full; removal shifts back what probed past the hole, so no tombstones gather

The numbering is pure integer arithmetic: no square root, hence exact for any number of pairs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from coterie.kernels.numba.random import mix

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_S32 = np.uint64(32)


@njit(nogil=True, cache=True)
def pair_key(u, v):
    """One key for the unordered pair {u, v}."""
    if u < v:
        return (np.uint64(u) << _S32) | np.uint64(v)
    return (np.uint64(v) << _S32) | np.uint64(u)


@njit(nogil=True, cache=True)
def new_table(count):
    """An empty table that holds `count` keys at most half full."""
    size = 16
    while size < 2 * count:
        size *= 2
    return np.full(size, EMPTY, np.uint64)


@njit(nogil=True, cache=True)
def slot_of(table, key):
    """Where `key` stands, or the empty slot where it would."""
    mask = np.uint64(len(table) - 1)
    slot = mix(key) & mask
    while table[slot] != EMPTY and table[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True, cache=True)
def contains(table, key):
    return table[slot_of(table, key)] == key


@njit(nogil=True, cache=True)
def insert(table, key):
    """Put `key` in; False if it was there."""
    slot = slot_of(table, key)
    if table[slot] == key:
        return False
    table[slot] = key
    return True


@njit(nogil=True, cache=True)
def remove_with(table, values, key):
    """Take `key`, which is there, out; `values` stand beside the keys and move with them."""
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
    """Take `key`, which is there, out."""
    remove_with(table, table, key)


@njit(nogil=True, cache=True)
def pair_within(index, n):
    """Pair number `index` (0 .. n(n-1)/2 - 1) of n nodes, as (i, j) with i < j.

    Row i has n-1-i pairs. A short row is laid behind a long one, so that all rows of the folded
    table are equally long and a division finds the place.
    """
    odd = n & 1
    width = n - 1 + odd
    row = index // width
    column = index - row * width
    if column < n - 1 - row:
        return row, row + 1 + column
    folded = n - 1 - row - odd
    return folded, folded + 1 + column - (n - 1 - row)
