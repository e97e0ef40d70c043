"""Read graphs, ratings and small tables from files of several formats."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.base.errors import AssumptionWarning, ImportantWarning, InputError
from coterie.data.adjacency_builder import WeightConflictError, build_rows, cut_edges
from coterie.data.byte_source import PathLike, place_name, suffixes
from coterie.data.graph import Graph
from coterie.data.ids import number_ids, number_integers, number_text, written_integer
from coterie.data.ratings import Ratings
from coterie.data.text_layout import WantedColumns
from coterie.data.text_reader import Columns, read_text

_FORMATS = {
    "text": (".txt", ".csv", ".tsv", ".edges", ".edgelist", ".dat", ".data"),
    "parquet": (".parquet", ".pq"),
    "graphml": (".graphml",),
    "gml": (".gml",),
}
_ALIASES = {"csv": "text", "tsv": "text", "edgelist": "text"}


def read_graph(
    path: PathLike,
    *,
    directed: bool = False,
    weighted: bool = False,
    format: str | None = None,
    separator: str | None = None,
    threads: int | None = None,
) -> Graph:
    """Read a graph from a file.

    The separator, the header and comments of a text file are detected. Self-loops are dropped and
    repeated edges are merged. An AssumptionWarning says what was cleaned, which columns were not
    read, and whether the first line was read as a header.

    Parameters
    ----------
    path : path-like
        An edge list as text (one edge per line: source, target and optionally weight) or Parquet,
        or a GraphML or GML file (with networkx). Text can be compressed with gzip. `-` is
        standard input. Lines that begin with # or % are comments, except `# nodes: N`, which says
        that the ids are 0..N-1, and `# isolated: ID`, which adds a node without edges.
    directed : bool, default=False
        Whether edges have a direction.
    weighted : bool, default=False
        Whether to read weights from the third column (of GraphML and GML: from the attribute
        "weight"). The weights of repeated edges are added.
    format : {"text", "parquet", "graphml", "gml"}, optional
        The format. By default, it follows from the suffix of the file; unknown suffixes are text.
    separator : str, optional
        The separator of a text file: any character, "::", "tab" or "whitespace". By default, it
        is detected.
    threads : int, optional
        The number of threads. By default, all cores.

    Returns
    -------
    Graph
        The graph. Its ids are integers if every id is one in its usual form ("007" is text).

    Raises
    ------
    InputError
        If the file cannot be read; the message has the file, the line and what to do.

    See Also
    --------
    write_graph : Write a graph to a file.
    Graph : Its methods convert from networkx, igraph, scipy, numpy, pandas and polars.

    Examples
    --------
    >>> import coterie as ct
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/edges.txt", "w") as file:
    ...         _ = file.write("# nodes: 4\\n0 1\\n1 2\\n")
    ...     ct.read_graph(f"{folder}/edges.txt")
    Graph(4 nodes, 2 edges)
    """
    kind = _format(path, format)
    if kind in ("graphml", "gml"):
        from coterie.data.graphml import read_markup

        graph = read_markup(path, kind, directed, weighted)
    else:
        wanted = WantedColumns(("source", "target"), ("weight",) if weighted else ())
        columns = _columns(path, kind, wanted, separator, threads)
        graph = _graph(columns, directed, weighted, threads)
        if columns.header is not None:
            _remark(_header_note(columns))
        if not weighted and columns.n_fields > 2:
            warnings.warn(  # part of the data is left out, so commands say it even if quiet
                f"{columns.name}: column 3 was not read; set `weighted` if it holds weights",
                ImportantWarning,
                stacklevel=2,
            )
    if any(graph.cleaned):
        _remark(f"{place_name(path)}: {graph.cleaned}")
    return graph


def read_ratings(
    path: PathLike,
    *,
    format: str | None = None,
    separator: str | None = None,
    likes: bool = False,
    merge: bool = True,
    threads: int | None = None,
) -> Ratings:
    """Read ratings from a file.

    The separator, the header and comments of a text file are detected. An AssumptionWarning says
    how many ratings were replaced by later ones and whether the first line was read as a header.

    Parameters
    ----------
    path : path-like
        A table of user, item, rating and optionally timestamp, as text or Parquet. Columns are
        found by their names if the header has known names such as "userId" and "movieId", else by
        their order. Text can be compressed with gzip. `-` is standard input.
    format : {"text", "parquet"}, optional
        The format. By default, it follows from the suffix of the file; unknown suffixes are text.
    separator : str, optional
        The separator of a text file: any character, "::", "tab" or "whitespace". By default, it
        is detected.
    likes : bool, default=False
        Whether to read only user and item; every pair gets the rating 1.
    merge : bool, default=True
        Whether only the last rating of a pair counts: the one with the latest timestamp, or
        without timestamps, the one on the last line. If False, every rating counts.
    threads : int, optional
        The number of threads. By default, all cores.

    Returns
    -------
    Ratings
        The table. Ids are integers if every id is one in its usual form ("007" is text).

    Raises
    ------
    InputError
        If the file cannot be read; the message has the file, the line and what to do.

    Examples
    --------
    >>> import coterie as ct
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/r.csv", "w") as file:
    ...         _ = file.write("user,item,rating\\nann,x,3\\nbob,x,4.5\\n")
    ...     ct.read_ratings(f"{folder}/r.csv")
    Ratings(2 users, 1 items, 2 ratings, values 3..4.5)
    """
    numbers = () if likes else ("rating",)
    wanted = WantedColumns(("user", "item"), numbers, () if likes else ("timestamp",))
    columns = _columns(path, _format(path, format, "text", "parquet"), wanted, separator, threads)
    if columns.rows == 0:
        raise InputError(
            "there are no ratings",
            path=columns.name,
            remedy="give one line per rating: user, item, rating",
        )
    user_ids, [users] = _numbered(columns, "user")
    item_ids, [items] = _numbered(columns, "item")
    values = np.ones(columns.rows) if likes else columns.numbers("rating")
    times = columns.numbers("timestamp")
    if times is None and "timestamp" in columns.pieces:
        _remark(f"{columns.name}: the timestamps are not numbers and were not read")
    ratings = Ratings.from_numbers(
        users, items, values, user_ids, item_ids, timestamps=times, merge=merge
    )
    if columns.header is not None:
        _remark(_header_note(columns))
    if n := ratings.duplicates:
        plural = "s" * (n > 1)
        _remark(f"{columns.name}: {n:,} earlier rating{plural} of a pair replaced by later ones")
    return ratings


def read_columns(
    path: PathLike,
    ids: tuple[str, ...],
    numbers: tuple[str, ...] = (),
    *,
    format: str | None = None,
    separator: str | None = None,
    threads: int | None = None,
) -> dict[str, np.ndarray]:
    """Read a small table: one or two columns of ids, then at most one of numbers.

    Parameters
    ----------
    path : path-like
        A table as text or Parquet; `-` is standard input.
    ids : tuple of str
        What the id columns hold, for example `("user", "item")` or `("node", "block")`.
    numbers : tuple of str, default=()
        What the column of numbers holds, for example `("rating",)`.
    format : {"text", "parquet"}, optional
        The format. By default, it follows from the suffix of the file.
    separator : str, optional
        The separator of a text file. By default, it is detected.
    threads : int, optional
        The number of threads. By default, all cores.

    Returns
    -------
    dict of str to ndarray
        The columns by the names in `ids` and `numbers`. Each id column is int64 or text.
    """
    wanted = WantedColumns(ids, numbers)
    columns = _columns(path, _format(path, format, "text", "parquet"), wanted, separator, threads)
    table: dict[str, np.ndarray] = {}
    for name in ids:
        names, [rows] = _numbered(columns, name)
        table[name] = names[rows]
    for name in numbers:
        values = columns.numbers(name)
        table[name] = np.empty(0) if values is None else values
    return table


def read_bipartite(
    path: PathLike, *, format: str | None = None, separator: str | None = None
) -> tuple[Graph, np.ndarray]:
    """Read a network with two kinds of nodes, one per column.

    Parameters
    ----------
    path : path-like
        A table as text or Parquet; `-` is standard input.
    format : {"text", "parquet"}, optional
        The format. By default, it follows from the suffix of the file.
    separator : str, optional
        The separator of a text file. By default, it is detected.

    Returns
    -------
    graph : Graph
        The undirected graph.
    sides : ndarray of bool
        Whether each node is in the second column.

    Raises
    ------
    InputError
        If an id is in both columns.

    Examples
    --------
    >>> import coterie as ct
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bought.csv"
    ...     _ = path.write_text("user,item\\nann,tea\\nbob,tea\\n")
    ...     graph, sides = ct.read_bipartite(path)
    >>> graph.ids[sides].tolist()
    ['tea']
    """
    table = read_columns(path, ("source", "target"), format=format, separator=separator)
    first, second = table["source"], table["target"]
    both = np.intersect1d(first.astype(str), second.astype(str))
    if len(both):
        raise InputError(
            f"the network does not have two sides: {len(both):,} ids are in both columns, for "
            f"example {both[0]}",
            path=place_name(path),
            remedy="release it as a simple network; if the columns number different things, give "
            "them different ids, such as u1 and i1",
        )
    ids, (source, target) = number_ids([first, second])
    graph = Graph.from_edges(source, target, ids=ids)
    sides = np.zeros(graph.n_nodes, bool)
    sides[target] = True
    return graph, sides


def _format(path: PathLike, format: str | None, *allowed: str) -> str:
    """Return the format of a file: as given, else by its suffix, else text."""
    kinds = allowed or tuple(_FORMATS)
    if format is not None:
        kind = _ALIASES.get(format.lower(), format.lower())
        if kind not in kinds:
            raise InputError(f"unknown format {format!r}", remedy=f"use one of {', '.join(kinds)}")
        return kind
    suffix = suffixes(path)[-1:] or [""]
    kind = next((kind for kind, ends in _FORMATS.items() if suffix[0] in ends), "text")
    if kind not in kinds:
        raise InputError(
            f"a {kind} file cannot hold this table",
            path=path,
            remedy=f"give a {' or '.join(kinds)} file",
        )
    return kind


def _columns(
    path: PathLike, kind: str, wanted: WantedColumns, separator: str | None, threads: int | None
) -> Columns:
    """Read the wanted columns of a text or Parquet file."""
    if kind == "parquet":
        from coterie.data.parquet import read_parquet

        return read_parquet(path, wanted)
    return read_text(path, wanted, separator=separator, threads=threads)


def _numbered(columns: Columns, *names: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the ids of all columns together, and each column as positions in them."""
    integers, groups = columns.ids(*names)
    if integers:
        ids, parts = number_integers([piece for group in groups for piece in group])
        counts = np.cumsum([len(group) for group in groups])
        pieces = [parts[a:b] for a, b in zip([0, *counts[:-1]], counts, strict=True)]
        return ids, [np.concatenate(p) if p else np.empty(0, np.int32) for p in pieces]
    return number_text([pa.chunked_array(group) for group in groups])


