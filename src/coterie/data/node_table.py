"""What is known about nodes, users or items: one row per id, columns of categories and numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from coterie.base.errors import InputError, near_miss
from coterie.data.byte_source import PathLike
from coterie.data.column_roles import id_column
from coterie.data.graph import Graph
from coterie.data.ids import IdLookup, as_ids, ids_from_text
from coterie.data.table import ReadOptions, Table, check_names, read_table

_MOST_ORDERED = 20  # numbers with more distinct values are measured, not counted
_DATE = re.compile(r"\d{4}-\d{1,2}(-\d{1,2})?([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_FEWEST = 20  # rows, below which no column is called identifying
_OWN_WORDS = 0.5  # share of the people with a word of their own that makes a column identifying
_OWN_NUMBERS = 0.9  # the same for whole numbers, which are coarsened anyway
_WORDS = 4  # a value with more words than this, on average, is free text

_Locate = Callable[[str, int, str], InputError]  # (problem, row, remedy) -> error with the place


class ColumnKind(StrEnum):
    """How the values of a column can be compared."""

    categorical = "categorical"  # equal or different
    ordinal = "ordinal"  # few numbers, in order
    numeric = "numeric"  # many numbers


@dataclass(frozen=True, eq=False)
class NodeColumn:
    """One column of a NodeTable: a value per row.

    Attributes
    ----------
    name : str
        The name of the column.
    kind : ColumnKind
        Categorical, ordinal or numeric.
    values : ndarray of shape (n_rows,)
        Text for categories ("" where it is missing), int64 for whole numbers, otherwise float64
        (NaN where it is missing).
    """

    name: str
    kind: ColumnKind
    values: np.ndarray

    @property
    def integers(self) -> bool:
        """Whether all values are whole numbers."""
        return self.values.dtype.kind in "iu"

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers."""
        return self.kind is not ColumnKind.categorical


