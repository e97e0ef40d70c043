"""Integer ids to numbers 0..n-1, through a table as long as their range or by looking them up."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def mark(values, low, present):
    """present[value - low] = 1 for every value (present: uint8)."""
    for i in range(len(values)):
        present[values[i] - low] = 1


@njit(nogil=True, cache=True)
def tally(values, low, counts):
    """counts[value - low] += 1 for every value (counts: int64)."""
    for i in range(len(values)):
        counts[values[i] - low] += 1


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


@njit(nogil=True, cache=True)
def find(values, ids, shift, starts, numbers):
    """numbers[i] = the place of values[i] among the rising `ids`, where every value is one of them.

    starts (int64): starts[x] is the first place whose id has (id - ids[0]) >> shift >= x, so the
    search begins among few ids; how evenly they are spread decides about its speed only."""
    low = ids[0]
    for i in range(len(values)):
        x = (values[i] - low) >> shift
        a, b = starts[x], starts[x + 1] - 1
        while a < b:
            middle = (a + b) >> 1
            if ids[middle] < values[i]:
                a = middle + 1
            else:
                b = middle
        numbers[i] = a
