"""Side information about users or items: numbers, categories, and several categories per cell."""

from __future__ import annotations

import csv
import gzip
import os
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data.ids import as_ids

_SEPARATOR = "|"
_MAX_CATEGORIES = 300  # per column; the most frequent ones
_MIN_COUNT = 2  # a category that fewer nodes have says nothing about others


@dataclass(frozen=True, eq=False, repr=False)
class FeatureTable:
    """Side information about users or about items, one row per id.

    Build it with `from_columns` or `from_pandas`, or read a file with `read_features`. Columns of
    numbers are used as numbers, text as categories; text with `|` holds several categories, such
    as `Comedy|Drama`. Empty cells and NaN are missing values.

    Parameters
    ----------
    ids : ndarray
        The id of each row, unique.
    columns : dict of str to ndarray
        The columns: float64 with NaN for missing numbers, or text (object) with "" for missing.

    Examples
    --------
    >>> import coterie as ct
    >>> columns = {"year": [1994, 2001], "genre": ["a|b", "b"]}
    >>> ct.FeatureTable.from_columns(["x", "y"], columns)
    FeatureTable(2 rows: year (number), genre (categories))
    """

    ids: np.ndarray
    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        kinds = {True: "number", False: "categories"}
        shown = ", ".join(f"{n} ({kinds[c.dtype.kind == 'f']})" for n, c in self.columns.items())
        return f"FeatureTable({len(self):,} rows: {shown or 'no columns'})"

    @classmethod
    def from_columns(cls, ids: Any, columns: Mapping[str, Any]) -> Self:
        """Build a table from ids and columns.

        Parameters
        ----------
        ids : array-like of shape (n_rows,)
            The id of each row, as in the ratings.
        columns : mapping of str to array-like of shape (n_rows,)
            The columns: numbers or text.

        Returns
        -------
        FeatureTable
            The table.

        Raises
        ------
        InputError
            If an id occurs twice, a column has another length, or a number is infinite.
        """
        given = as_ids(ids)
        counts = Counter(given.tolist())
        if len(counts) != len(given):
            twice = next(id_ for id_, count in counts.items() if count > 1)
            raise InputError(
                f"the id {twice!r} has two rows of features", remedy="give one row per id"
            )
        found = {}
        for name, column in columns.items():
            values = _column(str(name), column)
            if len(values) != len(given):
                raise InputError(
                    f"the feature {name!r} has {len(values)} values for {len(given)} ids",
                    remedy="give one value per id",
                )
            found[str(name)] = values
        return cls(given, found)

    @classmethod
    def from_pandas(cls, frame: Any, id: str) -> Self:
        """Build a table from a pandas DataFrame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row per id.
        id : str
            The column that holds the ids; all others are features.

        Returns
        -------
        FeatureTable
            The table.

        Raises
        ------
        InputError
            If there is no such column, or an id occurs twice.
        """
        if id not in frame.columns:
            raise InputError(f"there is no column {id!r}", remedy="name the column of the ids")
        rest = {str(name): frame[name].to_numpy() for name in frame.columns if name != id}
        return cls.from_columns(frame[id].tolist(), rest)


def _column(name: str, column: Any) -> np.ndarray:
    """Return a column as float64, or as text if a value is not a number."""
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
    else:
        cells = ["" if _is_missing(cell) else str(cell).strip() for cell in values.tolist()]
        try:
            numbers = np.array([float(cell) if cell else np.nan for cell in cells])
        except ValueError:
            text = np.empty(len(cells), object)
            text[:] = cells
            return text
    if np.isinf(numbers).any():
        raise InputError(f"the feature {name!r} has infinite values", remedy="leave them empty")
    return numbers


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


class FeatureColumn(NamedTuple):
    """One column of the encoded features: a number, a category, or whether a number is missing."""

    name: str  # of the column in the table
    category: str | None  # None for a number
    center: float = 0.0
    scale: float = 1.0

    @property
    def title(self) -> str:
        """The name to show, such as `genre = Drama`."""
        return self.name if self.category is None else f"{self.name} = {self.category}"


_MISSING = "(missing)"


