"""Number ids that are text with a hash table of their bytes, without one Python object per id.

Kernel: `kernels/io/names.py`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from coterie.base.lazy_modules import pyarrow_compute as pc
from coterie.kernels.io.names import fill_slots, hash_names, number_names

_MIN_SLOTS = 1 << 10
_FULL = 2 / 3  # of the slots; searching takes longer in fuller tables


class NameTable:
    """Number names 0, 1, … in order of first appearance.

    >>> table = NameTable()
    >>> table.numbers(pa.array(["bob", "ann", "bob"])), len(table), table.names().to_pylist()
    (array([0, 1, 0], dtype=int32), 2, ['bob', 'ann'])
    """

    def __init__(self) -> None:
        self._used = 0
        self._data, self._offsets = np.empty(0, np.uint8), np.zeros(1, np.int64)
        self._slots = np.zeros((_MIN_SLOTS, 1), np.uint64)

    def __len__(self) -> int:
        return self._used

    def numbers(self, names: pa.Array) -> np.ndarray:
        """Return the number of each name; new names are added."""
        data, offsets = _bytes(names)
        self._make_room(len(names), int(offsets[-1] - offsets[0]))
        hashes, numbers = np.empty(len(names), np.uint64), np.empty(len(names), np.int32)
        hash_names(data, offsets, hashes)
        self._used = int(
            number_names(
                data, offsets, hashes, self._slots, self._data, self._offsets, self._used, numbers
            )
        )
        return numbers

    def names(self) -> pa.Array:
        """Return all names in the order of their numbers."""
        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._data)]
        return pa.Array.from_buffers(pa.large_string(), self._used, buffers)

    def _make_room(self, more: int, size: int) -> None:
        """Make room for more names and their bytes; arrays that are too small are doubled."""
        if self._used + more >= len(self._offsets):
            wanted = max(self._used + more + 1, 2 * len(self._offsets))
            self._offsets = _longer(self._offsets, self._used + 1, wanted)
        filled = int(self._offsets[self._used])
        if filled + size > len(self._data):
            self._data = _longer(self._data, filled, max(filled + size, 2 * len(self._data)))
        if self._used + more > _FULL * len(self._slots):
            count = 1 << int((self._used + more) / _FULL).bit_length()
            self._slots = np.zeros((count, 1), np.uint64)
            hashes = np.empty(self._used, np.uint64)
            hash_names(self._data, self._offsets, hashes)
            fill_slots(hashes, self._slots)


class NameCounter:
    """Count how often each name occurs in pieces, which are dictionary arrays of strings.

    >>> counter = NameCounter()
    >>> counter.add(pa.array(["bob", "ann", "bob"]).dictionary_encode())
    >>> names, counts = counter.finish()
    >>> names.tolist(), counts.tolist()
    (['ann', 'bob'], [1, 2])
    """

    def __init__(self) -> None:
        self._table, self._counts = NameTable(), np.zeros(_MIN_SLOTS, np.int64)

    def __bool__(self) -> bool:
        return len(self._table) > 0

    def add(self, piece: pa.DictionaryArray, weights: np.ndarray | None = None) -> None:
        """Count each row once, or `weights` times."""
        places = piece.indices.to_numpy()
        numbers = self._table.numbers(piece.dictionary)
        if len(self._table) > len(self._counts):
            more = np.zeros(2 * len(self._table), np.int64)
            more[: len(self._counts)] = self._counts
            self._counts = more
        seen = np.bincount(places, weights, len(numbers)).astype(np.int64)
        self._counts[numbers] += seen  # the names of a dictionary are distinct

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (names sorted by code point, how often each occurs)."""
        names = self._table.names()
        order = pc.array_sort_indices(names)
        counts = self._counts[order.to_numpy()]
        return names.take(order).to_numpy(zero_copy_only=False), counts


def _bytes(names: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return (bytes, int64 offsets) of strings without missing values."""
    width = np.int64 if pa.types.is_large_string(names.type) else np.int32
    _, offsets, data = names.buffers()
    if offsets is None:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    bounds = np.frombuffer(offsets, width)[names.offset : names.offset + len(names) + 1]
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return content, bounds.astype(np.int64)


def _longer(array: np.ndarray, filled: int, length: int) -> np.ndarray:
    """Return a longer array with the same first entries."""
    longer = np.empty(length, array.dtype)
    longer[:filled] = array[:filled]
    return longer
