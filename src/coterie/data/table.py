"""Tables: how they are read, whatever holds them and whatever they are for.

Every reader of the package comes here: graphs and ratings for some columns (`read_wanted`),
attributes, features, titles and lists of ids for all of them (`read_table`), the application for
the first rows. `column_roles.py` declares the words that name a column, `formats/` the formats.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from os.path import isfile
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from coterie.base.errors import AssumptionWarning, InputError, near_miss
from coterie.data.byte_source import PathLike, place_error, place_name
from coterie.data.column_roles import WantedColumns, are_names, id_column, role_of
from coterie.data.formats import FORMATS, TABLES, TEXT
from coterie.data.formats.adjacency_matrix import Verdict, matrix_edges, matrix_shape
from coterie.data.formats.format import Cells, EdgeTable, Format, naming_the_file
from coterie.data.formats.recognise import find_format
from coterie.data.ids import written_integer
from coterie.data.text_fields import THOUSANDS, is_number, is_quantity, with_point
from coterie.data.text_layout import WHITESPACE, layout_in_order
from coterie.data.text_reader import Columns, read_rows, read_text, text_cells

_SEPARATORS = {WHITESPACE: "blanks", "\t": "tab", ",": "comma", ";": "semicolon"}
_SHOWN = 12  # columns that a line lists
_HEADER_ROWS = 100  # first rows that are enough to see the names of the columns


@dataclass(frozen=True)
class Recognised:
    """The format of a file, its columns and what they hold."""

    name: str
    format: str
    separator: str | None  # of text; None for other formats
    header: str  # "none", "yes", or a doubt
    columns: dict[str, str]  # what it holds -> name or number of the column
    unread: list[str]
    decimal_comma: bool
    contents: str  # "undirected graph: 80 nodes, 272 edges"
    first_rows: list[tuple[str, ...]]
    is_table: bool = True  # False: a graph document, which has no columns to choose
    declared_directed: bool = False  # whether the document says that its edges have directions

    def line(self) -> str:
        """Return one line that says what was recognised."""
        parts = [self.format if self.separator is None else f"{self.format} ({self.separator})"]
        if self.header:
            parts.append(self.header)
        if self.is_table:
            parts.append(", ".join(f"{what} = {name}" for what, name in self.columns.items()))
        if self.decimal_comma:
            parts.append("decimal commas")
        if self.unread:
            more = f" and {len(self.unread) - _SHOWN} more" if len(self.unread) > _SHOWN else ""
            parts.append("not read: " + ", ".join(self.unread[:_SHOWN]) + more)
        return f"{self.name}: " + "; ".join(part for part in parts if part) + f" → {self.contents}"


Notify = Callable[[Recognised], None]


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read: the keyword arguments of all readers; each takes those that apply."""

    format: str | None = None
    separator: str | None = None
    header: bool | None = None
    sheet: str | None = None  # of an Excel workbook
    # columns of a graph, and what it is
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    directed: bool = False
    weighted: bool = False
    signed: bool = False
    layer: str | None = None  # the column with the layer of an edge, or its time …
    every: str | None = None  # … in periods of this length
    # columns of ratings, and what they are
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    time: str | None = None
    likes: bool = False
    merge: bool = True
    threads: int | None = None
    on_recognised: Notify | None = None
    most_rows: int | None = None  # of `read_table`

    def chosen(self, *names: str) -> tuple[tuple[str, str], ...]:
        """Return the columns that the user named, by what they hold."""
        given = ((name, getattr(self, name)) for name in names)
        return tuple((name, column) for name, column in given if column is not None)

    @property
    def edge_columns(self) -> WantedColumns:
        """The columns of a graph."""
        chosen = self.chosen("source", "target", "weight")
        return WantedColumns(("source", "target"), ("weight",) * self.weighted, chosen=chosen)

    @property
    def rating_columns(self) -> WantedColumns:
        """The columns of ratings; likes have two."""
        chosen = dict(self.chosen("user", "item", "rating"))
        if self.time is not None:
            chosen["timestamp"] = self.time
        rated = not self.likes
        return WantedColumns(
            ("user", "item"),
            ("rating",) * rated,
            ("timestamp",) * rated,
            tuple(chosen.items()),
            two_kinds=self.likes,
        )


T = TypeVar("T")


