"""Write graphs, ratings and tables; the suffix of the file decides the format."""

from __future__ import annotations

import csv
import gzip
import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

from coterie.base.errors import ImportantWarning, InputError
from coterie.base.json_values import JsonObject
from coterie.data.atomic_files import atomic_write
from coterie.data.byte_source import PathLike, suffixes
from coterie.data.foreign import as_graph, as_ratings, edge_columns, rating_columns
from coterie.data.formats import FORMATS
from coterie.data.formats.recognise import format_by_suffix
from coterie.data.graph import Graph
from coterie.data.ratings import Ratings

__all__ = ["atomic_write", "write_graph", "write_ratings", "write_table"]

_ROWS = 1 << 17  # rows converted to text at once
_FEW_ROWS = 20_000  # written before pyarrow would be loaded
_FORMULA = re.compile(r"[=@\t\r]|[+-](?!\d)")  # the start of a formula in a spreadsheet program


def write_table(path: PathLike, columns: Mapping[str, Any]) -> None:
    """Write columns of equal length as a table.

    Parameters
    ----------
    path : path-like
        The file: .parquet or .pq is Parquet, .tsv is tab-separated text, anything else is CSV.
        Text is compressed if the name ends with .gz. `-` writes CSV to standard output. A file
        appears complete or not at all.
    columns : mapping of str to array-like
        The columns by name.

    Examples
    --------
    >>> write_table("-", {"node": ["a", "b, c"], "block": np.array([0, 1])})
    node,block
    a,0
    "b, c",1
    """
    arrays = {name: _writable_column(column) for name, column in columns.items()}
    lengths = {name: len(column) for name, column in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            f"columns of different length: {lengths}",
            path=path,
            remedy="give columns of equal length",
        )
    if _suffix(path) in (".parquet", ".pq"):
        _write_parquet(path, arrays, {})
        return
    with _text_output(path) as file:
        _write_rows(file, arrays, "\t" if _suffix(path) == ".tsv" else ",")


def write_ratings(ratings: Ratings, path: PathLike) -> None:
    """Write ratings as a table user, item, rating, and timestamp if there are timestamps.

    Parameters
    ----------
    ratings : Ratings
        The ratings.
    path : path-like
        The file: text (.csv, .tsv, …, each also with .gz) or .parquet.

    Examples
    --------
    >>> import coterie as ct
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> ratings = ct.Ratings.from_arrays(["ann", "bob"], ["x", "x"], [3, 4.5])
    >>> with TemporaryDirectory() as folder:
    ...     ct.write_ratings(ratings, Path(folder) / "r.csv")
    ...     print((Path(folder) / "r.csv").read_text(), end="")
    user,item,rating
    ann,x,3.0
    bob,x,4.5
    """
    write_table(path, rating_columns(as_ratings(ratings)))


