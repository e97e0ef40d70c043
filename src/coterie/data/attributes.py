"""What is known about each node of a graph: categories, ordered numbers and measured numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name, read_all, suffixes
from coterie.data.graph import Graph
from coterie.data.text_layout import resolve_separator

_NODE_NAMES = ("node", "id", "nodeid", "person", "user", "published")
_MOST_ORDERED = 20  # numbers with more distinct values are measured, not counted
_DATE = re.compile(r"\d{4}-\d{1,2}(-\d{1,2})?([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_FEWEST = 20  # rows, below which no column is called identifying
_OWN_WORDS = 0.5  # share of the people with a word of their own that makes a column identifying
_OWN_NUMBERS = 0.9  # the same for whole numbers, which are coarsened anyway
_WORDS = 4  # a value with more words than this, on average, is free text


class AttributeKind(StrEnum):
    """How the values of a column can be compared."""

    categorical = "categorical"  # equal or different
    ordinal = "ordinal"  # few numbers, in order
    numeric = "numeric"  # many numbers


@dataclass(frozen=True, eq=False)
class Attribute:
    """One column: a value per node.

    Attributes
    ----------
    name : str
        The name of the column.
    kind : AttributeKind
        Categorical, ordinal or numeric.
    values : ndarray of shape (n_nodes,)
        Text for categories, numbers otherwise.
    """

    name: str
    kind: AttributeKind
    values: np.ndarray

    @property
    def integers(self) -> bool:
        """Whether all values are whole numbers."""
        return self.values.dtype.kind in "iu"


@dataclass(frozen=True, eq=False, repr=False)
class Attributes:
    """What is known about the nodes of a graph: one row per node, in the order of the nodes.

    Build it with `read_attributes` or one of the `from_...` methods, which recognise the kind of
    each column: text is categorical, numbers with at most 20 different values are ordinal, other
    numbers are numeric. Pass it to `Anonymizer.release` to release attributes with a network.

    Parameters
    ----------
    columns : list of Attribute
        The columns.

    See Also
    --------
    read_attributes : Read the table from a file.

    Examples
    --------
    >>> import coterie as ct
    >>> graph = ct.Graph.from_edges(["a", "b"], ["b", "c"])
    >>> table = ct.Attributes.from_columns(
    ...     graph, ["c", "a", "b"], {"team": ["x", "y", "y"], "age": [41, 35, 28]}
    ... )
    >>> table
    Attributes(3 nodes: team categorical, age ordinal)
    >>> table["team"].values.tolist()
    ['y', 'y', 'x']
    """

    columns: list[Attribute]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise InputError(
                f"two columns are called {repeated[0]!r}", remedy="give each its own name"
            )

    def __repr__(self) -> str:
        kinds = ", ".join(f"{column.name} {column.kind}" for column in self.columns)
        return f"Attributes({self.n_nodes} nodes: {kinds})"

    def __getitem__(self, name: str) -> Attribute:
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(
            f"there is no column {name!r}", remedy=f"use one of {', '.join(self.names)}"
        )

    @property
    def n_nodes(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def reordered(self, node: np.ndarray) -> Attributes:
        """Return the table with row i taken from row node[i].

        Parameters
        ----------
        node : ndarray of int
            Row numbers.

        Returns
        -------
        Attributes
            The new table.
        """
        return Attributes([Attribute(c.name, c.kind, c.values[node]) for c in self.columns])

    @classmethod
    def from_columns(
        cls,
        graph: Graph,
        nodes: Sequence[Any] | np.ndarray,
        columns: Mapping[str, Sequence[Any] | np.ndarray],
        *,
        path: PathLike | None = None,
        first_line: int = 1,
    ) -> Attributes:
        """Build the table from a column of ids and columns of values.

        Parameters
        ----------
        graph : Graph
            The graph whose nodes are described.
        nodes : sequence
            The id of each row.
        columns : mapping of str to sequence
            The values by name, one per row; text or numbers.
        path : path-like, optional
            The file, for error messages.
        first_line : int, default=1
            The line of the first row, for error messages.

        Returns
        -------
        Attributes
            One row per node of the graph.

        Raises
        ------
        InputError
            If a node has no row, two rows or a missing value, a row is about an unknown node, or a
            column holds dates, free text or one value per person.
        """
        rows = _rows_of_nodes(graph, nodes, path, first_line)
        if not columns:
            raise InputError(
                "the table has no column of attributes", path=path, remedy="add at least one"
            )
        made = []
        for name, values in columns.items():
            if len(values) != len(nodes):
                raise InputError(f"column {name!r} has {len(values)} values, not {len(nodes)}")
            made.append(_as_attribute(str(name), values, path, first_line, rows))
        return cls(made)

    @classmethod
    def from_pandas(cls, graph: Graph, frame: Any, node: str | None = None) -> Attributes:
        """Build the table from a data frame.

        Parameters
        ----------
        graph : Graph
            The graph whose nodes are described.
        frame : pandas.DataFrame
            The table.
        node : str, optional
            The column with the ids. By default, the index holds them.

        Returns
        -------
        Attributes
            One row per node of the graph.
        """
        ids = frame.index.tolist() if node is None else frame[node].tolist()
        columns = {str(c): frame[c].tolist() for c in frame.columns if c != node}
        return cls.from_columns(graph, ids, columns)

    @classmethod
    def from_networkx(cls, graph: Graph, network: Any) -> Attributes:
        """Build the table from the node attributes of a networkx graph.

        Parameters
        ----------
        graph : Graph
            The graph whose nodes are described.
        network : networkx.Graph
            A graph with the same nodes; all of them have the same attributes.

        Returns
        -------
        Attributes
            One row per node of the graph.
        """
        rows = dict(network.nodes(data=True))
        names = list(dict.fromkeys(name for row in rows.values() for name in row))
        columns = {str(name): [row.get(name) for row in rows.values()] for name in names}
        return cls.from_columns(graph, list(rows), columns)

    def to_columns(self) -> dict[str, np.ndarray]:
        """Return the values by name.

        Returns
        -------
        dict of str to ndarray
            One array per column.
        """
        return {column.name: column.values for column in self.columns}


def read_attributes(path: PathLike, graph: Graph, *, separator: str | None = None) -> Attributes:
    """Read what is known about the nodes of a graph.

    Parameters
    ----------
    path : path-like
        A table as text or Parquet with a header, or a GraphML file. In a table, the ids are in the
        column `node` (or `id`, `person`, `user`), or else in the first one; every other column is
        an attribute.
    graph : Graph
        The graph whose nodes are described.
    separator : str, optional
        The separator of a text file. By default, it is detected.

    Returns
    -------
    Attributes
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
    if (suffixes(path) or [""])[-1] == ".graphml":
        from coterie.data.graphml import read_node_attributes

        ids, by_name = read_node_attributes(path)
        return Attributes.from_columns(graph, ids, by_name, path=place_name(path))
    if (suffixes(path) or [""])[-1] in (".parquet", ".pq"):
        header, columns, first_line = _parquet_columns(path)
    else:
        header, columns, first_line = _text_columns(path, separator)
    if len(header) < 2:
        raise InputError(
            f"the table has one column, {header[0]!r}",
            path=place_name(path),
            line=1,
            remedy="give a column of nodes and at least one attribute, or set `separator`",
        )
    simple = [re.sub(r"[\s_-]", "", name.lower()) for name in header]
    place = next((simple.index(name) for name in _NODE_NAMES if name in simple), 0)
    nodes = columns.pop(place)
    del header[place]
    return Attributes.from_columns(
        graph,
        nodes,
        dict(zip(header, columns, strict=True)),
        path=place_name(path),
        first_line=first_line,
    )


