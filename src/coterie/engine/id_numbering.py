"""The ids of a file that is read in pieces: count them in a first pass, number them in a second.

Memory is needed for the distinct ids only (`data/ids.py` numbers ids that are all in memory). The
ids of a file are integers only if every one is, so a column may become text on its last line; the
counts so far are kept. Text is numbered by a hash table of its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.base.lazy_modules import pyarrow_compute as pc
from coterie.data.ids import integers_as_text
from coterie.kernels.io import numbering
from coterie.kernels.io.names import fill_slots, hash_names, number_names

_COUNT_AT = 1 << 24  # entries that are counted together
_SPREAD = 8  # a table is used if the range of ids is at most this many times their number
_NONE: tuple[np.ndarray, np.ndarray] = (np.empty(0, np.int64), np.empty(0, np.int64))

_MIN_SLOTS = 1 << 10
_FULL = 2 / 3  # of the slots; searching takes longer in fuller tables


class IdCounter:
    """Count how often each id (or each number of a column) occurs.

    >>> counter = IdCounter()
    >>> counter.add(np.array([5, 3, 5])); counter.add(np.array([9]))
    >>> ids, counts = counter.finish()
    >>> ids.tolist(), counts.tolist()
    ([3, 5, 9], [1, 2, 1])
    """

    def __init__(self) -> None:
        self._waiting: list[np.ndarray] = []
        self._n_waiting = 0
        self._table: _Table | None = _Table()
        self._sorted = _Sorted()
        self._text = NameCounter()

    def add(self, piece: Any) -> None:
        """Count one piece of a column."""
        if isinstance(piece, np.ndarray):
            self._waiting.append(piece)
            self._n_waiting += len(piece)
            if self._n_waiting >= _COUNT_AT:
                self._count()
        else:
            self._text.add(piece)

    def add_all(self, pieces: Iterable[Any]) -> None:
        """Count several pieces."""
        for piece in pieces:
            self.add(piece)

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (ids in rising order, how often each occurs); empties the counter."""
        self._count()
        values, counts = self._sorted.finish() if self._table is None else self._table.finish()
        text = self._text
        self._table, self._sorted, self._text = _Table(), _Sorted(), NameCounter()
        if not text:
            return values, counts
        text.add(integers_as_text(values), counts)
        return text.finish()

    def _count(self) -> None:
        """Count the waiting pieces: in a table, or by sorting if the ids are too far apart."""
        pieces = [piece for piece in self._waiting if len(piece)]
        self._waiting, self._n_waiting = [], 0
        if not pieces:
            return
        if self._table is not None and not self._table.add(pieces):
            self._sorted.add(*self._table.finish())
            self._table = None
        if self._table is None:
            self._sorted.add(*np.unique(np.concatenate(pieces), return_counts=True))


class _Table:
    """One count per integer of a range."""

    def __init__(self) -> None:
        self._low, self._counts, self._seen = 0, np.empty(0, np.int64), 0

    def add(self, pieces: Sequence[np.ndarray]) -> bool:
        """Count the pieces; return False, without counting, if the table would be too large."""
        if any(piece.dtype.kind != "i" for piece in pieces):
            return False
        low = min(int(piece.min()) for piece in pieces)
        high = max(int(piece.max()) for piece in pieces) + 1
        if self._seen:
            low, high = min(low, self._low), max(high, self._low + len(self._counts))
        seen = self._seen + sum(map(len, pieces))
        if high - low > _SPREAD * seen:
            return False
        self._seen = seen
        if high - low > len(self._counts):
            wider = np.zeros(high - low, np.int64)
            place = self._low - low if len(self._counts) else 0
            wider[place : place + len(self._counts)] = self._counts
            self._low, self._counts = low, wider
        for piece in pieces:
            numbering.tally(piece, self._low, self._counts)
        return True

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        ids = np.flatnonzero(self._counts)
        return ids + self._low, self._counts[ids]


class _Sorted:
    """Sorted lists of values with their counts."""

    def __init__(self) -> None:
        self._lists: list[tuple[np.ndarray, np.ndarray]] = []
        self._n_waiting = 0

    def add(self, values: np.ndarray, counts: np.ndarray) -> None:
        self._lists.append((values, counts))
        self._n_waiting += len(values)
        if self._n_waiting > _COUNT_AT:
            self._merge()

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        self._merge()
        return self._lists[0] if self._lists else _NONE

    def _merge(self) -> None:
        if len(self._lists) > 1:
            values, where = np.unique(
                np.concatenate([v for v, _ in self._lists]), return_inverse=True
            )
            counts = np.concatenate([c for _, c in self._lists])
            self._lists = [(values, np.bincount(where, counts, len(values)).astype(np.int64))]
        # Merge again when the list has doubled, not at every piece: O(n log n) in total.
        self._n_waiting = -len(self._lists[0][0]) if self._lists else 0


class IdNumbers:
    """Convert ids to numbers 0..n-1.

    >>> IdNumbers(np.array([3, 5, 9])).of_all([np.array([9, 3])])
    array([2, 0], dtype=int32)
    """

    def __init__(self, ids: np.ndarray) -> None:
        self._ids = ids
        self._names: NameTable | None = None
        if ids.dtype == object:
            self._names = NameTable()
            self._names.numbers(pa.array(ids, pa.large_string()))  # numbers them in this order
        elif len(ids):
            span = int(ids[-1]) - int(ids[0]) + 1
            self._consecutive = ids[0] == 0 and span == len(ids)
            self._too_wide = span >= 2**62  # differences might not fit int64
            if self._consecutive or self._too_wide:
                return
            self._shift = max(0, span.bit_length() - len(ids).bit_length() - 1)
            heads = np.arange(((span - 1) >> self._shift) + 2, dtype=np.int64) << self._shift
            self._starts = np.searchsorted(ids - ids[0], heads)

    def of_all(self, pieces: Sequence[Any]) -> np.ndarray:
        """Return the numbers of a column that is given in pieces."""
        return np.concatenate([self._of(piece) for piece in pieces] or [np.empty(0, np.int32)])

    def _of(self, piece: Any) -> np.ndarray:
        """Return the numbers of one piece."""
        if self._names is not None:
            piece = integers_as_text(piece) if isinstance(piece, np.ndarray) else piece
            return np.asarray(self._names.numbers(piece.dictionary)[piece.indices.to_numpy()])
        if not len(piece) or self._consecutive:
            return np.asarray(piece, np.int32)
        if self._too_wide:
            return np.asarray(np.searchsorted(self._ids, piece), np.int32)
        numbers = np.empty(len(piece), np.int32)
        numbering.find(piece, self._ids, self._shift, self._starts, numbers)
        return numbers


# --- text, without one Python object per id (kernels/io/names.py) ---------------------------------


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
            self._counts = _longer(self._counts, len(self._counts), 2 * len(self._table))
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
    """Return a longer array with the same first entries, and zeros after them."""
    longer = np.zeros(length, array.dtype)
    longer[:filled] = array[:filled]
    return longer
