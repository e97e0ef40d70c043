"""Read graphs, ratings and small tables from files of several formats."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.base.errors import AssumptionWarning, ImportantWarning, InputError
from coterie.data.adjacency_builder import WeightConflictError, build_rows, cut_edges
from coterie.data.byte_source import PathLike, place_name
from coterie.data.column_roles import WantedColumns
from coterie.data.graph import Graph
from coterie.data.ids import number_ids, number_integers, number_text, written_integer
from coterie.data.ratings import Ratings
from coterie.data.table import ReadOptions, read_edges, read_wanted, recognised, takes
from coterie.data.text_reader import Columns

_TEXT = ("format", "separator", "header", "sheet")
_READING = ("threads", "on_recognised")


@takes("directed", "weighted", "signed", *_TEXT, "source", "target", "weight", *_READING)
def read_graph(path: PathLike, options: ReadOptions) -> Graph:
    """Read a graph from a file.

    The separator, the header and comments of a text file are detected. Self-loops are dropped and
    repeated edges are merged. An AssumptionWarning says what was cleaned, which columns were not
    read, and whether the first line was read as a header.

    Parameters
    ----------
    path : path-like
        An edge list as text (one edge per line: source, target and optionally weight), Parquet or
        Excel; a GraphML, GEXF, GML, Pajek, Matrix Market or JSON (node-link) file; or an adjacency
        matrix as text or Excel. Every format can be compressed with gzip. `-` is standard input.
        Lines of text that begin with # or % are comments, except `# nodes: N`, which says
        that the ids are 0..N-1, and `# isolated: ID`, which adds a node without edges.
    directed : bool, default=False
        Whether edges have a direction.
    weighted : bool, default=False
        Whether to read weights from the third column (of GraphML and GML: from the attribute
        "weight"). The weights of repeated edges are added.
    signed : bool, default=False
        Whether weights may be negative.
    format : str, optional
        "text", "parquet", "excel", "graphml", "gexf", "gml", "pajek", "mtx", "json" or "matrix". By
        default, it follows from the first bytes of the file, then from its suffix; anything else
        is text.
    separator : str, optional
        The separator of a text file: any character, "::", "tab" or "whitespace". By default, it
        is detected.
    header : bool, optional
        Whether the first line of a table has the names of the columns. By default, it is detected.
    sheet : str, optional
        The sheet of an Excel workbook. By default, the only one with content.
    source, target, weight : str, optional
        The names of the columns. By default, columns are found by known names, then by their order.
    threads : int, optional
        The number of threads. By default, all cores.
    on_recognised : callable, optional
        Called with what was recognised in the file (`coterie.data.table.Recognised`).

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
    if options.weight is not None and not options.weighted:
        raise InputError(
            "a column of weights was chosen for a graph without weights",
            remedy="set `weighted`, or leave out `weight`",
        )
    columns = read_edges(path, options.edge_columns, options)
    noted = None if options.on_recognised is None else recognised(columns, "")
    graph = _graph(columns, options)
    if columns.header is not None:
        _remark(_header_note(columns))
    first = columns.first_rows[0][:2] if columns.first_rows else ()
    if columns.first_line_is_data and options.header is None and not graph.directed:
        _doubt_first_line(columns, first, _degrees_of(graph, first))
    if not options.weighted and columns.n_fields > 2:
        _say_unread(columns)
    if options.on_recognised is not None and noted is not None:
        shape = "directed graph" if options.directed else "graph"
        counts = f"{shape} of {graph.n_nodes:,} nodes and {graph.n_edges:,} edges"
        options.on_recognised(replace(noted, contents=counts))
    if any(graph.cleaned):
        _remark(f"{place_name(path)}: {graph.cleaned}")
    return graph


