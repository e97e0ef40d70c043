"""Parts of the conversions from and to other libraries; none of these libraries is required.

`Graph`, `Ratings` and `NodeTable` have the conversions themselves. pandas and polars are used
through the methods that both have.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.base.errors import InputError, MissingDependencyError
from coterie.data.column_roles import WantedColumns, columns_by_words, find_columns
from coterie.data.ids import as_ids, require_distinct

if TYPE_CHECKING:
    import pandas
    import polars

    from coterie.data.graph import Graph
    from coterie.data.ratings import Ratings

_SAMPLE = 200  # rows that show what a column holds
TableColumn = np.ndarray | list[Any]  # text as a list
TableColumns = dict[str, TableColumn]


def require(package: str) -> Any:
    """Import an optional package; the error says how to install it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f"{package} is not installed", remedy=f"pip install {package}"
        ) from error


def package_of(data: Any) -> str:
    """Return the library that defines the type of the data, or a type that it inherits from."""
    for kind in type(data).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in ("networkx", "igraph", "scipy"):
            return package
    return type(data).__module__.partition(".")[0]


def as_graph(data: Any, *, weighted: bool = False) -> Any:
    """Return a graph or a table of edges of another library as a `Graph`; anything else unchanged.

    Libraries: networkx, igraph, scipy, pandas, polars, and whatever has `__arrow_c_stream__`.
    `weighted`: read the edge attribute "weight", the entries of a matrix, or a column of weights.

    >>> import networkx
    >>> as_graph(networkx.path_graph(["ann", "bob"])).ids
    array(['ann', 'bob'], dtype=object)
    """
    from coterie.data.graph import Graph

    package = package_of(data)
    if package == "networkx" and hasattr(data, "nodes"):
        return Graph.from_networkx(data, weight="weight" if weighted else None)
    if package == "igraph" and hasattr(data, "vcount"):
        return Graph.from_igraph(data, weight="weight" if weighted else None)
    if package == "scipy" and hasattr(data, "tocoo"):
        return Graph.from_scipy(data, weighted=weighted)
    if is_table(data):
        frame = frame_of(data)
        found = choose_columns(frame, WantedColumns(("source", "target"), ("weight",) * weighted))
        return Graph.from_pandas(frame, **found)
    return data


def as_ratings(data: Any) -> Any:
    """Return a table of user, item and rating of another library as `Ratings`; others unchanged."""
    from coterie.data.ratings import Ratings

    return Ratings.from_pandas(frame_of(data)) if is_table(data) else data


def as_graph_or_ratings(data: Any, *, weighted: bool = False) -> Any:
    """Return a table by the names of its columns: with users and items, it is one of ratings."""
    if is_table(data):
        names = [str(name) for name in frame_of(data).columns]
        wanted = WantedColumns(("user", "item"))
        if len(columns_by_words(names, wanted, strict=False)) == 2:
            return as_ratings(data)
    return as_graph(data, weighted=weighted)


# --- data frames ---------------------------------------------------------------------------------


class AsFrames:
    """Gives a graph or ratings as tables of pandas and polars."""

    def _frame_columns(self) -> TableColumns:
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the edges or ratings as a pandas table.

        Returns
        -------
        pandas.DataFrame
            Of a graph: the columns source and target, with ids, and weight if it has weights. Of
            ratings: user, item, rating, and timestamp if there are timestamps.
        """
        frame: pandas.DataFrame = require("pandas").DataFrame(self._frame_columns())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return the edges or ratings as a polars table.

        Returns
        -------
        polars.DataFrame
            The same columns as of `to_pandas`.
        """
        frame: polars.DataFrame = require("polars").DataFrame(self._frame_columns())
        return frame


def is_table(data: Any) -> bool:
    """Return whether data are a table of pandas, polars, pyarrow or another library with Arrow."""
    named = hasattr(data, "columns") and package_of(data) in ("pandas", "polars")
    return named or (hasattr(data, "__arrow_c_stream__") and not hasattr(data, "name"))


def frame_of(data: Any) -> Any:
    """Return a table with the methods that pandas and polars have in common."""
    return data if package_of(data) in ("pandas", "polars") else _ArrowFrame(data)


