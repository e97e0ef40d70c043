"""Points at which a search is saved, and from which it continues to the same numbers.

A point is a typed state (`engine/checkpoint.py`): a dataclass or a named tuple. A search calls
`saver.save(point)` wherever it could continue from one, and begins with `saver.take(Point)`, which
returns the point that an earlier process saved; checks of its content happen in `saver.errors()`,
which names the file. A search within a search gets a saver of its own: `saver.inside(point)` saves
both points together. The random generator is saved by the checkpoint (`checkpoint.py`), which also
decides how often points are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from coterie.base.array_checks import ArrayError, check_array
from coterie.engine.checkpoint import StoredState, unpack

Point = Callable[[], Any]  # returns the present point of a search
State = TypeVar("State")


@dataclass
class SearchSaver:
    """Saves a search at its points, and returns the point of an earlier process once."""

    write: Callable[[list[Point]], None] | None = None
    saved: list[StoredState] = field(default_factory=list)  # of this search, then of those inside
    errors: Callable[[], AbstractContextManager[None]] = nullcontext  # name the file
    outer: tuple[Point, ...] = ()

    def save(self, point: Point) -> None:
        """Save this point if a checkpoint is wanted and due."""
        if self.write is not None:
            self.write([*self.outer, point])

    def take(self, kind: type[State]) -> State | None:
        """Return the point to continue from, once; None: begin.

        >>> from coterie.base.progress import Iteration
        >>> from coterie.engine.checkpoint import pack
        >>> saver = SearchSaver(saved=[pack(Iteration(1, 0.5, 3.0))])
        >>> saver.take(Iteration).entropy, saver.take(Iteration)
        (3.0, None)
        """
        if not self.saved:
            return None
        with self.errors():
            return unpack(kind, self.saved.pop(0))

    def inside(self, outer: Point) -> SearchSaver:
        """Return the saver of a search within this one, which continues from the next point."""
        return replace(self, outer=(*self.outer, outer))


def check_labels(
    labels: tuple[np.ndarray, ...], n_elements: tuple[int, ...], below: Iterable[int] | None = None
) -> None:
    """Raise ArrayError if the labels of each side, from a file, do not fit the data.

    They are below the number of elements unless said otherwise."""
    if len(labels) != len(n_elements):
        raise ArrayError(f"labels: {len(labels)} arrays instead of {len(n_elements)}")
    for array, n, k in zip(labels, n_elements, below or n_elements, strict=True):
        check_array("labels", array, np.int32, (n,), low=0, below=k)


def check_close(name: str, saved: float, computed: float) -> None:
    """Raise ArrayError if a number from a file is not that of the labels next to it."""
    if not abs(saved - computed) <= 1e-6 * max(1.0, abs(computed)):
        raise ArrayError(f"{name}: {saved} does not belong to the labels ({computed})")