def takes(*names: str) -> Callable[[Callable[[PathLike, ReadOptions], T]], Callable[..., T]]:
    """Give a reader these keyword arguments of `ReadOptions`; `help()` shows them."""
    known = {field.name: field for field in fields(ReadOptions)}

    def decorate(read: Callable[[PathLike, ReadOptions], T]) -> Callable[..., T]:
        @wraps(read)
        def reader(path: PathLike, **given: Any) -> T:
            for name in given:
                if name not in names:
                    meant = near_miss(name, names)
                    raise TypeError(f"{read.__name__} has no argument {name!r}{meant}")
            return read(path, ReadOptions(**given))

        kind = inspect.Parameter.KEYWORD_ONLY
        options = [
            inspect.Parameter(name, kind, default=known[name].default, annotation=known[name].type)
            for name in names
        ]
        shown = inspect.signature(read)
        first = shown.parameters["path"]
        reader.__signature__ = shown.replace(parameters=[first, *options])  # type: ignore[attr-defined]
        return reader

    return decorate


# --- some columns, for graphs and ratings -------------------------------------------------------


def read_wanted(path: PathLike, wanted: WantedColumns, options: ReadOptions) -> Columns:
    """Read some columns of a table."""
    kind = _format_of(path, options, TABLES)
    if kind.columns is not None:
        columns = kind.columns(path, wanted, options)
    else:
        assert kind.cells is not None
        columns = read_rows(path, kind.cells(path, options).rows, wanted, header=options.header)
    columns.format = kind.name
    return noted_encoding(columns)


def _format_of(path: PathLike, options: ReadOptions, allowed: tuple[Format, ...]) -> Format:
    """Return the format of a file; only a workbook has sheets to choose."""
    kind = find_format(path, options.format, allowed)
    if options.sheet is not None and kind.name != "excel":
        raise InputError(
            f"this is a {kind.title} file, which has no sheets",
            path=place_name(path),
            remedy="leave out `sheet`",
        )
    return kind


def read_edges(path: PathLike, wanted: WantedColumns, options: ReadOptions) -> Columns:
    """Read the edges of a graph, from a table, a document or an adjacency matrix."""
    kind = _format_of(path, options, FORMATS)
    if kind.edges is not None:
        found = kind.edges(path, options)
    elif kind is TEXT:
        return noted_encoding(_text_edges(path, wanted, options))
    elif kind.columns is not None:
        return read_wanted(path, wanted, options)
    else:
        assert kind.cells is not None
        found = kind.cells(path, options)
    if isinstance(found, EdgeTable):
        if wanted.chosen and kind.name != "matrix":
            raise InputError(
                f"a {kind.name} file has no columns to choose",
                path=place_name(path),
                remedy=f"leave out `{wanted.chosen[0][0]}`",
            )
        columns = _edge_columns(path, found, options)
        columns.format = kind.title if kind.name == "matrix" else kind.name
        return columns
    if not wanted.chosen and matrix_shape(found.rows, True).verdict is Verdict.matrix:
        return _matrix_columns(path, found, options, f" in {kind.name}")
    columns = read_rows(path, found.rows, wanted, header=options.header)
    columns.format = kind.name
    return columns


def _text_edges(path: PathLike, wanted: WantedColumns, options: ReadOptions) -> Columns:
    """Read a list of edges; a text that looks like an adjacency matrix is read as one."""

    def look(rows: list[list[str]], complete: bool) -> None:
        verdict = matrix_shape(rows, complete).verdict
        if verdict is Verdict.maybe or (verdict is Verdict.matrix and not isfile(path)):
            raise InputError(
                "this can be an adjacency matrix or a list of edges with weights",
                path=place_name(path),
                remedy="set `format` to matrix or text",
            )
        if verdict is Verdict.matrix:
            raise _MatrixFound

    ask = None if options.format is not None or wanted.chosen else look
    try:
        return read_text(path, wanted, options, on_sample=ask)
    except _MatrixFound:
        cells = text_cells(path, options.separator, columns=2)
        return _matrix_columns(path, cells, options, "")


class _MatrixFound(Exception):  # noqa: N818  not an error: ends reading as an edge list
    """The file is an adjacency matrix."""


@naming_the_file
def _matrix_columns(path: PathLike, cells: Cells, options: ReadOptions, where: str) -> Columns:
    table = matrix_edges(cells.rows, directed=options.directed)
    columns = _edge_columns(path, table, options)
    columns.format = f"adjacency matrix{where}"
    return columns


