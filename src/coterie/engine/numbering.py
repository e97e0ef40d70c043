"""The ids of a file that is read in pieces: counted in a first pass, numbered in a second.

Both kinds of ids need memory for the distinct ones only. A file's ids are integers only if every
one is, so a column may turn into text on its last line; what was counted before is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

_MERGE_AT = 1 << 22


class IdCounter:
    """How often each id (or each number of a column) occurs.

    >>> counter = IdCounter()
    >>> counter.add(np.array([5, 3, 5])); counter.add(np.array([9]))
    >>> ids, counts = counter.finish()
    >>> ids.tolist(), counts.tolist()
    ([3, 5, 9], [1, 2, 1])
    """

    def __init__(self) -> None:
        self._integers: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting = 0
        self._text: dict[str, int] = {}

    def add(self, piece: Any) -> None:
        if isinstance(piece, np.ndarray):
            values, counts = np.unique(piece, return_counts=True)
            self._integers.append((values, counts))
            self._waiting += len(values)
            if self._waiting > _MERGE_AT:
                self._merge()
            return
        counts = np.bincount(piece.indices.to_numpy(), minlength=len(piece.dictionary))
        for name, count in zip(piece.dictionary.to_pylist(), counts.tolist(), strict=True):
            self._text[name] = self._text.get(name, 0) + count

    def add_all(self, pieces: Iterable[Any]) -> None:
        for piece in pieces:
            self.add(piece)

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """(ids in rising order, how often each occurs)"""
        self._merge()
        values, counts = self._integers[0] if self._integers else (np.empty(0, np.int64),) * 2
        if not self._text:
            return values, counts
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self._text[str(value)] = self._text.get(str(value), 0) + count
        names = sorted(self._text)
        return np.array(names, object), np.array([self._text[name] for name in names])

    def _merge(self) -> None:
        if len(self._integers) > 1:
            values, where = np.unique(
                np.concatenate([v for v, _ in self._integers]), return_inverse=True
            )
            counts = np.concatenate([c for _, c in self._integers])
            total = np.bincount(where, counts, len(values)).astype(np.int64)
            self._integers = [(values, total)]
        # so that merging costs O(n log n) each time the list has doubled, not at every piece
        self._waiting = -len(self._integers[0][0]) if self._integers else 0


class IdNumbers:
    """Ids to numbers 0..n-1.

    >>> IdNumbers(np.array([3, 5, 9])).of(np.array([9, 3]))
    array([2, 0], dtype=int32)
    """

    def __init__(self, ids: np.ndarray) -> None:
        self._ids = ids
        self._plain = ids.dtype != object and len(ids) > 0 and ids[0] == 0 == ids[-1] - len(ids) + 1
        self._places = {x: i for i, x in enumerate(ids.tolist())} if ids.dtype == object else {}

    def of_all(self, pieces: Sequence[Any]) -> np.ndarray:
        """The numbers of a column that comes in pieces."""
        return np.concatenate([self.of(piece) for piece in pieces] or [np.empty(0, np.int32)])

    def of(self, piece: Any) -> np.ndarray:
        if self._ids.dtype != object:
            numbers = piece if self._plain else np.searchsorted(self._ids, piece)
            return np.asarray(numbers, np.int32)
        if isinstance(piece, np.ndarray):
            piece = pa.array(piece).cast(pa.string()).dictionary_encode()
        names = piece.dictionary.to_pylist()
        table = np.array([self._places[name] for name in names], np.int32)
        return np.asarray(table[piece.indices.to_numpy()])
