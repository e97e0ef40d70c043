"""Item regression: every item is predicted from the other items of a user (EASE).

The coefficients B minimise |X - X B|² + p |B|² with a diagonal of 0, over all users and all items,
observed or not. With P = (XᵀX + p I)⁻¹ they are B = I - P / diag(P), column by column. For users
with the rows Z the scores are Z B = Z - (Z P) / diag(P).

If there are fewer users than items, P = (I - Xᵀ K X) / p with K = (X Xᵀ + p I)⁻¹, so that only a
matrix of users x users is needed. Beyond `MAX_SIDE` users and items, only the most popular items
take part; the others have the score 0 here and are ranked by the factors.

H. Steck. Embarrassingly shallow autoencoders for sparse data. WWW 2019.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.errors import InputError
from coterie.base.lazy_modules import scipy_lapack as lapack

MAX_SIDE = 8000  # of the matrix that is inverted: 256 MB as float32
MAX_TABLE = 4000  # items of a table of all coefficients: 64 MB
_TABLE_ROWS = 256  # computed at once
_GRAM_COLUMNS = 1024  # computed at once


@dataclass(frozen=True, eq=False)
class ItemRegression:
    """The inverse matrix of an item regression, on the side of the items or of the users."""

    inverse: np.ndarray  # float32; items x items (P), or users x users (K)
    diagonal: np.ndarray  # float64, diag(P), one per item that takes part
    penalty: float
    items: np.ndarray  # int64, the items that take part, increasing
    n_items: int  # that the scores have
    rows: csr_array | None  # float32, training users x items of the regression, if K is stored
    added: np.ndarray  # float32, coefficients of items added later: items of the regression x added
    table: np.ndarray | None = None  # float32, items of the regression x items: all coefficients

    @classmethod
    def fit(cls, pairs: csr_array, penalty: float, max_side: int = MAX_SIDE) -> Self:
        """Fit to a 0/1 table of users x items."""
        n_items = pairs.shape[1]
        counts = np.bincount(pairs.indices, minlength=n_items)
        items = np.flatnonzero(counts > 0)
        active = pairs[np.diff(pairs.indptr) > 0]
        by_users = active.shape[0] < len(items) and active.shape[0] <= max_side
        if not by_users and len(items) > max_side:
            popular = np.argsort(-counts, kind="stable")[:max_side]
            items = np.sort(popular)
        X = csr_array(active[:, items], dtype=np.float32)
        gram = _lower_gram(csr_array(X.T) if by_users else X)
        inverse = _inverse_of_positive(gram, penalty)
        if by_users:
            leverage = np.zeros(len(items))
            for begin in range(0, len(items), 2048):
                part = np.asarray(X[:, begin : begin + 2048].todense())
                leverage[begin : begin + 2048] = np.einsum("uv,uv->v", part, inverse @ part)
            diagonal = (1 - leverage) / penalty
        else:
            diagonal = np.diag(inverse).astype(np.float64)
        added = np.empty((len(items), 0), np.float32)
        return cls(
            inverse,
            np.maximum(diagonal, 1e-12),
            float(penalty),
            items.astype(np.int64),
            n_items,
            X if by_users else None,
            added,
        )

    def _times_p(self, z: csr_array) -> np.ndarray:
        """Return z P for rows over the items that take part."""
        if self.rows is None:
            return np.asarray(z @ self.inverse)
        own = z.toarray()
        overlap = (self.rows @ own.T).T
        explained = (self._rows_by_item @ (overlap @ self.inverse).T).T
        return np.asarray((own - explained) / np.float32(self.penalty))

    @cached_property
    def _rows_by_item(self) -> csr_array:
        """The training rows with an index of the other side, which takes long to build."""
        assert self.rows is not None
        return csr_array(self.rows.T)

    def scores(self, pairs: csr_array) -> np.ndarray:
        """Return the scores of all items for users with these pairs: users x items."""
        everything = len(self.items) == pairs.shape[1]
        z = csr_array(pairs if everything else pairs[:, self.items], dtype=np.float32)
        own = z.toarray() - self._times_p(z) / self.diagonal
        out = np.zeros((pairs.shape[0], self.n_items), np.float32)
        out[:, self.items] = own
        if self.added.shape[1]:
            out[:, self.n_items - self.added.shape[1] :] = z @ self.added
        return out

    def with_table(self) -> Self:
        """Return a regression that has all coefficients at hand, so that one user is quick.

        Without effect if the table would be large, or would save nothing.
        """
        if self.rows is None or len(self.items) > MAX_TABLE:
            return self
        table = np.zeros((len(self.items), self.n_items), np.float32)
        for begin in range(0, len(self.items), _TABLE_ROWS):
            end = min(begin + _TABLE_ROWS, len(self.items))
            unit = csr_array(np.eye(end - begin, len(self.items), begin, np.float32))
            table[begin:end, self.items] = unit.toarray() - self._times_p(unit) / self.diagonal
        table[:, self.n_items - self.added.shape[1] :] = self.added
        return replace(self, table=table)

    def scores_of_one(self, own: np.ndarray) -> np.ndarray:
        """Return the scores of all items for one user, who has these items (increasing)."""
        if self.table is None:
            begins = np.array([0, len(own)])
            one = csr_array((np.ones(len(own)), own, begins), shape=(1, self.n_items))
            return np.asarray(self.scores(one)[0])
        place = np.searchsorted(self.items, own)
        inside = place < len(self.items)
        place, own = place[inside], own[inside]
        return np.asarray(self.table[place[self.items[place] == own]].sum(axis=0))

    def coefficients(self, item: int) -> np.ndarray:
        """Return how much each of the items adds to the score of one item."""
        out = np.zeros(self.n_items)
        first_added = self.n_items - self.added.shape[1]
        if item >= first_added:
            out[self.items] = self.added[:, item - first_added]
            return out
        place = int(np.searchsorted(self.items, item))
        if place == len(self.items) or self.items[place] != item:
            return out
        unit = csr_array(([1.0], ([0], [place])), shape=(1, len(self.items)), dtype=np.float32)
        out[self.items] = -self._times_p(unit)[0] / self.diagonal[place]
        out[item] = 0.0
        return out

    def contributions(self, own: np.ndarray, item: int) -> np.ndarray:
        """Return how much each of a user's own items adds to the score of one item."""
        return np.asarray(self.coefficients(item)[own])

    def with_items(self, users_of_items: csr_array, pairs: csr_array) -> Self:
        """Return a regression with items added.

        `users_of_items` (added items x users) says who has each added item, and `pairs` which of
        the old items these users have.
        """
        z = csr_array(pairs[:, self.items], dtype=np.float32)
        together = csr_array(users_of_items.astype(np.float32) @ z)
        coefficients = self._times_p(together).T.astype(np.float32)
        return replace(
            self,
            n_items=self.n_items + users_of_items.shape[0],
            added=np.hstack([self.added, coefficients]),
            table=None,
        )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved."""
        arrays = {
            "inverse": self.inverse,
            "diagonal": self.diagonal,
            "penalty": np.array([self.penalty]),
            "items": self.items,
            "added": self.added,
        }
        if self.rows is not None:
            arrays["row_begins"] = self.rows.indptr.astype(np.int64)
            arrays["row_items"] = self.rows.indices.astype(np.int64)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_items: int) -> Self:
        """Build from what `to_arrays` returned; a wrong type, shape or range is an ArrayError."""
        items = check_array("items", arrays.get("items"), np.int64, (None,), low=0)
        size = len(items)
        added = check_array("added items", arrays.get("added"), np.float32, (size, None))
        known = n_items - added.shape[1]
        if size > known or (np.diff(items) <= 0).any() or (size and items[-1] >= known):
            raise ArrayError("items: not in rising order, or too many")
        diagonal = check_array("diagonal", arrays.get("diagonal"), np.float64, (size,))
        penalty = check_array("penalty", arrays.get("penalty"), np.float64, (1,))
        if (diagonal <= 0).any() or penalty[0] <= 0:
            raise ArrayError("diagonal, penalty: not above 0")
        rows = None
        side = size
        if "row_begins" in arrays:
            own = check_array("rows", arrays.get("row_items"), np.int64, (None,), low=0, below=size)
            begins = check_array("rows", arrays.get("row_begins"), np.int64, (None,), low=0)
            side = len(begins) - 1
            if side < 0 or begins[0] or begins[-1] != len(own) or (np.diff(begins) < 0).any():
                raise ArrayError("rows: they do not follow each other")
            rows = csr_array((np.ones(len(own), np.float32), own, begins), shape=(side, size))
        inverse = check_array("inverse", arrays.get("inverse"), np.float32, (side, side))
        return cls(inverse, diagonal, float(penalty[0]), items, n_items, rows, added)


def _lower_gram(X: csr_array) -> np.ndarray:
    """Return XᵀX as a dense matrix, of which only the lower half is computed.

    Blocks of columns: the whole product as a sparse matrix would need twice the memory.
    """
    size = X.shape[1]
    gram = np.zeros((size, size), np.float32, order="F")
    columns = csr_array(X.T)
    for begin in range(0, size, _GRAM_COLUMNS):
        end = min(begin + _GRAM_COLUMNS, size)
        block = csr_array(columns[begin:end].T)
        gram[begin:, begin:end] = (columns[begin:] @ block).toarray()
    return gram


def _inverse_of_positive(gram: np.ndarray, penalty: float) -> np.ndarray:
    """Return (gram + penalty I)⁻¹ as float32, from the lower half of the given matrix."""
    # Small matrices in double precision: it costs little, and their penalties may be small.
    kind = np.float64 if len(gram) <= 2000 else np.float32
    A: Any = np.asfortranarray(gram, kind)
    if not len(A):
        return np.empty((0, 0), np.float32)
    A[np.diag_indices(len(A))] += penalty
    factor, invert = (
        (lapack.dpotrf, lapack.dpotri) if kind == np.float64 else (lapack.spotrf, lapack.spotri)
    )
    A, failed = factor(A, lower=1, overwrite_a=1)
    if not failed:
        A, failed = invert(A, lower=1, overwrite_c=1)
    if failed:
        raise InputError(
            "the item regression has no solution in single precision", remedy="raise the penalty"
        )
    for begin in range(0, len(A), 512):  # mirror the lower half, in blocks
        rows = slice(begin, begin + 512)
        A[rows, begin + 512 :] = A[begin + 512 :, rows].T
        square = A[rows, rows]
        square[:] = np.tril(square) + np.tril(square, -1).T
    return np.ascontiguousarray(A, np.float32)
