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
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from coterie.data import Ratings
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

    def append(self, ratings: Sequence[NewRating]) -> None:
        """Write ratings to the disk; OSError if that is not possible."""
        text = json.dumps({"time": datetime.now(UTC).isoformat(), "ratings": ratings})
        # The first end of line closes a line that was cut off.
        line = b"\n" + text.encode() + b"\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(file)
        finally:
            os.close(file)

    def read(self) -> list[NewRating]:
        """Return the ratings, of each user and item the last one."""
        found: dict[tuple[Any, Any], NewRating] = {}
        with contextlib.suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in file:
                with contextlib.suppress(ValueError, KeyError, TypeError):  # cut off by a crash
                    for row in json.loads(line)["ratings"]:
                        rating = NewRating(*row)
                        found.pop((rating.user, rating.item), None)
                        found[rating.user, rating.item] = rating
        return list(found.values())


def with_new_ratings(recommender: Recommender, rows: Sequence[NewRating]) -> Recommender:
    """Return a recommender that has these ratings, too; the given one does not change."""
    users = known_ids(recommender.users_, [row.user for row in rows])
    items = known_ids(recommender.items_, [row.item for row in rows])
    added = Ratings.from_arrays(users, items, [row.rating for row in rows])
    return copy.copy(recommender).fold_in(added).prepare_for_requests()


def known_ids(lookup: Any, ids: Sequence[Any]) -> list[Any]:
    """Return ids as the model has them, so that 7 and "7" are one; unknown ids as they are."""
    numbers = lookup.numbers(ids)
    own = lookup.ids[numbers.clip(0)].tolist() if len(lookup.ids) else list(ids)
    return [same if n >= 0 else given for same, n, given in zip(own, numbers, ids, strict=True)]
