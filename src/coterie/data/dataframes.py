"""Conversion from and to pandas and polars, through the methods that both have.

Neither package is required.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from coterie.base.errors import InputError, MissingDependencyError
from coterie.data.graph import Graph
from coterie.data.ids import as_ids, number_ids
from coterie.data.ratings import Ratings
from coterie.data.text_layout import header_roles

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


def graph_from_frame(
    frame: Any, source: str | None, target: str | None, weight: str | None, directed: bool
) -> Graph:
    """Build a graph from two columns of ids and optionally one of weights."""
    first, second = _choose_columns(frame, {"first": source, "second": target})
    ids, (s, t) = number_ids([_id_column(frame, first), _id_column(frame, second)])
    weights = None if weight is None else _column(frame, weight)
    return Graph.from_edges(s, t, weights=weights, ids=ids, directed=directed)


def ratings_from_frame(
    frame: Any,
    user: str | None,
    item: str | None,
    rating: str | None,
    timestamp: str | None,
    merge: bool,
) -> Ratings:
    """Build ratings from columns; timestamps if they are given or have a known name."""
    given = {"first": user, "second": item, "number": rating}
    users, items, values = _choose_columns(frame, given)
    names = [str(name) for name in frame.columns]
    if timestamp is None:
        place = (header_roles(names) or {}).get("time")
        timestamp = None if place is None else frame.columns[place]
    times = None if timestamp is None else _column(frame, timestamp)
    return Ratings.from_arrays(
        _id_column(frame, users),
        _id_column(frame, items),
        _column(frame, values),
        timestamps=times if times is None or times.dtype.kind in "iuf" else times.astype("int64"),
        merge=merge,
    )


def edge_columns(graph: Graph) -> TableColumns:
    """Return the columns source and target, with ids, and weight if there are weights."""
    source, target = graph.edges()
    columns: TableColumns = {
        "source": _ids_of(graph.ids, source),
        "target": _ids_of(graph.ids, target),
    }
    if graph.weights is not None:
        columns["weight"] = graph.edge_weights()
    return columns


def rating_columns(ratings: Ratings) -> TableColumns:
    """Return the columns user, item and rating, and timestamp if there are timestamps."""
    columns: TableColumns = {
        "user": _ids_of(ratings.user_ids, ratings.users),
        "item": _ids_of(ratings.item_ids, ratings.items),
        "rating": ratings.ratings,
    }
    if ratings.timestamps is not None:
        columns["timestamp"] = ratings.timestamps
    return columns


def _ids_of(ids: np.ndarray, rows: np.ndarray) -> TableColumn:
    """Return the ids of rows; text as a list, which both packages read as text."""
    column: np.ndarray = ids[rows]
    return list(column) if column.dtype == object else column


def _choose_columns(frame: Any, given: dict[str, str | None]) -> list[Any]:
    """Return the columns for these roles: as given, else by known names, else in order."""
    names = list(frame.columns)
    known = header_roles([str(name) for name in names]) or {}
    picked = []
    for place, (role, name) in enumerate(given.items()):
        if name is None:
            column = known.get(role, place)
            if column >= len(names):
                raise InputError(
                    f"the table has only the columns {names}",
                    remedy="give the names of the columns",
                )
            name = names[column]
        picked.append(name)
    return picked


def _column(frame: Any, name: Any) -> np.ndarray:
    """Return a column without missing values."""
    if name not in list(frame.columns):
        raise InputError(
            f"the table has no column {name!r}",
            remedy=f"use one of {list(frame.columns)}",
        )
    column = frame[name]
    missing = column.isna() if hasattr(column, "isna") else column.is_null()
    if missing.any():
        row = int(np.argmax(np.asarray(missing)))
        raise InputError(f"row {row} has no {name!r}", remedy="fill it in or drop the row")
    return np.asarray(column.to_numpy())


def _id_column(frame: Any, name: Any) -> np.ndarray:
    return as_ids(_column(frame, name))
