"""Item regression: every item is predicted from the other items of a user (EASE).

The coefficients B minimise |X - X B|² + p |B|² with a diagonal of 0, over all users and all items,
observed or not. With P = (XᵀX + p I)⁻¹ they are B = I - P / diag(P), column by column. For users
with the rows Z the scores are Z B.

If there are fewer users than items, P = (I - Xᵀ K X) / p with K = (X Xᵀ + p I)⁻¹, so that only a
matrix of users x users is inverted. Only the `MAX_SIDE` most popular items take part; the others
have the score 0 here and are ranked by the factors. Of the coefficients the largest are kept, as
many as two per pair of user and item (`_PER_PAIR`): the others do not change lists.

H. Steck. Embarrassingly shallow autoencoders for sparse data. WWW 2019.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, vstack

from coterie.base.array_checks import ArrayError, check_array
from coterie.base.errors import InputError
from coterie.base.lazy_modules import scipy_lapack as lapack

MAX_SIDE = 8000  # of the matrix that is inverted: 256 MB as float32
_PER_PAIR, _MIN_KEPT = 2, 200_000  # coefficients that are kept
_ROWS = 256  # of P, computed at once
_GRAM_COLUMNS = 1024  # computed at once


@dataclass(frozen=True, eq=False)
class ItemRegression:
    """The coefficients of an item regression."""

    # items x items, float32 with the precision of float16: what having item i adds to item j
    coefficients: csr_array
    diagonal: np.ndarray  # float32, diag(P); 0: the item does not take part

    @classmethod
    def nothing(cls, n_items: int) -> Self:
        """Return a regression without coefficients."""
        return cls(csr_array((n_items,) * 2, dtype=np.float32), np.zeros(n_items, np.float32))

    @classmethod
    def fit(
        cls,
        pairs: csr_array,
        penalty: float,
        max_side: int = MAX_SIDE,
        min_kept: int | None = None,
    ) -> Self:
        """Fit to the pairs of users (rows) and items; items without users do not take part."""
        n_items = pairs.shape[1]
        counts = np.bincount(pairs.indices, minlength=n_items)
        items = np.flatnonzero(counts > 0)
        if len(items) > max_side:
            items = np.sort(np.argsort(-counts, kind="stable")[:max_side])
        active = pairs[np.diff(pairs.indptr) > 0]
        by_users = active.shape[0] < len(items)
        X = csr_array(active[:, items], dtype=np.float32)
        inverse = _inverse_of_positive(_lower_gram(csr_array(X.T) if by_users else X), penalty)
        blocks = _rows_of_p(X, inverse, penalty) if by_users else _cut(inverse)
        largest = _Largest(max(_PER_PAIR * pairs.nnz, min_kept or _MIN_KEPT))
        diagonal = np.zeros(n_items, np.float32)
        begin = 0
        for block in blocks:  # row j of P has the coefficients of item j
            own = np.arange(len(block))
            of_item = np.maximum(block[own, begin + own], 1e-12)
            diagonal[items[begin + own]] = of_item
            block /= -of_item[:, None]
            block[own, begin + own] = 0.0
            largest.add(block, begin)
            begin += len(block)
        largest.shrink()
        place = items[largest.columns], items[largest.rows]
        return cls(csr_array((_half(largest.values), place), shape=(n_items,) * 2), diagonal)

    @property
    def n_items(self) -> int:
        """Number of items that the scores have."""
        return len(self.diagonal)

    def scores(self, pairs: csr_array) -> np.ndarray:
        """Return the scores of users with these pairs: users x items, float32."""
        z = csr_array(pairs, dtype=np.float32)
        return np.asarray((z @ self.coefficients).toarray())

    def scores_of_one(self, own: np.ndarray) -> np.ndarray:
        """Return the scores of one user who has these items."""
        rows = self.coefficients[own]
        return np.bincount(rows.indices, rows.data, self.n_items)

    @cached_property
    def _by_target(self) -> csc_array:
        return csc_array(self.coefficients)

    def contributions(self, own: np.ndarray, item: int) -> np.ndarray:
        """Return how much each of a user's own items adds to the score of one item."""
        return np.asarray(self._by_target[:, [item]].toarray()[own, 0])

    def with_items(self, users_of_items: csr_array, pairs: csr_array) -> Self:
        """Return a regression with items added.

        `users_of_items` holds the users of each added item, `pairs` the known items of these
        users. An added item is regressed on the known ones; it does not predict others.
        """
        together = csr_array(users_of_items.astype(np.float32) @ pairs.astype(np.float32))
        # P = (I - B) diag(P), so that the row of an added item times P is
        added = (together - together @ self.coefficients).toarray() * self.diagonal
        count = len(added)
        grown = hstack([self.coefficients, csr_array(_half(added.T))])
        nothing = csr_array((count, self.n_items + count), dtype=np.float32)
        diagonal = np.concatenate([self.diagonal, np.zeros(count, np.float32)])
        return type(self)(csr_array(vstack([grown, nothing])), diagonal)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as arrays, to be saved."""
        table = self.coefficients
        small = np.uint16 if self.n_items <= 1 << 16 else np.int32
        return {
            "begins": table.indptr.astype(np.int64),
            "items": table.indices.astype(small),
            "values": table.data.astype(np.float16),
            "diagonal": self.diagonal,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], n_items: int) -> Self:
        """Build from what `to_arrays` returned; raise ArrayError if an array is not valid."""
        diagonal = check_array("diagonal", arrays.get("diagonal"), np.float32, (n_items,), low=0)
        values = check_array("values", arrays.get("values"), np.float16, (None,))
        begins = check_array("rows", arrays.get("begins"), np.int64, (n_items + 1,), low=0)
        small = np.uint16 if n_items <= 1 << 16 else np.int32
        shape, found = (len(values),), arrays.get("items")
        items = check_array("items", found, small, shape, low=0, below=n_items)
        if begins[0] or begins[-1] != len(items) or (np.diff(begins) < 0).any():
            raise ArrayError("rows: they do not follow each other")
        table = (values.astype(np.float32), items.astype(np.int64), begins)
        return cls(csr_array(table, shape=(n_items, n_items)), diagonal)


def _half(values: np.ndarray) -> np.ndarray:
    """Return float32 values that float16 can hold."""
    return values.astype(np.float16).astype(np.float32)


def _cut(inverse: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows of P in blocks."""
    for begin in range(0, len(inverse), _ROWS):
        yield inverse[begin : begin + _ROWS].copy()


