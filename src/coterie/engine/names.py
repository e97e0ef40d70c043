"""Ids that are text, without a Python object for each: Arrow's hash tables count and find them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_COUNT_AT = 1 << 22  # rows that are counted together


class NameCounter:
    """How often each name occurs in pieces, which are dictionary arrays of strings.

    >>> counter = NameCounter()
    >>> counter.add(pa.array(["bob", "ann", "bob"]).dictionary_encode())
    >>> names, counts = counter.finish()
    >>> names.tolist(), counts.tolist()
    (['ann', 'bob'], [1, 2])
    """

    def __init__(self) -> None:
        self._names = pa.array([], pa.large_string())
        self._counts = np.empty(0, np.int64)
        self._waiting: list[pa.DictionaryArray] = []
        self._weights: list[np.ndarray] = []
        self._waits = 0

    def __bool__(self) -> bool:
        return bool(self._waiting or len(self._names))

    def add(self, piece: pa.DictionaryArray, weights: np.ndarray | None = None) -> None:
        """One occurrence of each row, or as many as `weights` say."""
        self._waiting.append(piece)
        self._weights.append(np.ones(len(piece), np.int64) if weights is None else weights)
        self._waits += len(piece)
        if self._waits > max(_COUNT_AT, len(self._names)):  # all names are hashed each time
            self._count()

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """(names by code point, how often each occurs)"""
        self._count()
        order = pc.array_sort_indices(self._names)
        names = self._names.take(order).to_numpy(zero_copy_only=False)
        return names, self._counts[order.to_numpy()]

    def _count(self) -> None:
        if not self._waiting:
            return
        # Names held already come first, so they keep their places.
        held = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), self._names)
        self._names, places = unified([held, *self._waiting])
        seen = np.bincount(places, np.concatenate(self._weights), len(self._names))
        seen[: len(self._counts)] += self._counts
        self._counts = seen.astype(np.int64)
        self._waiting, self._weights, self._waits = [], [], 0


class NameNumbers:
    """Names to their places in a list; a call hashes the whole list, so calls should be few.

    >>> pieces = [pa.array(["bob", "ann"]).dictionary_encode()]
    >>> NameNumbers(np.array(["ann", "bob"], object)).of_all(pieces)
    array([1, 0], dtype=int32)
    """

    def __init__(self, names: np.ndarray) -> None:
        self._names = pa.array(names, pa.large_string())

    def of_all(self, pieces: Sequence[pa.DictionaryArray]) -> np.ndarray:
        if not pieces:
            return np.empty(0, np.int32)
        names, places = unified(pieces)
        numbers = pc.index_in(names, value_set=self._names).to_numpy()
        return np.asarray(np.asarray(numbers, np.int32)[places])


def unified(pieces: Sequence[pa.DictionaryArray]) -> tuple[pa.Array, np.ndarray]:
    """The distinct names of all pieces, and each row's place among them."""
    wide = [
        pa.DictionaryArray.from_arrays(piece.indices, piece.dictionary.cast(pa.large_string()))
        for piece in pieces
    ]
    whole = pa.chunked_array(wide).unify_dictionaries()
    return whole.chunk(0).dictionary, np.concatenate([c.indices.to_numpy() for c in whole.chunks])


def as_names(integers: np.ndarray) -> pa.DictionaryArray:
    """Integers as text: they read back as they were written."""
    return pa.array(integers).cast(pa.string()).dictionary_encode()