class _ArrowFrame:
    """A table that another library gives as a stream of Arrow batches."""

    def __init__(self, stream: Any) -> None:
        self._table = require("pyarrow").table(stream)
        self.columns: list[str] = self._table.column_names

    def __getitem__(self, name: str) -> _ArrowColumn:
        return _ArrowColumn(self._table[name])


class _ArrowColumn:
    """A column of such a table."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def head(self, count: int) -> _ArrowColumn:
        return _ArrowColumn(self._column.slice(0, count))

    def to_list(self) -> list[Any]:
        return list(self._column.to_pylist())

    def is_null(self) -> np.ndarray:
        return np.asarray(self._column.is_null())

    def to_numpy(self) -> np.ndarray:
        return np.asarray(self._column.to_numpy())


def edge_columns(graph: Graph) -> TableColumns:
    """Return the columns source and target, with ids, and weight if there are weights."""
    source, target = graph.edges()
    weight = None if graph.weights is None else graph.edge_weights()
    ids = graph.ids
    return _filled(source=_listed(ids[source]), target=_listed(ids[target]), weight=weight)


def rating_columns(ratings: Ratings) -> TableColumns:
    """Return the columns user, item and rating, and timestamp if there are timestamps."""
    return _filled(
        user=_listed(ratings.user_ids[ratings.users]),
        item=_listed(ratings.item_ids[ratings.items]),
        rating=ratings.ratings,
        timestamp=ratings.timestamps,
    )


def _filled(**columns: TableColumn | None) -> TableColumns:
    return {name: column for name, column in columns.items() if column is not None}


def _listed(column: np.ndarray) -> TableColumn:
    """Return text as a list, which both packages read as text."""
    return list(column) if column.dtype == object else column


def choose_columns(frame: Any, wanted: WantedColumns) -> dict[str, Any]:
    """Return the names of the wanted columns: as chosen, else by words, content and order."""
    names = list(frame.columns)
    for _, column in wanted.chosen:
        if column not in names:
            raise InputError(f"the table has no column {column!r}", remedy=f"use one of {names}")
    sample = (map(str, frame[name].head(_SAMPLE).to_list()) for name in names)
    rows = [list(row) for row in zip(*sample, strict=True)]
    chosen = tuple((name, str(column)) for name, column in wanted.chosen)
    fields = [str(name) for name in names]
    found = find_columns(fields, rows, wanted._replace(chosen=chosen), named=True)
    if any(place >= len(names) for place in found.values()):
        raise InputError(
            f"the table has only the columns {names}", remedy="give the names of the columns"
        )
    return {name: names[place] for name, place in found.items()}


def frame_column(frame: Any, name: Any) -> np.ndarray:
    """Return a column without missing values."""
    if name not in list(frame.columns):
        raise InputError(
            f"the table has no column {name!r}", remedy=f"use one of {list(frame.columns)}"
        )
    column = frame[name]
    missing = column.isna() if hasattr(column, "isna") else column.is_null()
    if missing.any():
        row = int(np.argmax(np.asarray(missing)))
        raise InputError(f"row {row} has no {name!r}", remedy="fill it in or drop the row")
    return np.asarray(column.to_numpy())


# --- networkx and igraph -------------------------------------------------------------------------


def checked_weights(values: list[Any], name: str) -> np.ndarray:
    """Return the weights as an array; every edge must have a number."""
    for number, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise InputError(
                f"edge number {number} has the {name} {value!r}", remedy="give every edge a number"
            )
    return np.array(values, np.float64)


# --- matrices ------------------------------------------------------------------------------------


def sparse_entries(matrix: Any) -> Any:
    """Return a sparse matrix in coordinate form."""
    from scipy.sparse import coo_array, issparse

    if not issparse(matrix):
        raise InputError(
            f"a {type(matrix).__name__} is not a sparse matrix", remedy="use from_numpy"
        )
    return coo_array(matrix)


def square_array(matrix: Any) -> np.ndarray:
    """Return an array of numbers that may be an adjacency matrix."""
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


def line_ids(count: int, given: Any) -> np.ndarray:
    """Return the ids of the rows or columns of a matrix; by default 0..n-1."""
    ids = np.arange(count) if given is None else as_ids(given)
    if len(ids) != count:
        raise InputError(
            f"{len(ids)} ids for {count} rows or columns", remedy="give one id for each"
        )
    require_distinct(ids)
    return ids