def write_graph(
    graph: Graph, path: PathLike, *, node_columns: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write a graph to a file; the suffix decides the format.

    `read_graph` returns the same graph, with its nodes without edges: text files begin with a
    line `# nodes: N` if the ids are 0..N-1, or else with a line `# isolated: ID` per node without
    edges; Parquet files have the same in their metadata.

    Parameters
    ----------
    graph : Graph
        The graph.
    path : path-like
        The file: .csv, .tsv, .parquet, .graphml, .gexf, .gml, .json (node-link), or else text with
        one edge per line, separated by a blank. All but Parquet are compressed if the name ends
        with .gz. `-` writes CSV to standard output. A file appears complete or not at all.
    node_columns : mapping of str to ndarray of shape (n_nodes,), optional
        Attributes of the nodes. GraphML, GEXF and JSON hold them; for other formats, write a table
        of its own with `write_table`.

    Raises
    ------
    InputError
        If the file cannot be written, an id cannot be written as text, or attributes are given for
        a format that does not hold them.

    See Also
    --------
    read_graph : Read a graph from a file.

    Examples
    --------
    >>> import coterie as ct
    >>> ct.write_graph(ct.Graph.from_edges([0, 1], [1, 2], n_nodes=4), "-")
    # nodes: 4
    source,target
    0,1
    1,2
    """
    graph = as_graph(graph)
    suffix = _suffix(path)
    kind = format_by_suffix(path)
    if node_columns and not kind.holds_attributes:
        holders = [known.title for known in FORMATS if known.holds_attributes]
        raise InputError(
            f"only {', '.join(holders)} hold attributes of nodes",
            path=path,
            remedy="write a table of its own",
        )
    if kind.write is None and not kind.writes_tables:
        written = [known.title for known in FORMATS if known.write or known.writes_tables]
        raise InputError(
            f"{kind.title} is read, but not written", path=path, remedy=f"use {', '.join(written)}"
        )
    if kind.write is not None:
        with _binary_output(path) as file:
            kind.write(graph, file, node_columns)
        return
    columns = {name: _writable_column(column) for name, column in edge_columns(graph).items()}
    if "weight" in columns:
        columns["weight"] = _whole_numbers(columns["weight"])
    notes = _notes(graph)
    if suffix in (".parquet", ".pq"):
        _write_parquet(path, columns, notes)
        return
    separator = {".csv": ",", ".tsv": "\t"}.get(suffix, "," if str(path) == "-" else " ")
    _check_names(graph, separator, path)
    with _text_output(path) as file:
        if "nodes" in notes:
            file.write(f"# nodes: {notes['nodes']}\n")
        file.writelines(f"# isolated: {name}\n" for name in notes.get("isolated", []))
        named = separator != " " or graph.ids.dtype == object
        _write_rows(file, columns, separator, header=named)


def _whole_numbers(weights: np.ndarray) -> np.ndarray:
    """Return weights as integers if all of them are.

    >>> _whole_numbers(np.array([2.0, 3.0])), _whole_numbers(np.array([2.5]))
    (array([2, 3]), array([2.5]))
    """
    if (np.abs(weights) < 2**53).all() and (weights == np.rint(weights)).all():
        return np.asarray(weights, np.int64)
    return weights


def _notes(graph: Graph) -> JsonObject:
    """Return facts that the edges do not contain: the number of nodes, or nodes without edges."""
    if graph.ids.dtype.kind == "i" and np.array_equal(graph.ids, np.arange(graph.n_nodes)):
        return {"nodes": graph.n_nodes}
    has_edges = graph.degrees > 0
    has_edges[graph.indices] = True
    isolated = graph.ids[~has_edges].tolist()
    return {"isolated": [str(name) for name in isolated]} if isolated else {}


def _check_names(graph: Graph, separator: str, path: PathLike) -> None:
    """Raise InputError for ids that could not be read back from text."""
    if graph.ids.dtype != object:
        return
    for name in map(str, graph.ids):
        unwritable = not name or name != name.strip() or any(x in name for x in "\r\n\0")
        needs_quotes = len(name.split()) > 1 or name[:1] in "#%" or '"' in name
        if unwritable or (separator == " " and needs_quotes):
            suffix = ".parquet" if unwritable else ".csv or .parquet"
            raise InputError(
                f"the id {name!r} cannot be written as text",
                path=path,
                remedy=f"write {suffix} instead",
            )


def _write_rows(
    file: IO[str], columns: dict[str, np.ndarray], separator: str, header: bool = True
) -> None:
    """Write many rows of integers with pyarrow, which is fast; others with csv, which quotes."""
    writer = csv.writer(file, delimiter=separator, lineterminator="\n", quoting=_quoting(columns))
    _warn_of_formulas(columns)
    if header:
        csv.writer(file, delimiter=separator, lineterminator="\n").writerow(columns)
    length = len(next(iter(columns.values()), ()))
    plain = length > _FEW_ROWS and all(column.dtype.kind in "iu" for column in columns.values())
    for begin in range(0, length, _ROWS):
        part = {name: column[begin : begin + _ROWS] for name, column in columns.items()}
        if plain:
            file.write(_integer_rows(part, separator))
        else:
            lists = (column.tolist() for column in part.values())
            writer.writerows(zip(*lists, strict=True))


def _warn_of_formulas(columns: dict[str, np.ndarray]) -> None:
    """Warn of text that a spreadsheet program would run as a formula.

    It is written as it is, because ids must read back the same.
    """
    text = (column for column in columns.values() if column.dtype == object)
    found = [x for column in text for x in column if isinstance(x, str) and _FORMULA.match(x)]
    if found:
        begin = "field begins" if len(found) == 1 else "fields begin"
        warnings.warn(
            f"{len(found):,} {begin} with =, +, - or @, such as {found[0][:30]!r}: a spreadsheet "
            "program may run it as a formula; import the file as text",
            ImportantWarning,
            stacklevel=4,
        )


def _quoting(columns: dict[str, np.ndarray]) -> Any:
    """Quote all text if an id would otherwise look like a comment."""
    text = (column for column in columns.values() if column.dtype == object)
    comment = any(str(value)[:1] in ("#", "%") for column in text for value in column)
    return csv.QUOTE_NONNUMERIC if comment else csv.QUOTE_MINIMAL


def _integer_rows(columns: dict[str, np.ndarray], separator: str) -> str:
    """Return rows of integers as text."""
    from pyarrow import csv as fast_csv
    from pyarrow import table

    sink = io.BytesIO()
    options = fast_csv.WriteOptions(include_header=False, delimiter=separator)
    fast_csv.write_csv(table(columns), sink, options)
    return sink.getvalue().decode("ascii")


def _writable_column(column: Any) -> np.ndarray:
    """Return an array of numbers, or of objects that are text or numbers."""
    array = np.asarray(column) if not isinstance(column, list) else _from_list(column)
    if array.dtype.kind in "iufb":
        return array
    objects = array.astype(object)
    return np.array([x if isinstance(x, str | int | float) else str(x) for x in objects], object)


def _from_list(column: list[Any]) -> np.ndarray:
    """Return a list as an array, without converting numbers to text."""
    kinds = set(map(type, column))
    if kinds <= {int} or kinds <= {int, float} or kinds <= {bool}:
        return np.array(column) if column else np.empty(0, object)
    array = np.empty(len(column), object)
    array[:] = column
    return array


def _write_parquet(path: PathLike, columns: dict[str, np.ndarray], notes: JsonObject) -> None:
    from coterie.data.formats.parquet import write_parquet

    with atomic_write(path, "wb") as file:
        write_parquet(columns, file, notes)


@contextmanager
def _text_output(path: PathLike) -> Iterator[IO[str]]:
    """Open a text file, compressed if its name ends with .gz."""
    if not str(path).endswith(".gz"):
        with atomic_write(path) as file:
            yield file
        return
    with (
        _binary_output(path) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as file,
    ):
        yield file


@contextmanager
def _binary_output(path: PathLike) -> Iterator[Any]:
    """Open a binary file, compressed if its name ends with .gz; the bytes are reproducible."""
    with atomic_write(path, "wb") as raw:
        if str(path).endswith(".gz"):
            with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
                yield packed
        else:
            yield raw


def _suffix(path: PathLike) -> str:
    return (suffixes(path) or [""])[-1]
