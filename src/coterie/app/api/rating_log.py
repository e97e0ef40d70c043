"""New ratings of a running server, kept in a file: they survive restarts and replaced models.

One line of JSON per request, written to the disk before the request is answered. A line that was
cut off by a crash was never confirmed to anybody and is ignored.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from coterie.data import Ratings
from coterie.data.atomic_files import atomic_write
from coterie.recommend.recommender import Recommender


class NewRating(NamedTuple):
    """A rating that was given while the server ran."""

    user: Any
    item: Any
    rating: float


class RatingLog:
    """The file of new ratings; several processes may append to it.

    Parameters
    ----------
    path : pathlib.Path
        The file. It is made when the first rating comes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_read = 0  # ratings that the last `read` found, outdated ones included

    @property
    def signature(self) -> tuple[int, int] | None:
        """What changes when the file changes; None if there is no file."""
        with contextlib.suppress(OSError):
            found = self.path.stat()
            return found.st_ino, found.st_size
        return None

    def append(self, ratings: Sequence[NewRating]) -> None:
        """Write ratings to the disk; OSError if that is not possible, and nothing is kept then."""
        text = json.dumps({"time": datetime.now(UTC).isoformat(), "ratings": ratings})
        with self._locked() as file:
            size = os.fstat(file).st_size
            cut_off = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            line = b"\n" * cut_off + text.encode() + b"\n"
            try:
                if os.write(file, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file)
            except OSError:
                os.ftruncate(file, size)
                raise

    def compact(self) -> None:
        """Keep the last rating of each user and item, if half of the ratings are outdated."""
        if self.signature is None:
            return
        with self._locked():
            rows = self.read()
            if self.n_read < 2 * max(len(rows), 1):
                return
            kept = json.dumps({"time": datetime.now(UTC).isoformat(), "ratings": rows})
            with atomic_write(self.path, permissions=0o600) as file:
                file.write(kept + "\n")

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """Open the file, which nobody else writes to or replaces meanwhile."""
        while True:
            is_new = not self.path.exists()
            file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                with contextlib.suppress(ImportError):  # Windows
                    import fcntl

                    fcntl.flock(file, fcntl.LOCK_EX)
                if not (self.path.exists() and os.path.samestat(os.fstat(file), self.path.stat())):
                    continue  # it was compacted meanwhile
                if is_new:  # its name is on the disk, too
                    folder = os.open(self.path.parent, os.O_RDONLY)
                    os.fsync(folder)
                    os.close(folder)
                yield file
                return
            finally:
                os.close(file)

    def read(self) -> list[NewRating]:
        """Return the ratings, of each user and item the last one."""
        found: dict[tuple[Any, Any], NewRating] = {}
        self.n_read = 0
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in file:
                with contextlib.suppress(ValueError, KeyError, TypeError):  # cut off by a crash
                    for row in json.loads(line)["ratings"]:
                        rating = NewRating(*row)
                        self.n_read += 1
                        found.pop((rating.user, rating.item), None)
                        found[rating.user, rating.item] = rating
        return list(found.values())


def with_new_ratings(recommender: Recommender, rows: Sequence[NewRating]) -> Recommender:
    """Return a recommender that has these ratings, too; the given one does not change.

    Ratings outside the scale of the model, which may be newer than they are, are left out.
    """
    low, high = recommender.predictor_.limits
    users: Sequence[Any] = known_ids(recommender.users_, [row.user for row in rows])
    items: Sequence[Any] = known_ids(recommender.items_, [row.item for row in rows])
    pairs = {
        (user, item): row.rating
        for user, item, row in zip(users, items, rows, strict=True)
        if low <= row.rating <= high
    }
    if not pairs:
        return recommender
    users, items = zip(*pairs, strict=True)
    added = Ratings.from_arrays(users, items, list(pairs.values()))
    return copy.copy(recommender).fold_in(added).prepare_for_requests()


def known_ids(lookup: Any, ids: Sequence[Any]) -> list[Any]:
    """Return ids as the model has them, so that 7 and "7" are one; unknown ids as they are."""
    numbers = lookup.numbers(ids)
    own = lookup.ids[numbers.clip(0)].tolist() if len(lookup.ids) else list(ids)
    return [same if n >= 0 else given for same, n, given in zip(own, numbers, ids, strict=True)]