@takes(*_TEXT, "likes", "merge", "user", "item", "rating", "time", *_READING)
def read_ratings(path: PathLike, options: ReadOptions) -> Ratings:
    """Read ratings from a file.

    The separator, the header and comments of a text file are detected. An AssumptionWarning says
    how many ratings were replaced by later ones and whether the first line was read as a header.

    Parameters
    ----------
    path : path-like
        A table of user, item, rating and optionally timestamp, as text, Parquet, Excel or JSON, or
        a Matrix Market file (rows are users, columns are items). Columns are found by their names
        if the header has known names such as "userId" and "movieId", else by their order. A fourth
        column without a known name is a timestamp only if it holds numbers or dates. Every format
        can be compressed with gzip. `-` is standard input.
    format : {"text", "parquet", "excel", "json", "mtx"}, optional
        The format. By default, it follows from the first bytes of the file, then from its suffix.
    separator : str, optional
        The separator of a text file: any character, "::", "tab" or "whitespace". By default, it
        is detected.
    header : bool, optional
        Whether the first line has the names of the columns. By default, it is detected.
    sheet : str, optional
        The sheet of an Excel workbook. By default, the only one with content.
    likes : bool, default=False
        Whether to read only user and item; every pair gets the rating 1.
    merge : bool, default=True
        Whether only the last rating of a pair counts: the one with the latest timestamp, or
        without timestamps, the one on the last line. If False, every rating counts.
    user, item, rating, time : str, optional
        The names of the columns. By default, columns are found by known names, then by their order.
    threads : int, optional
        The number of threads. By default, all cores.
    on_recognised : callable, optional
        Called with what was recognised in the file (`coterie.data.table.Recognised`).

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
    likes = options.likes
    if likes and options.chosen("rating", "time"):
        raise InputError("likes have no rating and no time", remedy="leave out `rating` and `time`")
    columns = read_wanted(path, options.rating_columns, options)
    noted = None if options.on_recognised is None else recognised(columns, "")
    if columns.rows == 0:
        raise InputError(
            "there are no ratings",
            path=columns.name,
            remedy="give one line per rating: user, item, rating",
        )
    user_ids, [users] = _numbered(columns, "user")
    item_ids, [items] = _numbered(columns, "item")
    values = np.ones(columns.rows) if likes else columns.numbers("rating")
    stamps = columns.numbers("timestamp")
    if stamps is None and "timestamp" in columns.pieces:
        _remark(f"{columns.name}: the timestamps are neither numbers nor dates and were not read")
    if columns.column_names is None and not likes and not _no_fourth_column_left(columns):
        _remark(f"{columns.name}: column 4 was not read: it holds neither numbers nor dates")
    ratings = Ratings.from_numbers(
        users, items, values, user_ids, item_ids, timestamps=stamps, merge=options.merge
    )
    if columns.first_line_is_data and options.header is None and len(ratings):
        sides = ((ratings.users, user_ids), (ratings.items, item_ids))
        times_seen = [int((numbers == numbers[0]).sum()) for numbers, _ in sides]
        _doubt_first_line(columns, [ids[numbers[0]] for numbers, ids in sides], times_seen)
    if columns.header is not None:
        _remark(_header_note(columns))
    if n := ratings.duplicates:
        plural = "s" * (n > 1)
        _remark(f"{columns.name}: {n:,} earlier rating{plural} of a pair replaced by later ones")
    if options.on_recognised is not None and noted is not None:
        scale = "" if likes else f" ({len(ratings.values):,} distinct values)"
        what = "likes" if likes else "ratings"
        counts = f"{len(ratings):,} {what}{scale} by {ratings.n_users:,} users of "
        options.on_recognised(replace(noted, contents=f"{counts}{ratings.n_items:,} items"))
    return ratings


def _no_fourth_column_left(columns: Columns) -> bool:
    """Return whether a table without a header has no fourth column, or it was read as times."""
    return columns.n_fields < 4 or "timestamp" in columns.layout.names


def read_columns(
    path: PathLike,
    ids: tuple[str, ...],
    numbers: tuple[str, ...] = (),
    **options: Any,
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
    **options
        How to read the file (`coterie.data.table.ReadOptions`), such as `separator`.

    Returns
    -------
    dict of str to ndarray
        The columns by the names in `ids` and `numbers`. Each id column is int64 or text.
    """
    columns = read_wanted(path, WantedColumns(ids, numbers), ReadOptions(**options))
    table: dict[str, np.ndarray] = {}
    for name in ids:
        table[name] = ids_of(columns, name)
    for name in numbers:
        values = columns.numbers(name)
        table[name] = np.empty(0) if values is None else values
    return table


def ids_of(columns: Columns, name: str) -> np.ndarray:
    """Return a column of ids, one per row."""
    names, [rows] = _numbered(columns, name)
    return np.asarray(names[rows])


