"""Points at which a search is saved, and from which it continues to the same numbers.

A search calls `saver.save(self.point)` wherever it could continue from labels and a few numbers,
and begins with `saver.take()`, which returns the point that an earlier process saved; what it does
with it happens in `saver.errors()`, which names the file if the content is wrong. A search
within a search gets a saver of its own: `saver.inside(self.point)` saves both points together. The
random generator is saved by the checkpoint (`checkpoint.py`), which also decides how often a point
is written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.json_values import JsonObject

_INNER = "inner"


class SavedSearch(NamedTuple):
    """A point of a search: arrays by name, and everything else as JSON."""

    arrays: dict[str, np.ndarray]
    facts: JsonObject

    def inner(self) -> SavedSearch | None:
        """Return the point of the search within this one; None if there was none."""
        if _INNER not in self.facts:
            return None
        prefix = f"{_INNER}/"
        arrays = {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}
        return SavedSearch(arrays, self.facts[_INNER])

    def around(self, inner: SavedSearch) -> SavedSearch:
        """Return this point with that of the search within it.

        >>> both = SavedSearch({}, {"run": 2}).around(SavedSearch({}, {"round": 5}))
        >>> both.facts["run"], both.inner().facts
        (2, {'round': 5})
        """
        arrays = {f"{_INNER}/{name}": array for name, array in inner.arrays.items()}
        return SavedSearch({**self.arrays, **arrays}, {**self.facts, _INNER: inner.facts})


Point = Callable[[], SavedSearch]


@dataclass
class SearchSaver:
    """Saves a search at its points, and returns the point of an earlier process once."""

    write: Callable[[Point], None] | None = None
    saved: SavedSearch | None = None
    errors: Callable[[], AbstractContextManager[None]] = nullcontext  # name the file

    def save(self, point: Point) -> None:
        """Save this point if a checkpoint is wanted and due."""
        if self.write is not None:
            self.write(point)

    def take(self) -> SavedSearch | None:
        """Return the point to continue from, once; None: begin."""
        saved, self.saved = self.saved, None
        return saved

    def inside(self, outer: Point, saved: SavedSearch | None = None) -> SearchSaver:
        """Return the saver of a search within this one; `saved` is the point to continue from."""
        write = self.write
        if write is None:
            return SearchSaver(None, saved, self.errors)
        both = lambda point: write(lambda: outer().around(point()))  # noqa: E731
        return SearchSaver(both, saved, self.errors)


def saved_labels(point: SavedSearch, name: str, n: int, below: int | None = None) -> np.ndarray:
    """Return labels of n elements from a file, checked; they are below n unless said otherwise."""
    return check_array(
        name, point.arrays.get(name), np.int32, (n,), low=0, below=n if below is None else below
    )


def check_close(name: str, saved: float, computed: float) -> None:
    """Raise ArrayError if a number from a file is not that of the labels next to it."""
    if not abs(saved - computed) <= 1e-6 * max(1.0, abs(computed)):
        raise ArrayError(f"{name}: {saved} does not belong to the labels ({computed})")
