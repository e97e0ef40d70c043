"""Integer ids to numbers 0..n-1 through a table as long as their range."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def mark(values, low, present):
    """present[value - low] = 1 for every value (present: uint8)."""
    for i in range(len(values)):
        present[values[i] - low] = 1


@njit(nogil=True, cache=True)
def rank(present, table):
    """table[x] = how many marked places lie before x (int32); returns how many there are."""
    seen = 0
    for x in range(len(present)):
        table[x] = seen
        seen += present[x]
    return seen


@njit(nogil=True, cache=True)
def renumber(values, low, table, numbers):
    """numbers[i] = table[values[i] - low]; numbers may be values itself."""
    for i in range(len(values)):
        numbers[i] = table[values[i] - low]
