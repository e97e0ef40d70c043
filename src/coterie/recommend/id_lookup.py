"""Ids as the user gave them, and back to the numbers that models use."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np


class Names:
    """The ids of users or items, in the order of their numbers.

    >>> names = Names(np.array([30, 10, 20]))
    >>> names.numbers([10, 99, "20"])
    array([ 1, -1,  2])
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
    def _places(self) -> dict[Any, int]:
        return {name: number for number, name in enumerate(self.ids.tolist())}

    def numbers(self, ids: Any) -> np.ndarray:
        """The number of each id, -1 where it is unknown."""
        given = ids if isinstance(ids, np.ndarray) else _objects(ids)
        if not len(self.ids):
            return np.full(len(given), -1)
        if given.dtype.kind in "iu" and self.ids.dtype.kind in "iu":
            place = np.minimum(np.searchsorted(self._sorted, given), len(self.ids) - 1)
            return np.asarray(np.where(self._sorted[place] == given, self._order[place], -1))
        return np.array([self._number(name) for name in given.tolist()], np.int64)

    def _number(self, name: Any) -> int:
        """A text may name an integer id and the other way round: "20" is 20."""
        if self.ids.dtype.kind in "iu":
            if isinstance(name, str):
                name = int(name) if str(name).lstrip("-").isdecimal() else None
        elif isinstance(name, int | np.integer) and name not in self._places:
            name = str(name)
        return self._places.get(name, -1)

    def joined(self, ids: Any) -> tuple[Names, np.ndarray]:
        """With the unknown ones of `ids` added at the end; and the number of each id then."""
        given = ids if isinstance(ids, np.ndarray) else _objects(ids)
        numbers = self.numbers(given)
        new = list(dict.fromkeys(given[numbers < 0].tolist()))
        if not new:
            return self, numbers
        both_integers = self.ids.dtype.kind in "iu" and all(isinstance(x, int) for x in new)
        added = np.array(new, np.int64) if both_integers else _objects(new)
        own = self.ids if both_integers else self.ids.astype(object)
        names = Names(np.concatenate([own, added]))
        return names, names.numbers(given)


def _objects(ids: Any) -> np.ndarray:
    values = list(ids)
    if values and all(isinstance(x, int | np.integer) for x in values):
        return np.array(values, np.int64)
    out = np.empty(len(values), object)
    out[:] = values
    return out
