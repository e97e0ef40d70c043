"""A table of ratings: which user gave which rating to which item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data import foreign
from coterie.data.column_roles import WantedColumns
from coterie.data.foreign import AsFrames, TableColumns
from coterie.data.ids import number_ids

if TYPE_CHECKING:
    import pandas
    from scipy.sparse import csr_array


class NodeRatings(NamedTuple):
    """All ratings of one user (or item), known to a model or new.

    New users and items have the numbers that follow the last known one, without gaps.
    """

    number: int
    others: np.ndarray  # int64, the rated items (or the users who rated)
    levels: np.ndarray  # int64, positions of the ratings in the sorted distinct values


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(AsFrames):
    """A table of ratings, one row per rating, in the order of the data.

    Build a table with `read_ratings` or one of the `from_...` methods, not with the constructor.

    Parameters
    ----------
    users, items : ndarray of int32 of shape (n_ratings,)
        The user number and the item number of each rating.
    codes : ndarray of int32 of shape (n_ratings,)
        The position of each rating in `values`.
    values : ndarray of float64
        The distinct ratings in increasing order: the levels of the rating scale.
    user_ids, item_ids : ndarray of int64 or object
        The id of each user number and of each item number, as the data had them.
    timestamps : ndarray of shape (n_ratings,), optional
        The time of each rating.
    duplicates : int, default=0
        How many earlier ratings of the same pair were replaced by later ones.

    Attributes
    ----------
    n_users, n_items : int
        Number of users and of items.
    ratings : ndarray of float64 of shape (n_ratings,)
        The ratings themselves: `values[codes]`.

    See Also
    --------
    read_ratings : Read ratings from a file.

    Examples
    --------
    >>> import coterie as ct
    >>> r = ct.Ratings.from_arrays(["ann", "bob", "ann"], ["x", "x", "y"], [3, 5, 3])
    >>> r
    Ratings(2 users, 2 items, 3 ratings, values 3..5)
    >>> len(r), r.codes
    (3, array([0, 1, 0], dtype=int32))
    """

    users: np.ndarray
    items: np.ndarray
    codes: np.ndarray
    values: np.ndarray
    user_ids: np.ndarray
    item_ids: np.ndarray
    timestamps: np.ndarray | None = None
    duplicates: int = 0

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.item_ids)

    def __len__(self) -> int:
        return len(self.users)

    @property
    def ratings(self) -> np.ndarray:
        """The ratings themselves, one per row."""
        return np.asarray(self.values[self.codes])

    def take(self, rows: np.ndarray) -> Ratings:
        """Return some of the rows, with the same users, items and values.

        Parameters
        ----------
        rows : ndarray of int or bool
            The row numbers, or a mask.

        Returns
        -------
        Ratings
            A table in which users and items have the same numbers as before.

        Examples
        --------
        >>> import coterie as ct
        >>> r = ct.Ratings.from_arrays([1, 2], [7, 8], [3, 5])
        >>> r.take([1]).n_users, len(r.take([1]))
        (2, 1)
        """
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
        """Build a table from arrays of ids and ratings.

        Parameters
        ----------
        users, items : array-like of int or str of shape (n_ratings,)
            The ids.
        values : array-like of float of shape (n_ratings,)
            The ratings; 1 for every pair if the table holds likes.
        timestamps : array-like of shape (n_ratings,), optional
            The time of each rating, as a number.
        merge : bool, default=True
            Whether only the last rating of a pair counts: the one with the latest timestamp, or
            without timestamps, the last one given. If False, every rating counts.

        Returns
        -------
        Ratings
            The table.

        Raises
        ------
        InputError
            If the arrays have different lengths, or a rating is not a finite number.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.Ratings.from_arrays(["ann", "ann"], ["x", "x"], [1, 5]).ratings
        array([5.])
        """
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
        """Build a table from user and item numbers, and the ids that belong to them.

        Parameters
        ----------
        users, items : ndarray of int of shape (n_ratings,)
            User and item numbers: positions in `user_ids` and `item_ids`.
        values : array-like of float of shape (n_ratings,)
            The ratings.
        user_ids, item_ids : ndarray
            The ids, also of users and items without ratings.
        timestamps : array-like of shape (n_ratings,), optional
            The time of each rating, as a number.
        merge : bool, default=True
            Whether only the last rating of a pair counts.

        Returns
        -------
        Ratings
            The table.
        """
        r = _finite("rating", values)
        t = None if timestamps is None else _finite("timestamp", timestamps)
        lengths = {len(column) for column in (users, items, r, t) if column is not None}
        if len(lengths) > 1:
            raise InputError(
                f"{len(users)} users, {len(items)} items and {len(r)} ratings",
                remedy="give one user, one item and one rating per row",
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
        """Build a table from a data frame; also available as `from_polars`.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            One row per rating.
        user, item, rating : str, optional
            The columns with the ids and the ratings. By default, columns with known names such as
            "userId", "movieId" and "rating", or else the first three.
        timestamp : str, optional
            The column with the times. By default, a column with a known name, if there is one.
        merge : bool, default=True
            Whether only the last rating of a pair counts.

        Returns
        -------
        Ratings
            The table.

        Examples
        --------
        >>> import coterie as ct
        >>> import pandas
        >>> frame = pandas.DataFrame({"user": ["ann"], "item": ["x"], "rating": [4]})
        >>> ct.Ratings.from_pandas(frame)
        Ratings(1 users, 1 items, 1 ratings, values 4..4)
        """
        given = {"user": user, "item": item, "rating": rating, "timestamp": timestamp}
        chosen = tuple((what, name) for what, name in given.items() if name is not None)
        wanted = WantedColumns(("user", "item"), ("rating",), ("timestamp",), chosen)
        found = foreign.choose_columns(frame, wanted)
        u, i, r, t = (
            None if name not in found else foreign.frame_column(frame, found[name])
            for name in given
        )
        if t is not None and t.dtype.kind not in "iuf":
            t = t.astype("int64")
        return cls.from_arrays(u, i, r, timestamps=t, merge=merge)

    from_polars = from_pandas

    def _frame_columns(self) -> TableColumns:
        return foreign.rating_columns(self)

    @classmethod
    def from_scipy(cls, matrix: Any, *, user_ids: Any = None, item_ids: Any = None) -> Ratings:
        """Build a table from a sparse matrix of ratings.

        Parameters
        ----------
        matrix : scipy sparse matrix or array of shape (n_users, n_items)
            Every stored entry is a rating, also a stored 0.
        user_ids : array-like of shape (n_users,), optional
            The ids of the rows. By default, 0..n-1.
        item_ids : array-like of shape (n_items,), optional
            The ids of the columns. By default, 0..n-1.

        Returns
        -------
        Ratings
            The table.
        """
        entries = foreign.sparse_entries(matrix)
        ids = (
            foreign.line_ids(matrix.shape[0], user_ids),
            foreign.line_ids(matrix.shape[1], item_ids),
        )
        return cls.from_numbers(entries.row, entries.col, entries.data, *ids)

    def to_scipy(self) -> csr_array:
        """Return the ratings as a sparse matrix.

        Returns
        -------
        scipy.sparse.csr_array of shape (n_users, n_items)
            The ratings; a rating of 0 is a stored entry.

        Raises
        ------
        InputError
            If a pair has more than one rating.
        """
        if len(np.unique(self.users.astype(np.int64) * self.n_items + self.items)) < len(self):
            raise InputError(
                "a pair has more than one rating, and a matrix has one entry per pair",
                remedy="build the table with `merge=True`",
            )
        shape = (self.n_users, self.n_items)
        from scipy.sparse import csr_array  # here: loading it takes 0.2 s

        return csr_array((self.ratings, (self.users, self.items)), shape=shape)

    @classmethod
    def from_numpy(cls, matrix: Any, *, user_ids: Any = None, item_ids: Any = None) -> Ratings:
        """Build a table from an array of ratings.

        Parameters
        ----------
        matrix : array-like of shape (n_users, n_items)
            The ratings; NaN where there is none.
        user_ids : array-like of shape (n_users,), optional
            The ids of the rows. By default, 0..n-1.
        item_ids : array-like of shape (n_items,), optional
            The ids of the columns. By default, 0..n-1.

        Returns
        -------
        Ratings
            The table.
        """
        array = np.asarray(matrix, np.float64)
        if array.ndim != 2:
            raise InputError(
                f"the ratings have the shape {array.shape}", remedy="give users x items"
            )
        users, items = np.nonzero(~np.isnan(array))
        ids = foreign.line_ids(array.shape[0], user_ids), foreign.line_ids(array.shape[1], item_ids)
        return cls.from_numbers(users, items, array[users, items], *ids)

    def to_numpy(self) -> np.ndarray:
        """Return the ratings as an array; for small tables.

        Returns
        -------
        ndarray of shape (n_users, n_items)
            The ratings; NaN where there is none.
        """
        matrix = np.full((self.n_users, self.n_items), np.nan)
        matrix[self.users, self.items] = self.ratings
        return matrix

    def __repr__(self) -> str:
        span = f", values {self.values[0]:g}..{self.values[-1]:g}" if len(self.values) else ""
        return (
            f"Ratings({self.n_users:,} users, {self.n_items:,} items, {len(self):,} ratings{span})"
        )


def _finite(name: str, column: Any) -> np.ndarray:
    """Return a column of finite numbers; integers stay integers."""
    try:
        array = np.asarray(column)
        array = array if array.dtype.kind in "iu" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"a {name} is not a number: {error}") from error
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"{name} number {row} is {array[row]}", remedy="fix the value or leave out the row"
        )
    return array


def _last_of_each_pair(
    users: np.ndarray, items: np.ndarray, n_items: int, times: np.ndarray | None
) -> np.ndarray:
    """Return the rows to keep, in order: the latest of each pair, at equal times the last one."""
    pair = users.astype(np.int64) * n_items + items
    by_time = pair.argsort(kind="stable") if times is None else np.lexsort((times, pair))
    ordered = pair[by_time]
    last = np.ones(len(pair), bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    return np.sort(by_time[last])