def _text_columns(path: PathLike, separator: str | None) -> tuple[list[str], list[list[str]], int]:
    """Return header, columns as text and the line of the first row."""
    name = place_name(path)
    try:
        text = read_all(path).getvalue().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8 text", path=name, remedy="save it as UTF-8"
        ) from error
    lines = text.splitlines()
    if not any(line.strip() for line in lines):
        raise InputError("the file is empty", path=name, remedy="give a table with a header")
    delimiter = resolve_separator(separator)
    if not delimiter:
        delimiter = max(",;\t|", key=lines[0].count)
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    header = [field.strip() for field in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if row and len(row) != len(header):
            raise InputError(
                f"the row has {len(row)} fields, the header {len(header)}",
                path=name,
                line=number,
                remedy="fix the row",
            )
    filled = [row for row in rows[1:] if row]
    return header, [[row[i].strip() for row in filled] for i in range(len(header))], 2


def _parquet_columns(path: PathLike) -> tuple[list[str], list[Any], int]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(str(path))
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"is not a Parquet file: {error}", path=place_name(path), remedy="check the file"
        ) from error
    return list(table.column_names), [column.to_pylist() for column in table.columns], 1


def _rows_of_nodes(
    graph: Graph, nodes: Iterable[Any], path: PathLike | None, first_line: int
) -> np.ndarray:
    """Return the row of every node."""
    number = {str(name): v for v, name in enumerate(graph.ids.tolist())}
    rows = np.full(graph.n_nodes, -1, np.int64)
    for row, name in enumerate(nodes):
        line = first_line + row
        v = number.get(str(name))
        if v is None:
            raise InputError(
                f"node {name!s} is not in the graph",
                path=path,
                line=line,
                remedy="remove the row; a node without edges is declared in the edge list with "
                "a line '# isolated: ID'",
            )
        if rows[v] >= 0:
            raise InputError(
                f"node {name!s} has two rows", path=path, line=line, remedy="keep one of them"
            )
        rows[v] = row
    if (rows < 0).any():
        missing = np.flatnonzero(rows < 0)
        raise InputError(
            f"{len(missing):,} nodes of the graph have no row, for example {graph.ids[missing[0]]}",
            path=path,
            remedy="add them, with a value such as 'unknown' where nothing is known",
        )
    return rows