@takes(*_TEXT, "source", "target", "threads")
def read_bipartite(path: PathLike, options: ReadOptions) -> tuple[Graph, np.ndarray]:
    """Read a network with two kinds of nodes, one per column.

    Parameters
    ----------
    path : path-like
        A table as text, Parquet, Excel or JSON; `-` is standard input.
    format : {"text", "parquet", "excel", "json", "mtx"}, optional
        The format. By default, it follows from the first bytes of the file, then from its suffix.
    separator : str, optional
        The separator of a text file. By default, it is detected.
    header : bool, optional
        Whether the first line has the names of the columns. By default, it is detected.
    sheet : str, optional
        The sheet of an Excel workbook. By default, the only one with content.
    source, target : str, optional
        The names of the columns. By default, columns are found by known names, then by their order.
    threads : int, optional
        The number of threads. By default, all cores.

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
    chosen = options.chosen("source", "target")
    wanted = WantedColumns(("source", "target"), chosen=chosen, two_kinds=True)
    columns = read_wanted(path, wanted, options)
    first, second = (ids_of(columns, name) for name in wanted.ids)
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


def _say_unread(columns: Columns) -> None:
    """Say, even if commands are quiet, that part of the data is left out."""
    is_table = columns.unit != "edge"
    unread = "column 3 was not read" if is_table else "the weights were not read"
    remedy = "set `weighted` if it holds weights" if is_table else "set `weighted` to read them"
    warnings.warn(
        f"{columns.name}: {unread}; {remedy}",
        ImportantWarning,
        stacklevel=4,
    )


def _numbered(columns: Columns, *names: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the ids of all columns together, and each column as positions in them."""
    integers, groups = columns.ids(*names)
    if integers:
        ids, parts = number_integers([piece for group in groups for piece in group])
        counts = np.cumsum([len(group) for group in groups])
        pieces = [parts[a:b] for a, b in zip([0, *counts[:-1]], counts, strict=True)]
        return ids, [np.concatenate(p) if p else np.empty(0, np.int32) for p in pieces]
    return number_text([pa.chunked_array(group) for group in groups])


def _graph(columns: Columns, options: ReadOptions) -> Graph:
    """Build a graph from the columns of its edges."""
    if columns.rows == 0 and not columns.nodes and not columns.isolated:
        raise InputError(
            "there are no edges",
            path=columns.name,
            remedy="give one line per edge: source target",
        )
    directed = options.directed
    weights = _weights(columns, options.signed) if options.weighted else None
    ids, parts = _edges(columns)
    try:
        rows = build_rows(parts, weights, len(ids), directed, threads=options.threads)
    except WeightConflictError as conflict:
        (first, second), (a, b) = conflict.rows, conflict.weights
        raise columns.error(
            f"the weight {b:g} differs from {a:g} in {columns.unit} {columns.line(first)}, "
            "the other direction of the pair",
            second,
            "make the weights equal, keep one of the lines, or set `directed`",
        ) from None
    return Graph(rows.indptr, rows.indices, ids, rows.weights, directed, rows.cleaned)


def _weights(columns: Columns, signed: bool) -> np.ndarray:
    """Return the column of weights; `signed`: they may be negative."""
    weights = columns.numbers("weight")
    if weights is None:
        return np.empty(0)
    if not signed and (weights < 0).any():
        row = int(np.argmax(weights < 0))
        remedy = (
            'give weights >= 0; only hard clustering with `weight_model="normal"` allows others'
        )
        raise columns.error(f"the weight {weights[row]:g} is negative", row, remedy)
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


_ENOUGH_EDGES = 20  # in smaller files, nodes with one edge are common
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


def _doubt_first_line(columns: Columns, names: Sequence[Any], counts: Sequence[int]) -> None:
    """Ask about a first line that was read as a pair of ids which appear nowhere else.

    So it is with a header of unknown names; hardly ever with an edge of a larger network. `names`
    and `counts` are the ids of that line, and how often they are in the table.
    """
    if columns.rows >= _ENOUGH_EDGES and list(counts) == [1, 1]:
        warnings.warn(
            f"{columns.name}, line 1: {names[0]!r} and {names[1]!r} were read as two nodes, but "
            "appear nowhere else: set `header=True` if they are names of columns, "
            "`header=False` if not",
            ImportantWarning,
            stacklevel=4,
        )


def _degrees_of(graph: Graph, names: Sequence[str]) -> list[int]:
    """Return the degrees of these nodes."""
    places = [np.flatnonzero(np.asarray(graph.ids, str) == name) for name in names]
    return [int(graph.degrees[place[0]]) if len(place) else 0 for place in places]


def _remark(text: str) -> None:
    """Report an assumption to the caller of the reader."""
    warnings.warn(text, AssumptionWarning, stacklevel=4)