@dataclass(frozen=True)
class FeatureEncoding:
    """How side information is turned into columns of numbers; chosen on the nodes with ratings."""

    columns: tuple[FeatureColumn, ...] = ()

    @classmethod
    def of(cls, table: FeatureTable | None, ids: np.ndarray, kind: str) -> Self:
        """Choose the columns for the nodes with these ids; kind is "user" or "item"."""
        if table is None:
            return cls()
        if not isinstance(table, FeatureTable):
            raise InputError(
                f"a {type(table).__name__} cannot be used as {kind} features",
                remedy="give a coterie.FeatureTable, such as FeatureTable.from_pandas(frame, 'id')",
            )
        rows = _rows_of(table, ids)
        rows = rows[rows >= 0]
        if not len(rows):
            raise InputError(
                f"none of the {len(table):,} ids of the {kind} features is a {kind} of the ratings"
                f" (features: {table.ids[0]!r}; ratings: {ids[0]!r})"
                if len(table)
                else f"the table of {kind} features is empty",
                remedy=f"use the same ids for {kind}s in both tables",
            )
        if len(rows) < len(ids):
            warnings.warn(
                f"{len(ids) - len(rows):,} of {len(ids):,} {kind}s have no row of features; they "
                "get average ones",
                AssumptionWarning,
                stacklevel=2,
            )
        columns: list[FeatureColumn] = []
        for name, values in table.columns.items():
            own = values[rows]
            columns += _number(name, own) if own.dtype.kind == "f" else _categories(name, own)
        if not columns:
            warnings.warn(
                f"every {kind} feature is constant or unique, so none is used",
                AssumptionWarning,
                stacklevel=2,
            )
        return cls(tuple(columns))

    def encode(self, table: FeatureTable | None, ids: np.ndarray) -> np.ndarray:
        """Return the columns of these ids; a missing row, number or unknown category gives 0."""
        out = np.zeros((len(ids), len(self.columns)))
        if table is None or not self.columns:
            return out
        rows = _rows_of(table, ids)
        known = np.flatnonzero(rows >= 0)
        sets: dict[str, list[set[str]]] = {}
        for place, column in enumerate(self.columns):
            values = table.columns.get(column.name)
            if values is None:
                raise InputError(
                    f"there is no feature {column.name!r}, which the model was fitted with",
                    remedy="give a table with the same columns",
                )
            own = values[rows[known]]
            if column.category is None:
                out[known, place] = _scaled(own, column)
                continue
            if own.dtype.kind == "f":
                out[known, place] = np.isnan(own)
                continue
            if column.name not in sets:
                sets[column.name] = [_split(cell) for cell in own.tolist()]
            out[known, place] = [column.category in cell for cell in sets[column.name]]
        return out


def _rows_of(table: FeatureTable, ids: np.ndarray) -> np.ndarray:
    """Return the row of each id, -1 without one; 20 and "20" are the same id."""
    row_of = {id_: row for row, id_ in enumerate(table.ids.tolist())}
    row_of |= {str(id_): row for row, id_ in enumerate(table.ids.tolist())}
    found = [row_of.get(id_, row_of.get(str(id_), -1)) for id_ in np.asarray(ids).tolist()]
    return np.array(found, np.int64)


def _scaled(values: np.ndarray, column: FeatureColumn) -> np.ndarray:
    if values.dtype.kind != "f":
        raise InputError(
            f"the feature {column.name!r} holds text, but the model was fitted with numbers",
            remedy="give numbers",
        )
    scaled = (values - column.center) / column.scale
    return np.clip(np.where(np.isnan(scaled), 0.0, scaled), -4.0, 4.0)


def _number(name: str, values: np.ndarray) -> list[FeatureColumn]:
    """Return the column of a number, and of whether it is missing if that is not rare."""
    given = values[~np.isnan(values)]
    found = []
    if len(given) and given.std() > 1e-9 * max(1.0, abs(float(given.mean()))):
        found.append(FeatureColumn(name, None, float(given.mean()), float(given.std())))
    if _MIN_COUNT <= len(values) - len(given) <= len(values) - _MIN_COUNT:
        found.append(FeatureColumn(name, _MISSING))
    return found


