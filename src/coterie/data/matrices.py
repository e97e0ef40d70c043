"""Conversion of scipy and numpy matrices to graphs and ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse

from coterie.base.errors import InputError
from coterie.data.graph import Graph
from coterie.data.ids import as_ids, require_distinct
from coterie.data.ratings import Ratings


def graph_from_scipy(matrix: Any, directed: bool | None, weighted: bool, ids: Any) -> Graph:
    """Build a graph from a square matrix; entries of 0 are not edges.

    Of an undirected graph, both halves may be stored, or one of them.
    """
    if not issparse(matrix):
        raise InputError(
            f"a {type(matrix).__name__} is not a sparse matrix", remedy="use from_numpy"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"an adjacency matrix must be square, not of shape {matrix.shape}",
            remedy="give n x n entries",
        )
    if directed is None:
        directed = bool((matrix != matrix.T).nnz)
    entries = coo_array(matrix)
    entries.sum_duplicates()
    stored = entries.data != 0
    return Graph.from_edges(
        entries.row[stored],
        entries.col[stored],
        weights=entries.data[stored] if weighted else None,
        n_nodes=matrix.shape[0],
        ids=ids,
        directed=directed,
    )


def graph_from_numpy(matrix: Any, directed: bool | None, weighted: bool, ids: Any) -> Graph:
    """Build a graph from a square array."""
    return graph_from_scipy(coo_array(_square(matrix)), directed, weighted, ids)


def ratings_from_scipy(matrix: Any, user_ids: Any, item_ids: Any) -> Ratings:
    """Build ratings from a sparse matrix; every stored entry is a rating."""
    if not issparse(matrix):
        raise InputError(
            f"a {type(matrix).__name__} is not a sparse matrix", remedy="use from_numpy"
        )
    entries = coo_array(matrix)
    return _ratings(entries.row, entries.col, entries.data, matrix.shape, user_ids, item_ids)


def ratings_from_numpy(matrix: Any, user_ids: Any, item_ids: Any) -> Ratings:
    """Build ratings from an array; every entry that is not NaN is a rating."""
    array = np.asarray(matrix, np.float64)
    if array.ndim != 2:
        raise InputError(f"the ratings have the shape {array.shape}", remedy="give users x items")
    users, items = np.nonzero(~np.isnan(array))
    return _ratings(users, items, array[users, items], array.shape, user_ids, item_ids)


def _ratings(
    users: np.ndarray, items: np.ndarray, values: np.ndarray, shape: Any, *ids: Any
) -> Ratings:
    names = []
    for count, given in zip(shape, ids, strict=True):
        name = np.arange(count) if given is None else as_ids(given)
        if len(name) != count:
            raise InputError(
                f"{len(name)} ids for {count} rows or columns", remedy="give one id for each"
            )
        require_distinct(name)
        names.append(name)
    return Ratings.from_numbers(users, items, values, names[0], names[1])


def _square(matrix: Any) -> np.ndarray:
    array = np.asarray(matrix)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"an array of shape {array.shape} and type {array.dtype} is not an adjacency matrix",
            remedy="give n x n numbers",
        )
    if not np.isfinite(array).all():
        raise InputError(
            "the array contains NaN or infinity", remedy="put 0 where there is no edge"
        )
    return array
