"""Edges of a file that is read as a whole, such as GraphML, in the form that all readers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name
from coterie.data.ids import written_integer
from coterie.data.text_layout import WantedColumns, make_layout
from coterie.data.text_reader import Columns


@dataclass
class EdgeTable:
    """Edges and nodes as a document lists them; `weights` is None if no edge has one."""

    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    weights: list[float] | None = None
    nodes: list[str] = field(default_factory=list)  # all that are declared, in order
    directed: bool | None = None  # None: the file does not say


class EdgeColumns(Columns):
    """The columns of an edge table; errors name edges instead of lines."""

    unit = "edge"
    declared_directed = False  # whether the document says that its edges have directions

    def line(self, row: int) -> int:
        return row + 1


def edge_columns(
    path: PathLike, table: EdgeTable, *, directed: bool, weighted: bool
) -> EdgeColumns:
    """Return the columns of an edge table.

    An undirected file that is read as directed has every edge in both directions.
    """
    sources, targets = table.sources, table.targets
    weights = table.weights if weighted else None
    if directed and table.directed is False:
        loops = [s == t for s, t in zip(sources, targets, strict=True)]
        keep = [n for n, loop in enumerate(loops) if not loop]
        sources, targets = (
            sources + [targets[n] for n in keep],
            targets + [sources[n] for n in keep],
        )
        if weights is not None:
            weights = weights + [weights[n] for n in keep]
    wanted = WantedColumns(("source", "target"), ("weight",) if weighted else ())
    names = ["source", "target", *(["weight"] if weighted or table.weights is not None else [])]
    layout = make_layout("", names, None, wanted)
    columns = EdgeColumns(place_name(path), layout, len(names))
    columns.column_names = names
    columns.rows = len(sources)
    columns.declared_directed = table.directed is True
    connected = {*sources, *targets}
    columns.isolated = [node for node in table.nodes if node not in connected]
    for name, ids in zip(("source", "target"), id_columns(sources, targets), strict=True):
        columns.pieces[name] = [ids] if len(ids) else []
    if weighted:
        columns.pieces["weight"] = [_weights(path, weights, len(sources))]
    return columns


def id_columns(*columns: Sequence[str]) -> list[Any]:
    """Return columns of ids as integers if all of them are, else as dictionary-encoded text."""
    try:
        return [
            np.fromiter((written_integer(name) for name in column), np.int64, len(column))
            for column in columns
        ]
    except ValueError:
        return [pa.array(column, pa.string()).dictionary_encode() for column in columns]


def _weights(path: PathLike, weights: list[float] | None, count: int) -> np.ndarray:
    if weights is None:
        return np.ones(count)
    values = np.asarray(weights, np.float64)
    if len(values) != count or not np.isfinite(values).all():
        raise InputError(
            "a weight is missing or not a finite number",
            path=place_name(path),
            remedy="correct the file, or leave out `weighted`",
        )
    return values


def array_columns(
    path: PathLike, wanted: WantedColumns, ids: tuple[np.ndarray, np.ndarray], values: np.ndarray
) -> EdgeColumns:
    """Return the columns of a sparse matrix: row numbers, column numbers and values."""
    names = [*wanted.ids, *wanted.numbers]
    layout = make_layout("", names, None, wanted._replace(times=(), chosen=()))
    columns = EdgeColumns(place_name(path), layout, len(names))
    columns.column_names = names
    columns.rows = len(values)
    for name, column in zip(wanted.ids, ids, strict=True):
        columns.pieces[name] = [column.astype(np.int64)]
    for name in wanted.numbers:
        columns.pieces[name] = [values]
    return columns