@dataclass(frozen=True, eq=False, repr=False)
class NodeTable:
    """What is known about nodes, users or items: one row per id.

    Build it with `from_columns`, `from_pandas` or `from_networkx`, or read a file with
    `read_attributes` (of the nodes of a graph) or `read_features` (of users or items). Text is
    categorical, numbers with at most 20 different values are ordinal, other numbers are numeric;
    codes such as 007 are text. Empty cells and NaN are missing values.

    `Anonymizer.release` takes it as the attributes of a network, which may not be missing;
    `Recommender.fit` takes it as features of users or items, where text with `|` holds several
    categories, such as `Comedy|Drama`.

    Parameters
    ----------
    ids : ndarray
        The id of each row, unique.
    columns : sequence of NodeColumn
        The columns.

    See Also
    --------
    read_attributes : Read a table about the nodes of a graph.
    read_features : Read a table about users or items.

    Examples
    --------
    >>> import coterie as ct
    >>> columns = {"team": ["x", "y", "y"], "age": [41, 35, 28]}
    >>> table = ct.NodeTable.from_columns(["c", "a", "b"], columns)
    >>> table
    NodeTable(3 rows: team categorical, age ordinal)
    >>> graph = ct.Graph.from_edges(["a", "b"], ["b", "c"])
    >>> table.of_graph(graph)["team"].values.tolist()
    ['y', 'y', 'x']
    """

    ids: np.ndarray
    columns: Sequence[NodeColumn]

    def __post_init__(self) -> None:
        check_names(self.names)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{column.name} {column.kind}" for column in self.columns)
        return f"NodeTable({len(self):,} rows: {kinds or 'no columns'})"

    def __getitem__(self, name: str) -> NodeColumn:
        for column in self.columns:
            if column.name == name:
                return column
        meant = near_miss(name, self.names)
        raise InputError(
            f"there is no column {name!r}", remedy=f"use one of {', '.join(self.names)}{meant}"
        )

    @property
    def n_nodes(self) -> int:
        """Number of rows."""
        return len(self.ids)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def reordered(self, rows: np.ndarray) -> NodeTable:
        """Return the table with row i taken from row rows[i].

        Parameters
        ----------
        rows : ndarray of int
            Row numbers.

        Returns
        -------
        NodeTable
            The new table.
        """
        columns = [NodeColumn(c.name, c.kind, c.values[rows]) for c in self.columns]
        return NodeTable(self.ids[rows], columns)

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the values by name.

        Returns
        -------
        dict of str to ndarray
            One array per column.
        """
        return {column.name: column.values for column in self.columns}

    @classmethod
    def from_columns(cls, ids: Any, columns: Mapping[str, Sequence[Any] | np.ndarray]) -> NodeTable:
        """Build a table from ids and columns.

        Parameters
        ----------
        ids : array-like of shape (n_rows,)
            The id of each row, as in the graph or the ratings.
        columns : mapping of str to array-like of shape (n_rows,)
            The columns by name: numbers or text.

        Returns
        -------
        NodeTable
            The table.

        Raises
        ------
        InputError
            If an id occurs twice, a column has another length, or a number is infinite.
        """
        return _built(ids, columns, _in_memory)

    @classmethod
    def from_pandas(cls, frame: Any, id: str | None = None) -> NodeTable:
        """Build a table from a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row per id.
        id : str, optional
            The column with the ids. By default, the index holds them.

        Returns
        -------
        NodeTable
            The table.
        """
        if id is not None and id not in frame.columns:
            raise InputError(f"there is no column {id!r}", remedy="name the column of the ids")
        ids = frame.index.tolist() if id is None else frame[id].tolist()
        return cls.from_columns(
            ids, {str(name): frame[name].to_numpy() for name in frame.columns if name != id}
        )

    @classmethod
    def from_networkx(cls, network: Any) -> NodeTable:
        """Build a table from the node attributes of a networkx graph.

        Parameters
        ----------
        network : networkx.Graph
            The graph; an attribute that a node does not have is a missing value.

        Returns
        -------
        NodeTable
            One row per node of the graph.
        """
        rows = dict(network.nodes(data=True))
        names = list(dict.fromkeys(name for row in rows.values() for name in row))
        columns = {str(name): [row.get(name) for row in rows.values()] for name in names}
        return cls.from_columns(list(rows), columns)

    def of_graph(self, graph: Graph) -> NodeTable:
        """Return the rows in the order of the nodes of a graph, checked for a release.

        Parameters
        ----------
        graph : Graph
            The graph whose nodes are described.

        Returns
        -------
        NodeTable
            One row per node of the graph.

        Raises
        ------
        InputError
            If a node has no row or a missing value, a row is about an unknown node, or a column
            holds dates, free text or one value per person.
        """
        return _of_graph(self, graph, _in_memory, None)


def _in_memory(problem: str, row: int, remedy: str) -> InputError:
    return InputError(f"row {row}: {problem}", remedy=remedy)


def _built(ids: Any, columns: Mapping[str, Any], error: _Locate) -> NodeTable:
    """Return a table; `error` adds the place to what is wrong with a row."""
    given = as_ids(ids)
    seen: set[str] = set()
    for row, id_ in enumerate(map(str, given.tolist())):
        if id_ in seen:
            raise error(f"the id {id_} has two rows", row, "keep one of them")
        seen.add(id_)
    made = []
    for name, values in columns.items():
        if len(values) != len(given):
            raise InputError(
                f"column {name!r} has {len(values)} values for {len(given)} ids",
                remedy="give one value per id",
            )
        made.append(_column(str(name), values, error))
    return NodeTable(given, made)


def _column(name: str, values: Any, error: _Locate) -> NodeColumn:
    """Return a column of numbers, or of text if a value is not a number."""
    array = values if isinstance(values, np.ndarray) else np.empty(0, object)
    numbers: np.ndarray | None
    if array.dtype.kind == "f" or (array.dtype.kind == "u" and array.max(initial=0) >= 2**63):
        numbers = array.astype(np.float64)
    elif array.dtype.kind in "iu":
        numbers = array.astype(np.int64)
    else:
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        cells = ["" if _is_missing(cell) else str(cell).strip() for cell in listed]
        numbers = _as_numbers(cells)
        if numbers is None:
            text = np.empty(len(cells), object)
            text[:] = cells
            return NodeColumn(name, ColumnKind.categorical, text)
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise error(f"the {name!r} is infinite", row, "fix the value, or leave it empty")
    given = numbers[~np.isnan(numbers)]
    ordered = len(np.unique(given)) <= _MOST_ORDERED
    return NodeColumn(name, ColumnKind.ordinal if ordered else ColumnKind.numeric, numbers)


def _is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


def _as_numbers(cells: list[str]) -> np.ndarray | None:
    """Return numbers, whole ones as int64; None if a cell is not a number.

    >>> _as_numbers(["1", "2"]), _as_numbers(["1", ""]), _as_numbers(["007"])
    (array([1, 2]), array([ 1., nan]), None)
    """
    if any(re.fullmatch(r"0\d+", cell) for cell in cells):
        return None  # a code such as 007, not a number
    try:
        return np.array([int(cell) for cell in cells], np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return None


# --- files ---------------------------------------------------------------------------------------


def read_attributes(path: PathLike, graph: Graph, *, separator: str | None = None) -> NodeTable:
    """Read what is known about the nodes of a graph.

    Parameters
    ----------
    path : path-like
        A table as text, Parquet, Excel or JSON, or a GraphML file; each also as .gz. The ids are
        in the column `node` (or `id`, `person`, `user`), or else in the first one; every other
        column is an attribute. Without a header, columns are called "column 2", "column 3" and so
        on.
    graph : Graph
        The graph whose nodes are described.
    separator : str, optional
        The separator of a text file. By default, it is detected.

    Returns
    -------
    NodeTable
        One row per node of the graph.

    Raises
    ------
    InputError
        If the file does not describe every node of the graph, or a column cannot be used.

    Examples
    --------
    >>> import coterie as ct
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> graph = ct.Graph.from_edges(["a", "b"], ["b", "c"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("node,team\\na,x\\nb,x\\nc,y\\n")
    ...     table = ct.read_attributes(path, graph)
    >>> table["team"].values.tolist()
    ['x', 'x', 'y']
    """
    known = IdLookup(graph.ids)
    table = read_table(
        path,
        ReadOptions(separator=separator),
        about_nodes=True,
        is_header=lambda row: id_column(row) is not None or known.numbers(row[:1])[0] < 0,
    )
    return _of_graph(_from_table(table), graph, table.error, table.name)


def read_features(path: PathLike, *, separator: str | None = None) -> NodeTable:
    """Read side information about users or items: ids and features.

    Parameters
    ----------
    path : path-like
        A table as text (comma, semicolon, tab, `|` or `::`), Parquet, Excel or JSON; each also as
        .gz. The ids are in the column `id` (or `user`, `item`, `movieId` and so on), or else in
        the first one; every other column is a feature. The first line of a text is a header unless
        one of its fields is a number; without a header, columns are called "column 2", "column 3"
        and so on.
    separator : str, optional
        The separator of a text file. By default, it is detected.

    Returns
    -------
    NodeTable
        Columns of numbers as numbers, all others as categories; `|` separates several.

    Raises
    ------
    InputError
        If the file cannot be read, a row has another number of fields, or an id occurs twice.

    Examples
    --------
    >>> import coterie as ct
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "films.csv")
    ...     _ = file.write_text("film,year,genres\\n7,1994,Comedy|Drama\\n8,2001,Drama\\n")
    ...     ct.read_features(file)
    NodeTable(2 rows: year ordinal, genres categorical)
    """
    return _from_table(read_table(path, ReadOptions(separator=separator)))


def _from_table(table: Table) -> NodeTable:
    """Return a table of a file: a column of ids, and at least one other."""
    columns = table.columns()
    names = list(columns)
    if len(names) < 2:
        raise InputError(
            f"the table has one column, {names[0]!r}",
            path=table.name,
            remedy="give a column of ids and at least one other, or set `separator`",
        )
    name = names[id_column(table.header or []) or 0]
    ids: Any = columns.pop(name)
    if all(isinstance(cell, str) for cell in ids):
        ids = ids_from_text(ids)
    if (row := next((n for n, id_ in enumerate(ids) if id_ == ""), None)) is not None:
        raise table.error("the id is missing", row, "fill it in or remove the row")
    return _built(ids, columns, table.error)


# --- attributes that can be released --------------------------------------------------------------


def _of_graph(table: NodeTable, graph: Graph, error: _Locate, path: PathLike | None) -> NodeTable:
    """Return the rows of a graph's nodes; errors about a row get their place from `error`."""
    node = IdLookup(graph.ids).numbers(table.ids)
    if (node < 0).any():
        row = int(np.argmax(node < 0))
        raise error(
            f"node {table.ids[row]!s} is not in the graph",
            row,
            "remove the row; a node without edges is declared in the edge list with a line "
            "'# isolated: ID'",
        )
    rows = np.full(graph.n_nodes, -1, np.int64)
    rows[node] = np.arange(len(node))
    if (rows < 0).any():
        missing = np.flatnonzero(rows < 0)
        raise InputError(
            f"{len(missing):,} nodes of the graph have no row, for example {graph.ids[missing[0]]}",
            path=path,
            remedy="add them, with a value such as 'unknown' where nothing is known",
        )
    if not table.columns:
        raise InputError(
            "the table has no column of attributes", path=path, remedy="add at least one"
        )
    for column in table.columns:
        absent = np.isnan(column.values) if column.is_number else column.values == ""
        if absent.any():
            raise error(
                f"the value of {column.name!r} is missing",
                int(np.argmax(absent)),
                "write a value such as 'unknown', or remove the column",
            )
        if not column.is_number:
            _check_text(column.name, column.values, path)
        _check_not_identifying(column.name, column.values, path)
    return table.reordered(rows)


def _check_text(name: str, values: np.ndarray, path: PathLike | None) -> None:
    distinct = sorted(set(values.tolist()))
    if distinct and all(_DATE.fullmatch(value) for value in distinct):
        raise InputError(
            f"column {name!r} holds dates, which identify people",
            path=path,
            remedy="give a year or an age instead, or remove the column",
        )
    words = np.mean([len(value.split()) for value in distinct])
    if len(distinct) > len(values) / 4 and words > _WORDS:
        raise InputError(
            f"column {name!r} holds free text, which cannot be published",
            path=path,
            remedy="replace it by a few categories, or remove the column",
        )


def _check_not_identifying(name: str, values: np.ndarray, path: PathLike | None) -> None:
    """Raise InputError for a column in which (nearly) every person has an own value."""
    n = len(values)
    if n < _FEWEST or values.dtype.kind == "f":
        return
    _, counts = np.unique(values.astype(str), return_counts=True)
    alone = counts[counts == 1].sum() / n
    if alone > (_OWN_NUMBERS if values.dtype.kind == "i" else _OWN_WORDS):
        share = "every person has" if alone == 1 else f"{100 * alone:.0f} % of the people have"
        raise InputError(
            f"column {name!r} identifies people: {share} a value of their own",
            path=path,
            remedy="remove the column, or replace it by a few categories",
        )