def _categories(name: str, values: np.ndarray) -> list[FeatureColumn]:
    """Return one column per category that at least two nodes have and at least one has not."""
    counts: dict[str, int] = {}
    for cell in values.tolist():
        for category in _split(cell):
            counts[category] = counts.get(category, 0) + 1
    used = [c for c, count in counts.items() if _MIN_COUNT <= count < len(values)]
    used.sort(key=lambda category: (-counts[category], category))
    return [FeatureColumn(name, category) for category in used[:_MAX_CATEGORIES]]


def _split(cell: str) -> set[str]:
    """Return the categories in a cell.

    >>> sorted(_split("Comedy| Drama|"))
    ['Comedy', 'Drama']
    """
    return {part.strip() for part in cell.split(_SEPARATOR) if part.strip()}


def read_features(path: str | os.PathLike[str]) -> FeatureTable:
    """Read side information from a table: the id in the first column, then features.

    Parameters
    ----------
    path : path-like
        A text table (comma, semicolon, tab, `|` or `::`; .gz too) or a Parquet file. The first line
        of a text table is a header unless one of its fields is a number; without a header the
        features are called "column 2", "column 3" and so on.

    Returns
    -------
    FeatureTable
        Columns of numbers as numbers, all others as categories; `|` separates several.

    Raises
    ------
    InputError
        If the file cannot be read, a line has another number of fields, or an id occurs twice.

    Examples
    --------
    >>> import coterie as ct
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "films.csv")
    ...     _ = file.write_text("film,year,genres\\n7,1994,Comedy|Drama\\n8,2001,Drama\\n")
    ...     ct.read_features(file)
    FeatureTable(2 rows: year (number), genres (categories))
    """
    if str(path).endswith((".parquet", ".pq")):
        return _located(path, *_parquet_columns(path))
    lines = [line for line in _text(path).splitlines() if line.strip()]
    if not lines:
        raise InputError("has no rows", path=path, remedy="give a table of ids and features")
    separator = next((mark for mark in _FIELD_SEPARATORS if mark in lines[0]), ",")
    rows = [_fields(line, separator) for line in lines]
    width = len(rows[0])
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise InputError(
                f"{len(row)} fields where the first line has {width}",
                path=path,
                line=number,
                remedy="give every line the same number of fields",
            )
    if width < 2:
        raise InputError(
            "has only one column",
            path=path,
            remedy="give an id and at least one feature per line, separated by commas",
        )
    names = [f"column {place + 1}" for place in range(width)]
    if not any(_is_number(cell) for cell in rows[0]):
        names = [name.strip() or f"column {place + 1}" for place, name in enumerate(rows.pop(0))]
    cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    if len(set(names)) < len(names):
        raise InputError("two columns have the same name", path=path, remedy="rename one of them")
    ids: list[Any] = [cell.strip() for cell in cells[0]]
    if all(cell.isdecimal() and str(int(cell)) == cell for cell in ids):
        ids = [int(cell) for cell in ids]
    return _located(path, ids, dict(zip(names[1:], cells[1:], strict=True)))


_FIELD_SEPARATORS = ("\t", "::", ";", ",", "|")


def _located(
    path: str | os.PathLike[str], ids: list[Any], columns: Mapping[str, list[Any]]
) -> FeatureTable:
    """Return the table; an error names the file."""
    try:
        return FeatureTable.from_columns(ids, columns)
    except InputError as error:
        raise InputError(error.problem, path=path, remedy=error.remedy) from error


def _text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file; UTF-8, or Latin-1 as in the original MovieLens files."""
    try:
        content = Path(path).read_bytes()
        if str(path).endswith(".gz"):
            content = gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _fields(line: str, separator: str) -> list[str]:
    if separator == "::":
        return line.split(separator)
    return next(csv.reader([line], delimiter=separator))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parquet_columns(path: str | os.PathLike[str]) -> tuple[list[Any], dict[str, list[Any]]]:
    """Return the ids and the columns of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot be read: {error}", path=path) from error
    if table.num_columns < 2:
        raise InputError("has only one column", path=path, remedy="add at least one feature")
    first, *rest = table.column_names
    return table.column(first).to_pylist(), {name: table.column(name).to_pylist() for name in rest}
