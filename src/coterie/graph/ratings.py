"""Ratings: who gave what to which item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coterie.base.errors import InputError


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
        return self.values[self.codes]

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
        users: object,
        items: object,
        values: object,
        *,
        timestamps: object = None,
        merge: bool = True,
    ) -> Ratings:
        """Build from ids and numbers; with `merge` the last rating of a pair stands (by timestamp
        where there is one), without it repeats are observations of their own."""
        user_ids, u = np.unique(np.asarray(users), return_inverse=True)
        item_ids, i = np.unique(np.asarray(items), return_inverse=True)
        r = np.asarray(values, np.float64)
        if not len(u) == len(i) == len(r):
            raise InputError(f"{len(u)} users, {len(i)} items and {len(r)} ratings do not line up")
        if not np.isfinite(r).all():
            raise InputError(f"rating number {int(np.argmin(np.isfinite(r)))} is not finite")
        t = None if timestamps is None else np.asarray(timestamps)
        keep = np.arange(len(r))
        if merge and len(r):
            order = np.lexsort(
                (keep, t, u * len(item_ids) + i) if t is not None else (keep, u * len(item_ids) + i)
            )
            pair = (u * len(item_ids) + i)[order]
            keep = np.sort(order[np.r_[pair[1:] != pair[:-1], True]])
        grid, codes = np.unique(r[keep], return_inverse=True)
        return cls(
            u[keep].astype(np.int32),
            i[keep].astype(np.int32),
            codes.astype(np.int32),
            grid,
            user_ids,
            item_ids,
            None if t is None else t[keep],
            len(r) - len(keep),
        )

    def __repr__(self) -> str:
        span = f", values {self.values[0]:g}..{self.values[-1]:g}" if len(self.values) else ""
        return (
            f"Ratings({self.n_users:,} users, {self.n_items:,} items, {len(self):,} ratings{span})"
        )
