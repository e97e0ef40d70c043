"""pandas and polars, both ways, through what the two have in common; neither is required."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from coterie.base.errors import InputError, MissingDependencyError
from coterie.data.graph import Graph
from coterie.data.ids import as_ids, number_ids
from coterie.data.ratings import Ratings
from coterie.data.text_layout import header_roles


def require(package: str) -> Any:
    """An optional package, or a message that says how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f"{package} is not installed", remedy=f"pip install {package}"
        ) from error


def graph_from_frame(
    frame: Any, source: str | None, target: str | None, weight: str | None, directed: bool
) -> Graph:
    """Edges from two columns of ids and, if named, one of weights."""
    first, second = _pick(frame, {"first": source, "second": target})
    ids, (s, t) = number_ids([_ids(frame, first), _ids(frame, second)])
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
    """Ratings from columns; timestamps where they are named or known by name."""
    given = {"first": user, "second": item, "number": rating}
    users, items, values = _pick(frame, given)
    names = [str(name) for name in frame.columns]
    if timestamp is None:
        place = (header_roles(names) or {}).get("time")
        timestamp = None if place is None else frame.columns[place]
    times = None if timestamp is None else _column(frame, timestamp)
    return Ratings.from_arrays(
        _ids(frame, users),
        _ids(frame, items),
        _column(frame, values),
        timestamps=times if times is None or times.dtype.kind in "iuf" else times.astype("int64"),
        merge=merge,
    )


def edge_columns(graph: Graph) -> dict[str, Any]:
    """source, target[, weight] by id."""
    source, target = graph.edges()
    columns: dict[str, Any] = {
        "source": _plain(graph.ids, source),
        "target": _plain(graph.ids, target),
    }
    if graph.weights is not None:
        columns["weight"] = graph.edge_weights()
    return columns


def rating_columns(ratings: Ratings) -> dict[str, Any]:
    """user, item, rating[, timestamp] by id."""
    columns = {
        "user": _plain(ratings.user_ids, ratings.users),
        "item": _plain(ratings.item_ids, ratings.items),
        "rating": ratings.ratings,
    }
    if ratings.timestamps is not None:
        columns["timestamp"] = ratings.timestamps
    return columns


def _plain(ids: np.ndarray, rows: np.ndarray) -> Any:
    """Ids of rows; text as a list, which both packages take for text."""
    column = ids[rows]
    return column.tolist() if column.dtype == object else column


def _pick(frame: Any, given: dict[str, str | None]) -> list[Any]:
    """The columns for these roles: as given, else known by name, else in order."""
    names = list(frame.columns)
    known = header_roles([str(name) for name in names]) or {}
    picked = []
    for place, (role, name) in enumerate(given.items()):
        if name is None:
            column = known.get(role, place)
            if column >= len(names):
                raise InputError(f"the table has only the columns {names}", remedy="name them")
            name = names[column]
        picked.append(name)
    return picked


def _column(frame: Any, name: Any) -> np.ndarray:
    if name not in list(frame.columns):
        raise InputError(
            f"the table has no column {name!r}", remedy=f"it has {list(frame.columns)}"
        )
    column = frame[name]
    missing = column.isna() if hasattr(column, "isna") else column.is_null()
    if missing.any():
        row = int(np.argmax(np.asarray(missing)))
        raise InputError(f"row {row} has no {name!r}", remedy="fill it in or drop the row")
    return np.asarray(column.to_numpy())


def _ids(frame: Any, name: Any) -> np.ndarray:
    return as_ids(_column(frame, name))
