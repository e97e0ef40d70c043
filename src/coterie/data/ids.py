"""Ids as the data had them, and the numbers 0..n-1 that everything else uses.

Ids are int64 or Python objects (nearly always str). They are sorted if they can be, so that the
numbering does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.base.errors import InputError
from coterie.base.lazy_modules import pyarrow_compute as pc

_SPREAD = 8  # if the range of ids is at most this many times their count, use a table


def number_ids(columns: Sequence[Any]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the distinct ids of all columns, and each column as int32 positions in them.

    >>> ids, (source, target) = number_ids([["ann", "bob"], ["bob", "cat"]])
    >>> ids.tolist(), source.tolist(), target.tolist()
    (['ann', 'bob', 'cat'], [0, 1], [1, 2])
    """
    arrays = [as_ids(column) for column in columns]
    if all(array.dtype.kind == "i" for array in arrays):
        return number_integers(arrays)
    objects = [array.astype(object) for array in arrays]
    if all(isinstance(x, str) for array in objects for x in array):
        return number_text([pa.chunked_array([pa.array(a, pa.string())]) for a in objects])
    return _number_objects(objects)


def as_ids(column: Any) -> np.ndarray:
    """Return a column of ids as int64 or objects; decimal numbers and missing ids are errors."""
    array = column if isinstance(column, np.ndarray) else _array(column)
    if array.ndim != 1:
        raise InputError(
            f"the ids have the shape {array.shape}", remedy="give a one-dimensional array"
        )
    if len(array) == 0:
        return array.astype(np.int64 if array.dtype.kind != "O" else object)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8 and int(array.max()) >= 2**63:
        return array.astype(object)
    if array.dtype.kind in "iu":
        return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
    objects = array.astype(object)
    for row, value in enumerate(objects):
        if value is None or value != value:
            raise InputError(f"the id in row {row} is missing", remedy="fill it in or drop the row")
        if isinstance(value, float):
            raise InputError(
                f"the id in row {row} is the decimal number {value}",
                remedy='give integers (for example .astype("int64")) or text',
            )
    return _array(objects)


def _array(column: Any) -> np.ndarray:
    """Return a list as an array; numpy alone would turn 1 and "a" both into text."""
    values = list(column)
    if all(type(x) is int or isinstance(x, np.integer) for x in values):
        try:
            return np.array(values, np.int64)
        except OverflowError:
            pass
    out = np.empty(len(values), object)
    out[:] = values
    return out if len(values) else np.empty(0, np.int64)


