"""Ids as the data had them, and the numbers that models use instead."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


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
        given = ids if isinstance(ids, np.ndarray) else _as_array(ids)
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
                id_ = int(id_) if id_.removeprefix("-").isdecimal() else None
        elif isinstance(id_, int | np.integer) and id_ not in self._number_of_id:
            id_ = str(id_)
        return self._number_of_id.get(id_, -1)

    def with_ids(self, ids: Any) -> tuple[IdLookup, np.ndarray]:
        """Return a lookup with the unknown ids appended, and the number of each id in it."""
        given = ids if isinstance(ids, np.ndarray) else _as_array(ids)
        numbers = self.numbers(given)
        new = list(dict.fromkeys(given[numbers < 0].tolist()))
        if not new:
            return self, numbers
        both_integers = self.ids.dtype.kind in "iu" and all(isinstance(x, int) for x in new)
        added = np.array(new, np.int64) if both_integers else _as_array(new)
        own = self.ids if both_integers else self.ids.astype(object)
        lookup = IdLookup(np.concatenate([own, added]))
        return lookup, lookup.numbers(given)


def _as_array(ids: Any) -> np.ndarray:
    values = list(ids)
    if values and all(isinstance(x, int | np.integer) for x in values):
        return np.array(values, np.int64)
    out = np.empty(len(values), object)
    out[:] = values
    return out