def _edge_columns(path: PathLike, table: EdgeTable, options: ReadOptions) -> Columns:
    """Return the columns of a document.

    An undirected document that is read as directed has every edge in both directions.
    """
    if options.directed and table.directed is False:
        table.add_reversed(range(len(table.sources)))
    sources, targets, weights = table.sources, table.targets, table.weights
    names = ["source", "target", *["weight"] * (options.weighted or weights is not None)]
    layout = layout_in_order(WantedColumns(("source", "target"), ("weight",) * (len(names) > 2)))
    columns = Columns(place_name(path), layout, len(names), unit="edge")
    columns.column_names, columns.rows = names, len(sources)
    columns.declared_directed = table.directed is True
    columns.named_by = table.named_by
    connected = {*sources, *targets}
    columns.isolated = [node for node in table.nodes if node not in connected]
    for name, ids in zip(("source", "target"), id_columns(sources, targets), strict=True):
        columns.pieces[name] = [ids] if len(ids) else []
    if options.weighted:
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


def noted_encoding(columns: Columns) -> Columns:
    """Return the columns; say so if they were not written in UTF-8."""
    if not columns.is_unicode:
        _say_latin_1(columns.name)
    return columns


def _say_latin_1(name: str) -> None:
    warnings.warn(
        f"{name}: the text is not UTF-8 and was read as Latin-1", AssumptionWarning, stacklevel=4
    )


def recognised(columns: Columns, contents: str) -> Recognised:
    """Return what was recognised in a table."""
    layout = columns.layout
    names = columns.column_names
    by_slot = sorted((int(slot), n) for n, slot in enumerate(layout.slot) if slot >= 0)
    places = {layout.names[slot]: column for slot, column in by_slot}
    labels = [
        repr(names[n]) if names is not None and n < len(names) else f"column {n + 1}"
        for n in range(columns.n_fields)
    ]
    if columns.unit != "line":
        header = f"nodes are called by their {columns.named_by}" if columns.named_by else ""
    elif names is not None:
        header = "header"
    elif columns.first_line_is_data:
        header = "no header (the first line is data; --header if it is not)"
    else:
        header = "no header"
    is_text = columns.unit == "line" and columns.format == "text"
    return Recognised(
        name=columns.name,
        format=columns.format,
        separator=_SEPARATORS.get(layout.separator, layout.separator) if is_text else None,
        header=header,
        columns={what: labels[n] for what, n in places.items() if n < len(labels)},
        unread=[label for n, label in enumerate(labels) if n not in places.values()],
        decimal_comma=layout.decimal_comma,
        contents=contents,
        first_rows=columns.first_rows or _first_rows(columns),
        is_table=columns.unit != "edge",
        declared_directed=columns.declared_directed,
    )