def _graph(columns: Columns, directed: bool, weighted: bool, threads: int | None) -> Graph:
    """Build a graph from the columns of its edges."""
    if columns.rows == 0 and not columns.nodes and not columns.isolated:
        raise InputError(
            "there are no edges",
            path=columns.name,
            remedy="give one line per edge: source target",
        )
    weights = _weights(columns) if weighted else None
    ids, parts = _edges(columns)
    try:
        rows = build_rows(parts, weights, len(ids), directed, threads=threads)
    except WeightConflictError as conflict:
        (first, second), (a, b) = conflict.rows, conflict.weights
        raise columns.error(
            f"the weight {b:g} differs from {a:g} in {columns.unit} {columns.line(first)}, "
            "the other direction of the pair",
            second,
            "make the weights equal, keep one of the lines, or set `directed`",
        ) from None
    merged = rows.weights if weighted else None
    return Graph(rows.indptr, rows.indices, ids, merged, directed, rows.cleaned)


def _weights(columns: Columns) -> np.ndarray:
    """Return the column of weights."""
    weights = columns.numbers("weight")
    if weights is None:
        return np.empty(0)
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise columns.error(f"the weight {weights[row]:g} is negative", row, "give weights >= 0")
    return weights


def _edges(columns: Columns) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Return the ids of the nodes, and the edges as numbers in parts; the columns are emptied."""
    integers, (sources, targets) = columns.ids("source", "target")
    if columns.nodes is not None:
        if not integers:
            raise InputError(
                f"the comment '# nodes: {columns.nodes}' requires ids that are numbers, but some "
                "are text",
                path=columns.name,
                remedy="remove the comment or number the nodes",
            )
        _check_range(columns, sources, targets, columns.nodes)
        return np.arange(columns.nodes), list(zip(sources, targets, strict=True))
    extra: list[Any] = [pa.array(columns.isolated, pa.string())] if columns.isolated else []
    if integers and extra:
        try:
            extra = [np.array([written_integer(name) for name in columns.isolated])]
        except ValueError:
            integers, (sources, targets) = False, columns.text_ids("source", "target")
    columns.pieces.clear()
    if integers:
        ids, numbers = number_integers([*sources, *targets, *extra], reuse=True)
        return ids, list(zip(numbers[: len(sources)], numbers[len(sources) :], strict=False))
    chunks = [piece.dictionary_encode() for piece in extra]
    ids, numbers = number_text([pa.chunked_array(c) for c in (sources, targets, chunks) if c])
    return ids, cut_edges(numbers[0], numbers[1]) if sources else [_NO_EDGES]


_NO_EDGES = (np.empty(0, np.int32), np.empty(0, np.int32))


def _check_range(columns: Columns, sources: list[Any], targets: list[Any], nodes: int) -> None:
    """Raise InputError for node numbers outside the range that the comment `# nodes: N` gives."""
    row = 0
    for source, target in zip(sources, targets, strict=True):
        wrong = (source < 0) | (source >= nodes) | (target < 0) | (target >= nodes)
        if wrong.any():
            at = int(np.argmax(wrong))
            culprit = source[at] if not 0 <= source[at] < nodes else target[at]
            raise columns.error(
                f"node {culprit} is outside 0..{nodes - 1}, the range that the comment "
                f"'# nodes: {nodes}' gives",
                row + at,
                "correct the node or the comment",
            )
        row += len(source)


def _header_note(columns: Columns) -> str:
    """Return the note that the first line was read as a header."""
    shown = (columns.header or "")[:60]
    return f"{columns.name}: the first line was read as a header: {shown!r}"


def _remark(text: str) -> None:
    """Report an assumption to the caller of the reader."""
    warnings.warn(text, AssumptionWarning, stacklevel=3)