def _rows_of_p(X: csr_array, K: np.ndarray, penalty: float) -> Iterator[np.ndarray]:
    """Yield the rows of P = (I - Xᵀ K X) / p in blocks."""
    by_item = csr_array(X.T)
    for begin in range(0, X.shape[1], _ROWS):
        own = np.asarray(by_item[begin : begin + _ROWS] @ K)
        block = np.ascontiguousarray((by_item @ own.T).T)
        block *= -1.0
        block[np.arange(len(block)), begin + np.arange(len(block))] += 1.0
        block /= np.float32(penalty)
        yield block


class _Largest:
    """The entries with the largest magnitude of a matrix whose rows are added in blocks."""

    def __init__(self, count: int) -> None:
        self.count, self.least = count, 0.0
        self.values = np.empty(0, np.float32)
        self.rows, self.columns = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, block: np.ndarray, first: int) -> None:
        """Add rows; the first of them has this number."""
        rows, columns = np.nonzero(np.abs(block) > self.least)
        self.values = np.concatenate([self.values, block[rows, columns]])
        self.rows = np.concatenate([self.rows, rows + first])
        self.columns = np.concatenate([self.columns, columns])
        if len(self.values) > 2 * self.count:
            self.shrink()

    def shrink(self) -> None:
        """Drop all entries but the largest."""
        size = np.abs(self.values)
        if len(size) > self.count:
            self.least = float(np.partition(size, len(size) - self.count)[len(size) - self.count])
            used = size >= self.least
            self.values, self.rows = self.values[used], self.rows[used]
            self.columns = self.columns[used]


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