def _first_rows(columns: Columns, count: int = 5) -> list[tuple[str, ...]]:
    """Return the first rows of columns that were not read from text."""
    shown = []
    for name in columns.layout.names:
        pieces = columns.pieces.get(name) or []
        values = pieces[0][:count].tolist() if pieces else []
        shown.append([f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    return list(zip(*shown, strict=False))


# --- all columns, for attributes, features, titles and lists ------------------------------------


class Table(NamedTuple):
    """All rows of a table, with the names of its columns if it has a header."""

    name: str  # of the file, for messages
    header: list[str] | None
    rows: list[list[Any]]
    lines: list[int]  # of the rows
    unit: str
    separator: str = ""

    @property
    def names(self) -> list[str]:
        """The names of the columns; those without a name are called by their number."""
        given = self.header or []
        width = max([len(given), *map(len, self.rows[:1])])
        given = given + [""] * (width - len(given))
        return [str(name).strip() or f"column {n}" for n, name in enumerate(given, 1)]

    def error(self, problem: str, row: int, remedy: str) -> InputError:
        """Return an error about a row, with its file and line."""
        return place_error(problem, self.name, self.unit, self.lines[row], remedy)

    def columns(self) -> dict[str, list[Any]]:
        """Return the cells by column; decimal commas become points.

        Raises
        ------
        InputError
            If a row has another number of fields, two columns have the same name, or a number can
            be read in two ways.
        """
        names = self.names
        for row, cells in enumerate(self.rows):
            if len(cells) != len(names):
                problem = f"{len(cells)} fields where the first row has {len(names)}"
                remedy = "give every row the same number of fields, or set `separator`"
                raise self.error(problem, row, remedy)
        check_names(names, self.name)
        found = [list(column) for column in zip(*self.rows, strict=True)] or [[] for _ in names]
        return {
            name: self._with_points(name, column) for name, column in zip(names, found, strict=True)
        }

    def _with_points(self, name: str, cells: list[Any]) -> list[Any]:
        """Return a column of numbers such as 4,5 with decimal points."""
        filled = [cell for cell in cells if cell is not None and cell != ""]
        if not all(isinstance(cell, str) and is_quantity(cell) for cell in filled):
            return cells
        if all(is_number(cell) for cell in filled):
            return cells
        for row, cell in enumerate(cells):
            if cell and THOUSANDS.fullmatch(cell):
                problem = f"{name!r} is {cell!r}: a decimal comma or a thousand"
                raise self.error(problem, row, "write a decimal point, or leave out the comma")
        return [with_point(cell) if cell else cell for cell in cells]


def check_names(names: list[str], path: PathLike | None = None) -> None:
    """Raise InputError for two columns with the same name."""
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"two columns are called {repeated[0]!r}", path=path, remedy="give each its own name"
        )


def read_table(
    path: PathLike,
    options: ReadOptions = ReadOptions(),
    *,
    is_list: bool = False,
    about_nodes: bool = False,
    is_header: Callable[[list[str]], bool] | None = None,
) -> Table:
    """Read all rows of a table.

    The first row is a header if the format or `options.header` says so, else if `is_header` does:
    by default, if it has a usual name of a column of ids, or no number. `is_list` reads one id per
    line. `about_nodes` takes the nodes of a document of a graph.
    """
    allowed = tuple(f for f in FORMATS if f.cells or (about_nodes and f.edges))
    kind = _format_of(path, options, allowed)
    if kind is TEXT and is_list:
        cells = text_cells(path, options.separator, columns=1)
    elif about_nodes and kind.edges is not None:
        found = kind.edges(path, options)
        cells = found if isinstance(found, Cells) else found.node_cells()
    else:
        assert kind.cells is not None
        cells = kind.cells(path, options)
    if not cells.is_unicode:
        _say_latin_1(place_name(path))
    rows = cells.rows
    if not rows and is_list:
        return Table(place_name(path), None, [], [], cells.unit)
    if not rows:
        raise InputError(
            "has no rows", path=place_name(path), remedy="give a table of ids and columns"
        )
    first = [str(cell or "") for cell in rows[0]]
    if options.header is not None or cells.has_names:
        named = cells.has_names or bool(options.header)
    else:
        named = bool((is_header or _looks_like_names)(first))
    header = first if named else None
    return Table(
        place_name(path), header, rows[named:], cells.lines[named:], cells.unit, cells.separator
    )


def _looks_like_names(fields: list[str]) -> bool:
    return id_column(fields) is not None or not any(map(is_quantity, fields))


def read_id_list(path: PathLike, is_header: Callable[[str], bool]) -> Table:
    """Read a list of ids: one per line, or the column of ids of a table.

    `is_header` decides about the first one. Returns a table of one column of text.
    """

    def place_of(fields: list[str]) -> int:
        return id_column(fields) or 0

    table = read_table(path, is_list=True, is_header=lambda row: is_header(row[place_of(row)]))
    place = place_of(table.header or [])
    found = [
        ([str(row[place]).strip()], line)
        for row, line in zip(table.rows, table.lines, strict=True)
        if place < len(row) and row[place] is not None and str(row[place]).strip()
    ]
    return table._replace(rows=[row for row, _ in found], lines=[line for _, line in found])


def first_rows(
    path: PathLike, count: int, separator: str | None = None, sheet: str | None = None
) -> Table | None:
    """Return the first rows of a table of edges or ratings; None if the file is no table."""
    kind = find_format(path, None, FORMATS)
    if kind.cells is None or (kind.edges is not None and kind.name != "json"):
        return None
    if kind is TEXT:
        cells = text_cells(path, separator, columns=2, most_rows=count)
    else:
        cells = kind.cells(path, ReadOptions(most_rows=count, sheet=sheet))
    rows = [["" if cell is None else str(cell) for cell in row] for row in cells.rows[:count]]
    name = place_name(path)
    return Table(name, None, rows, cells.lines, cells.unit, cells.separator) if rows else None


def refuse_times(path: PathLike, *, separator: str | None = None, sheet: str | None = None) -> None:
    """Raise InputError if the header of a table of edges names a column of times."""
    if str(path) == "-":
        return  # it can be read only once
    try:
        found = first_rows(path, _HEADER_ROWS, separator, sheet)
        names = [] if found is None else found.rows[0]
        rows = [] if found is None else found.rows[1:]
        times = [name for name in names if (role := role_of(name)) and role.name == "time"]
        if not times or not are_names(names, rows, WantedColumns(("source", "target"))):
            return
    except InputError:
        return  # the reader says what is wrong
    raise InputError(
        f"the edges have times (column {times[0]!r}), which a release cannot contain",
        path=place_name(path),
        remedy="remove the column to release one network of all times. Snapshots can be released "
        "one by one, but they add up: two of them disclose more about a person than each alone, "
        "and the ledger counts each",
    )
