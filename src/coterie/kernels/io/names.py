"""Number text ids 0, 1, … in order of first appearance: an open hash table of byte strings.

Used by `engine/id_numbering.py`.

    data, offsets    uint8 and int64: name i is data[offsets[i] : offsets[i + 1]]
    hashes           uint64, one per name
    slots            uint64 (a power of two, 1): upper half of the hash << 32 | number + 1, or 0
"""

from __future__ import annotations

import numpy as np

from coterie.kernels.numba.compile import njit
from coterie.kernels.numba.prefetch import prefetch_row

_HALF = np.uint64(32)
_LOWER = np.uint64(2**32 - 1)
_ONE = np.uint64(1)
_AHEAD = 8  # names between prefetching a piece of memory and using it


@njit(nogil=True, cache=True)
def hash_names(data, offsets, hashes):
    """Hash every name: FNV-1a with its bits mixed, because FNV leaves the upper bits similar."""
    for i in range(len(hashes)):
        h = np.uint64(14695981039346656037)
        for p in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(data[p])) * np.uint64(1099511628211)
        h = (h ^ (h >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        hashes[i] = h ^ (h >> np.uint64(29))


@njit(nogil=True, cache=True)
def number_names(data, offsets, hashes, slots, kept_data, kept_offsets, used, numbers):
    """Set numbers[i] (int32) of each name; new names are stored (kept_data, kept_offsets: IN/OUT,
    with room for all). `used` names are stored so far; return the number stored afterwards."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(hashes)):
        _prefetch_name(hashes, i, slots, mask, kept_data, kept_offsets)
        head = hashes[i] >> _HALF
        p = hashes[i] & mask
        while True:
            slot = slots[p, 0]
            if slot == 0:
                _keep(data, offsets[i], offsets[i + 1], kept_data, kept_offsets, used)
                numbers[i] = used
                used += 1
                slots[p, 0] = head << _HALF | np.uint64(used)
                break
            if slot >> _HALF == head:
                number = np.int64(slot & _LOWER) - 1
                if _same(data, offsets[i], offsets[i + 1], kept_data, kept_offsets, number):
                    numbers[i] = number
                    break
            p = (p + _ONE) & mask
    return used


@njit(nogil=True, cache=True)
def fill_slots(hashes, slots):
    """Fill the slots (zeros) for distinct names numbered 0, 1, …"""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(hashes)):
        p = hashes[i] & mask
        while slots[p, 0] != 0:
            p = (p + _ONE) & mask
        slots[p, 0] = (hashes[i] >> _HALF) << _HALF | np.uint64(i + 1)


@njit(forceinline=True, cache=True)
def _prefetch_name(hashes, i, slots, mask, kept_data, kept_offsets):
    """Prefetch the slot of a later name, then the start of its bytes, then the bytes: each is
    somewhere else in memory, and waiting for one after another would dominate the time."""
    if i + 3 * _AHEAD < len(hashes):
        prefetch_row(slots, np.int64(hashes[i + 3 * _AHEAD] & mask))
    if i + 2 * _AHEAD < len(hashes):
        slot = slots[hashes[i + 2 * _AHEAD] & mask, 0]
        if slot != 0:
            prefetch_row(kept_offsets.reshape(-1, 1), np.int64(slot & _LOWER) - 1)
    if i + _AHEAD < len(hashes):
        slot = slots[hashes[i + _AHEAD] & mask, 0]
        if slot != 0:
            begin = kept_offsets[np.int64(slot & _LOWER) - 1]
            prefetch_row(kept_data.reshape(-1, 1), begin)


@njit(forceinline=True, cache=True)
def _keep(data, begin, end, kept_data, kept_offsets, number):
    """Store the bytes of a new name."""
    place = kept_offsets[number]
    for p in range(begin, end):
        kept_data[place] = data[p]
        place += 1
    kept_offsets[number + 1] = place


@njit(forceinline=True, cache=True)
def _same(data, begin, end, kept_data, kept_offsets, number):
    """Return whether these bytes are the stored name with this number."""
    place = kept_offsets[number]
    if kept_offsets[number + 1] - place != end - begin:
        return False
    for p in range(begin, end):
        if data[p] != kept_data[place]:
            return False
        place += 1
    return True