def number_integers(
    columns: list[np.ndarray], *, reuse: bool = False
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number int32 or int64 columns as `number_ids` does; `reuse` may overwrite int32 columns."""
    from coterie.kernels.io import numbering

    filled = [column for column in columns if len(column)]
    if not filled:
        return np.empty(0, np.int64), [column.astype(np.int32) for column in columns]
    low = min(int(column.min()) for column in filled)
    high = max(int(column.max()) for column in filled)
    span = high - low + 1
    if span > 1024 + _SPREAD * sum(len(column) for column in filled):
        return _number_sparse(columns)
    present = np.zeros(span, np.uint8)
    for column in columns:
        numbering.mark(column, low, present)
    ids = np.flatnonzero(present)
    if low:
        ids += low
    if len(ids) == span and low == 0 and span < 2**31:
        return ids, [column.astype(np.int32, copy=False) for column in columns]
    table = np.empty(span, np.int32)
    numbering.rank(present, table)
    in_place = [reuse and column.dtype == np.int32 for column in columns]
    numbers = [
        column if keep else np.empty(len(column), np.int32)
        for column, keep in zip(columns, in_place, strict=True)
    ]
    for column, out in zip(columns, numbers, strict=True):
        numbering.renumber(column, low, table, out)
    return ids, numbers


def _number_sparse(columns: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number integers with a hash table, if their range is too large for an array."""
    chunks = [pa.array(column, pa.int64()) for column in columns]
    encoded = pa.chunked_array(chunks).dictionary_encode()
    distinct = encoded.chunk(0).dictionary.to_numpy()
    order = np.argsort(distinct)
    return distinct[order], _ranked(encoded, order, [len(column) for column in columns])


def number_text(
    columns: list[pa.ChunkedArray],
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number text columns, plain or dictionary-encoded in chunks; sorted by code point."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    if not chunks:
        return np.empty(0, object), [np.empty(0, np.int32) for _ in columns]
    whole = pa.chunked_array(chunks)
    encoded = (
        whole.unify_dictionaries()
        if pa.types.is_dictionary(whole.type)
        else whole.dictionary_encode()
    )
    dictionary = encoded.chunk(0).dictionary
    order = pc.sort_indices(dictionary).to_numpy()
    ids = dictionary.take(pa.array(order)).to_numpy(zero_copy_only=False)
    return ids, _ranked(encoded, order, [len(column) for column in columns])


def integers_as_text(integers: np.ndarray) -> pa.DictionaryArray:
    """Return integers as dictionary-encoded text, as they were written in the file."""
    return pa.array(integers).cast(pa.string()).dictionary_encode()


def _ranked(encoded: pa.ChunkedArray, order: np.ndarray, lengths: list[int]) -> list[np.ndarray]:
    """Return the codes of columns of these lengths, renumbered by the order of the dictionary."""
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    numbers = np.concatenate([places[chunk.indices.to_numpy()] for chunk in encoded.chunks])
    return np.split(numbers, np.cumsum(lengths)[:-1])


def _number_objects(columns: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Number any hashable ids, such as tuples: sorted if they can be, else as they appear."""
    try:
        distinct = dict.fromkeys(x for column in columns for x in column)
    except TypeError as error:
        raise InputError(
            f"an id is not hashable: {error}", remedy="use integers or text"
        ) from error
    names = list(distinct)
    try:
        names.sort()
    except TypeError:
        names = list(distinct)
    place = {name: i for i, name in enumerate(names)}
    ids = np.empty(len(names), object)
    ids[:] = names
    return ids, [np.array([place[x] for x in c], np.int32) for c in columns]


def written_integer(name: str) -> int:
    """Return the integer if the text is its usual form; raise ValueError if not ("007").

    >>> written_integer("-12")
    -12
    """
    if not name.isascii() or len(name) > 20 or str(int(name)) != name or abs(int(name)) >= 2**63:
        raise ValueError(name)
    return int(name)


def ids_from_text(names: Sequence[str]) -> np.ndarray:
    """Return ids as int64 if every one is an integer in its usual form, else as text.

    >>> ids_from_text(["7", "12"]), ids_from_text(["007", "12"])
    (array([ 7, 12]), array(['007', '12'], dtype=object))
    """
    try:
        return np.array([written_integer(name) for name in names], np.int64)
    except ValueError:
        ids = np.empty(len(names), object)
        ids[:] = list(names)
        return ids


class IdLookup:
    """The ids of users or items, in the order of their numbers.

    >>> lookup = IdLookup(np.array([30, 10, 20]))
    >>> lookup.numbers([10, 99, "20"])
    array([ 1, -1,  2])
    >>> lookup.numbers(["--20", "-", ""])
    array([-1, -1, -1])
    """

    def __init__(self, ids: np.ndarray) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _order(self) -> np.ndarray:
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _sorted(self) -> np.ndarray:
        return np.asarray(self.ids[self._order])

    @cached_property
    def _number_of_id(self) -> dict[Any, int]:
        return {id_: number for number, id_ in enumerate(self.ids.tolist())}

    def numbers(self, ids: Any) -> np.ndarray:
        """Return the number of each id, -1 if it is unknown."""
        given = ids if isinstance(ids, np.ndarray) else _array(ids)
        if not len(self.ids):
            return np.full(len(given), -1)
        if given.dtype.kind in "iu" and self.ids.dtype.kind in "iu":
            place = np.minimum(np.searchsorted(self._sorted, given), len(self.ids) - 1)
            return np.asarray(np.where(self._sorted[place] == given, self._order[place], -1))
        return np.array([self._number(id_) for id_ in given.tolist()], np.int64)

    def _number(self, id_: Any) -> int:
        """Return the number of one id; "20" also finds the integer id 20, and 20 the text "20"."""
        if self.ids.dtype.kind in "iu":
            if isinstance(id_, str):
                try:
                    id_ = written_integer(id_)
                except ValueError:
                    return -1
        elif isinstance(id_, int | np.integer) and id_ not in self._number_of_id:
            id_ = str(id_)
        return self._number_of_id.get(id_, -1)

    def with_ids(self, ids: Any) -> tuple[IdLookup, np.ndarray]:
        """Return a lookup with the unknown ids appended, and the number of each id in it."""
        given = ids if isinstance(ids, np.ndarray) else _array(ids)
        numbers = self.numbers(given)
        new = list(dict.fromkeys(given[numbers < 0].tolist()))
        if not new:
            return self, numbers
        both_integers = self.ids.dtype.kind in "iu" and all(isinstance(x, int) for x in new)
        added = np.array(new, np.int64) if both_integers else _array(new)
        own = self.ids if both_integers else self.ids.astype(object)
        lookup = IdLookup(np.concatenate([own, added]))
        return lookup, lookup.numbers(given)


def require_distinct(ids: np.ndarray) -> None:
    """Raise InputError for ids that occur more than once."""
    if len(set(ids.tolist())) < len(ids):
        names, counts = np.unique(ids.astype(str), return_counts=True)
        raise InputError(
            f"the id {names[np.argmax(counts)]!r} is used {counts.max()} times",
            remedy="use each id once",
        )
