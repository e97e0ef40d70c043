"""Read graphs and ratings (first plain version)."""

from __future__ import annotations

import gzip
import os
import re
import sys
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.graph.graph import Graph
from coterie.graph.ratings import Ratings

PathLike = str | os.PathLike[str]


def _lines(path: PathLike) -> list[str]:
    if str(path) == "-":
        return sys.stdin.read().splitlines()
    try:
        opener: Any = gzip.open if str(path).endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8-sig") as file:
            return file.read().splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error


def _rows(path: PathLike, separator: str | None) -> tuple[list[list[str]], int | None]:
    rows, nodes = [], None
    for line in _lines(path):
        if line.startswith(("#", "%")):
            if match := re.fullmatch(r"#\s*nodes:\s*(\d+)\s*", line):
                nodes = int(match[1])
            continue
        if line.strip():
            sep = separator or next((s for s in ("::", "\t", ",") if s in line), None)
            rows.append([field.strip() for field in line.split(sep)])
    return rows, nodes


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _ids(column: list[str]) -> np.ndarray:
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text) for text in column):
        return np.array(column, np.int64)
    return np.array(column, object)


def read_graph(
    path: PathLike,
    *,
    directed: bool = False,
    weighted: bool = False,
    format: str | None = None,
    separator: str | None = None,
) -> Graph:
    """A graph from an edge list."""
    rows, nodes = _rows(path, separator)
    if rows and (rows[0][0].lower() == "source" or not _numeric(rows[0][0])):
        rows = rows[1:]
    if not rows and nodes is None:
        raise InputError("has no edges", path=path)
    both = _ids([row[0] for row in rows] + [row[1] for row in rows])
    if nodes is not None:
        ids, where = np.arange(nodes), both.astype(np.int64)
    else:
        ids, where = np.unique(both, return_inverse=True)
    m = len(rows)
    return Graph.from_edges(
        where[:m],
        where[m:],
        weights=[float(row[2]) for row in rows] if weighted else None,
        n_nodes=len(ids),
        ids=ids,
        directed=directed,
    )


def read_ratings(
    path: PathLike, *, format: str | None = None, separator: str | None = None
) -> Ratings:
    """Ratings from a table user, item, rating[, timestamp]."""
    rows, _ = _rows(path, separator)
    if rows and not _numeric(rows[0][2]):
        rows = rows[1:]
    times = [float(row[3]) for row in rows] if rows and len(rows[0]) > 3 else None
    return Ratings.from_arrays(
        _ids([row[0] for row in rows]),
        _ids([row[1] for row in rows]),
        [float(row[2]) for row in rows],
        timestamps=times,
    )