def _as_attribute(
    name: str,
    values: Sequence[Any] | np.ndarray,
    path: PathLike | None,
    first_line: int,
    rows: np.ndarray,
) -> Attribute:
    """Return a column in the order of the nodes, or raise InputError if it cannot be used."""
    listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for row, value in enumerate(listed):
        if value is None or value == "" or (isinstance(value, float) and np.isnan(value)):
            raise InputError(
                f"the value of {name!r} is missing",
                path=path,
                line=first_line + row,
                remedy="write a value such as 'unknown', or remove the column",
            )
    numbers = _as_numbers(listed)
    if numbers is None:
        text = np.array([str(value) for value in listed], object)
        _check_text(name, text, path)
        kind, array = AttributeKind.categorical, text
    else:
        ordered = len(np.unique(numbers)) <= _MOST_ORDERED
        kind = AttributeKind.ordinal if ordered else AttributeKind.numeric
        array = numbers
        if not np.isfinite(numbers).all():
            raise InputError(
                f"column {name!r} contains a number that is not finite",
                path=path,
                remedy="fix the value, or remove the column",
            )
    _check_not_identifying(name, array, path)
    return Attribute(name, kind, array[rows])


def _as_numbers(values: list[Any]) -> np.ndarray | None:
    """Return numbers, whole ones as int64; None if a value is not a number.

    >>> _as_numbers(["1", "2"]), _as_numbers(["007"]), _as_numbers([1.5, "x"])
    (array([1, 2]), None, None)
    """
    if any(isinstance(value, bool) for value in values):
        return None
    text = [str(value) for value in values]
    if any(re.fullmatch(r"0\d+", value) for value in text):
        return None  # a code such as 007, not a number
    try:
        return np.array([int(value) for value in text], np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([float(value) for value in text], np.float64)
    except ValueError:
        return None


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
