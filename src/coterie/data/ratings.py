"""Ratings: who gave what to which item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from coterie.base.errors import InputError
from coterie.data.ids import number_ids

if TYPE_CHECKING:
    import pandas
    import polars


class NodeRatings(NamedTuple):
    """All ratings of one user (or item), known to a model or new.

    New users and items have the numbers that follow the last known one, without gaps.
    """

    number: int
    others: np.ndarray  # int64, the rated items (or the users who rated)
    levels: np.ndarray  # int64, positions of the ratings in the sorted distinct values


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """A table of ratings, one row each, in the order given.

    `codes[i]` is the place of row i's rating in `values`, the sorted distinct ratings: the
    configurations R of the paper.

    >>> r = Ratings.from_arrays(["ann", "bob", "ann"], ["x", "x", "y"], [3, 5, 3])
    >>> r
    Ratings(2 users, 2 items, 3 ratings, values 3..5)
    >>> r.codes
    array([0, 1, 0], dtype=int32)
    """

    users: np.ndarray  # int32, row -> user number
    items: np.ndarray  # int32, row -> item number
    codes: np.ndarray  # int32, row -> place in values
    values: np.ndarray  # float64, sorted, distinct
    user_ids: np.ndarray  # int64 or str objects
    item_ids: np.ndarray
    timestamps: np.ndarray | None = None  # int64 or float64, row -> time
    duplicates: int = 0  # earlier ratings of a pair that a later one replaced

    @property
    def n_users(self) -> int:
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        return len(self.item_ids)

    def __len__(self) -> int:
        return len(self.users)

    @property
    def ratings(self) -> np.ndarray:
        """The rating of each row as a number."""
        return np.asarray(self.values[self.codes])

    def take(self, rows: np.ndarray) -> Ratings:
        """These rows, with the same users, items and values (a fold, a sample)."""
        return Ratings(
            self.users[rows],
            self.items[rows],
            self.codes[rows],
            self.values,
            self.user_ids,
            self.item_ids,
            None if self.timestamps is None else self.timestamps[rows],
        )

    @classmethod
    def from_arrays(
        cls,
        users: Any,
        items: Any,
        values: Any,
        *,
        timestamps: Any = None,
        merge: bool = True,
    ) -> Ratings:
        """Build from ids and numbers; with `merge` the last rating of a pair stands (by timestamp
        where there is one), without it repeats are observations of their own."""
        user_ids, [u] = number_ids([users])
        item_ids, [i] = number_ids([items])
        return cls.from_numbers(
            u, i, values, user_ids, item_ids, timestamps=timestamps, merge=merge
        )

    @classmethod
    def from_numbers(
        cls,
        users: np.ndarray,
        items: np.ndarray,
        values: Any,
        user_ids: np.ndarray,
        item_ids: np.ndarray,
        *,
        timestamps: Any = None,
        merge: bool = True,
    ) -> Ratings:
        """Build from user and item numbers and the ids that they stand for."""
        r = _finite("rating", values)
        t = None if timestamps is None else _finite("timestamp", timestamps)
        lengths = {len(column) for column in (users, items, r, t) if column is not None}
        if len(lengths) > 1:
            raise InputError(
                f"{len(users)} users, {len(items)} items and {len(r)} ratings do not line up",
                remedy="give one of each a row",
            )
        keep = _last_of_each_pair(users, items, len(item_ids), t) if merge else slice(None)
        grid, codes = np.unique(r[keep], return_inverse=True)
        return cls(
            users[keep].astype(np.int32, copy=False),
            items[keep].astype(np.int32, copy=False),
            codes.astype(np.int32),
            grid.astype(np.float64),
            user_ids,
            item_ids,
            None if t is None else t[keep],
            len(r) - len(codes),
        )

    @classmethod
    def from_pandas(
        cls,
        frame: pandas.DataFrame,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        timestamp: str | None = None,
        merge: bool = True,
    ) -> Ratings:
        """From a table; columns by the names given, else by known names, else the first three."""
        from coterie.data.dataframes import ratings_from_frame

        return ratings_from_frame(frame, user, item, rating, timestamp, merge)

    from_polars = from_pandas

    def to_pandas(self) -> pandas.DataFrame:
        """A table user, item, rating and, where there are some, timestamp."""
        from coterie.data.dataframes import rating_columns, require

        frame: pandas.DataFrame = require("pandas").DataFrame(rating_columns(self))
        return frame

    def to_polars(self) -> polars.DataFrame:
        """As `to_pandas`, in polars."""
        from coterie.data.dataframes import rating_columns, require

        frame: polars.DataFrame = require("polars").DataFrame(rating_columns(self))
        return frame

    @classmethod
    def from_scipy(cls, matrix: Any, *, user_ids: Any = None, item_ids: Any = None) -> Ratings:
        """From a sparse users x items matrix whose stored entries are the ratings (0 included)."""
        from coterie.data.matrices import ratings_from_scipy

        return ratings_from_scipy(matrix, user_ids, item_ids)

    def to_scipy(self) -> csr_array:
        """The sparse users x items matrix of ratings; a rating of 0 is a stored entry."""
        if len(np.unique(self.users.astype(np.int64) * self.n_items + self.items)) < len(self):
            raise InputError(
                "a pair is rated twice, and a matrix has one place for it",
                remedy="merge the ratings first",
            )
        shape = (self.n_users, self.n_items)
        return csr_array((self.ratings, (self.users, self.items)), shape=shape)

    @classmethod
    def from_numpy(cls, matrix: Any, *, user_ids: Any = None, item_ids: Any = None) -> Ratings:
        """From a users x items array with NaN where there is no rating."""
        from coterie.data.matrices import ratings_from_numpy

        return ratings_from_numpy(matrix, user_ids, item_ids)

    def to_numpy(self) -> np.ndarray:
        """The users x items array, NaN where there is no rating; for small tables."""
        matrix = np.full((self.n_users, self.n_items), np.nan)
        matrix[self.users, self.items] = self.ratings
        return matrix

    def __repr__(self) -> str:
        span = f", values {self.values[0]:g}..{self.values[-1]:g}" if len(self.values) else ""
        return (
            f"Ratings({self.n_users:,} users, {self.n_items:,} items, {len(self):,} ratings{span})"
        )


def _finite(name: str, column: Any) -> np.ndarray:
    """A column of finite numbers; integers stay integers."""
    try:
        array = np.asarray(column)
        array = array if array.dtype.kind in "iu" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"a {name} is not a number: {error}") from error
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{name} number {row} is {array[row]}", remedy="mend it or leave the row out"
        )
    return array


def _last_of_each_pair(
    users: np.ndarray, items: np.ndarray, n_items: int, times: np.ndarray | None
) -> np.ndarray:
    """Rows to keep, in order: of each pair the latest, and of equally late ones the last."""
    pair = users.astype(np.int64) * n_items + items
    by_time = pair.argsort(kind="stable") if times is None else np.lexsort((times, pair))
    ordered = pair[by_time]
    last = np.ones(len(pair), bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    return np.sort(by_time[last])
