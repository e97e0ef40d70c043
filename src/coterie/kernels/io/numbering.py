"""Number integer ids 0..n-1, by a table as long as their range or by binary search.

Used by `data/ids.py` and `engine/id_numbering.py`.
"""

from __future__ import annotations

from coterie.kernels.numba.compile import njit


@njit(nogil=True, cache=True)
def mark(values, low, present):
    """Set present[value - low] = 1 for every value (present: uint8)."""
    for i in range(len(values)):
        present[values[i] - low] = 1


@njit(nogil=True, cache=True)
def tally(values, low, counts):
    """Add 1 to counts[value - low] for every value (counts: int64)."""
    for i in range(len(values)):
        counts[values[i] - low] += 1


@njit(nogil=True, cache=True)
def rank(present, table):
    """Set table[x] to the number of marked places before x (int32); return their total."""
    seen = 0
    for x in range(len(present)):
        table[x] = seen
        if present[x]:  # adding the uint8 itself would wrap at 256 in plain Python
            seen += 1
    return seen


@njit(nogil=True, cache=True)
def renumber(values, low, table, numbers):
    """Set numbers[i] = table[values[i] - low]; numbers may be the array `values` itself."""
    for i in range(len(values)):
        numbers[i] = table[values[i] - low]


@njit(nogil=True, cache=True)
def find(values, ids, shift, starts, numbers):
    """Set numbers[i] to the place of values[i] among the sorted `ids`; every value must be one.

    starts (int64): starts[x] is the first place whose id has (id - ids[0]) >> shift >= x, so the
    search starts with few ids; their distribution affects only the speed."""
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
