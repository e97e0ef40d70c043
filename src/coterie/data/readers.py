"""Read graphs, ratings and small tables from files, by suffix or by the format named."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data.adjacency_builder import WeightConflictError, build_rows, cut_edges
from coterie.data.byte_source import PathLike, place_name, suffixes
from coterie.data.graph import Graph
from coterie.data.ids import number_integers, number_text, written_integer
from coterie.data.ratings import Ratings
from coterie.data.text_layout import Wanted
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
    """A graph from a file: an edge list as text or Parquet (.gz too), GraphML or GML; `-` is stdin.

    The separator (whitespace, tab, comma, `::`), the header and comments are found out. Self-loops
    and repeats are cleaned and counted in `graph.cleaned`; what was cleaned or not read is said
    once, as an AssumptionWarning. Weights come from the third column, and only if asked for.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/edges.txt", "w") as file:
    ...         _ = file.write("# nodes: 4\\n0 1\\n1 2\\n")
    ...     read_graph(f"{folder}/edges.txt")
    Graph(4 nodes, 2 edges)
    """
    kind = _format(path, format)
    if kind in ("graphml", "gml"):
        from coterie.data.graphml import read_markup

        graph = read_markup(path, kind, directed, weighted)
    else:
        wanted = Wanted(("source", "target"), ("weight",) if weighted else ())
        columns = _columns(path, kind, wanted, separator, threads)
        graph = _graph(columns, directed, weighted, threads)
        if columns.header is not None:
            _say(_header_remark(columns))
        if not weighted and columns.n_fields > 2:
            _say(f"{columns.name}: column 3 was not read; ask for weights if it holds them")
    if any(graph.cleaned):
        _say(f"{place_name(path)}: {graph.cleaned}")
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
    """Ratings from a table user, item, rating[, timestamp] as text or Parquet; `-` is stdin.

    With `likes` only the first two columns are read, and every pair has the value 1. Of several
    ratings of a pair the last counts, by timestamp where there is one, else by its line; with
    `merge=False` each is an observation of its own.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with open(f"{folder}/r.csv", "w") as file:
    ...         _ = file.write("user,item,rating\\nann,x,3\\nbob,x,4.5\\n")
    ...     read_ratings(f"{folder}/r.csv")
    Ratings(2 users, 1 items, 2 ratings, values 3..4.5)
    """
    numbers = () if likes else ("rating",)
    wanted = Wanted(("user", "item"), numbers, () if likes else ("timestamp",))
    columns = _columns(path, _format(path, format, "text", "parquet"), wanted, separator, threads)
    if columns.rows == 0:
        raise InputError(
            "there are no ratings", path=columns.name, remedy="give user, item, rating"
        )
    user_ids, [users] = _numbered(columns, "user")
    item_ids, [items] = _numbered(columns, "item")
    values = np.ones(columns.rows) if likes else columns.numbers("rating")
    times = columns.numbers("timestamp")
    if times is None and "timestamp" in columns.pieces:
        _say(f"{columns.name}: the timestamps are not numbers and were not read")
    ratings = Ratings.from_numbers(
        users, items, values, user_ids, item_ids, timestamps=times, merge=merge
    )
    if columns.header is not None:
        _say(_header_remark(columns))
    if n := ratings.duplicates:
        plural = "s" * (n > 1)
        _say(f"{columns.name}: {n:,} earlier rating{plural} of a pair replaced by later ones")
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
    """Small tables row by row: one or two columns of ids, then up to one of numbers.

    Pairs to predict (`("user", "item")`), a new user's ratings (`("item",), ("rating",)`), labels
    (`("node", "block")`). Each id column is int64 or text of its own.
    """
    wanted = Wanted(ids, numbers)
    columns = _columns(path, _format(path, format, "text", "parquet"), wanted, separator, threads)
    table: dict[str, np.ndarray] = {}
    for name in ids:
        names, [rows] = _numbered(columns, name)
        table[name] = names[rows]
    for name in numbers:
        values = columns.numbers(name)
        table[name] = np.empty(0) if values is None else values
    return table


def _format(path: PathLike, format: str | None, *allowed: str) -> str:
    kinds = allowed or tuple(_FORMATS)
    if format is not None:
        kind = _ALIASES.get(format.lower(), format.lower())
        if kind not in kinds:
            raise InputError(f"the format {format!r} is unknown", remedy=f"give {', '.join(kinds)}")
        return kind
    suffix = suffixes(path)[-1:] or [""]
    kind = next((kind for kind, ends in _FORMATS.items() if suffix[0] in ends), "text")
    if kind not in kinds:
        raise InputError(f"{kind} cannot hold this", path=path, remedy=f"give {' or '.join(kinds)}")
    return kind


def _columns(
    path: PathLike, kind: str, wanted: Wanted, separator: str | None, threads: int | None
) -> Columns:
    if kind == "parquet":
        from coterie.data.parquet import read_parquet

        return read_parquet(path, wanted)
    return read_text(path, wanted, separator=separator, threads=threads)


def _numbered(columns: Columns, *names: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """(ids, each column as numbers)."""
    integers, groups = columns.ids(*names)
    if integers:
        ids, parts = number_integers([piece for group in groups for piece in group])
        counts = np.cumsum([len(group) for group in groups])
        pieces = [parts[a:b] for a, b in zip([0, *counts[:-1]], counts, strict=True)]
        return ids, [np.concatenate(p) if p else np.empty(0, np.int32) for p in pieces]
    return number_text([pa.chunked_array(group) for group in groups])


def _graph(columns: Columns, directed: bool, weighted: bool, threads: int | None) -> Graph:
    if columns.rows == 0 and not columns.nodes and not columns.isolated:
        raise InputError(
            "there are no edges", path=columns.name, remedy="give a line for each: source target"
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
            "make them equal, keep one, or read the graph as directed",
        ) from None
    merged = rows.weights if weighted else None
    return Graph(rows.indptr, rows.indices, ids, merged, directed, rows.cleaned)


def _weights(columns: Columns) -> np.ndarray:
    weights = columns.numbers("weight")
    if weights is None:
        return np.empty(0)
    if (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise columns.error(f"the weight {weights[row]:g} is negative", row, "weights are >= 0")
    return weights


def _edges(columns: Columns) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Ids of the nodes, and the edges as numbers in parts; the columns are used up."""
    integers, (sources, targets) = columns.ids("source", "target")
    if columns.nodes is not None:
        if not integers:
            raise InputError(
                f"`# nodes: {columns.nodes}` says that ids are numbers, and some are text",
                path=columns.name,
                remedy="remove that line or number the nodes",
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
    row = 0
    for source, target in zip(sources, targets, strict=True):
        wrong = (source < 0) | (source >= nodes) | (target < 0) | (target >= nodes)
        if wrong.any():
            at = int(np.argmax(wrong))
            culprit = source[at] if not 0 <= source[at] < nodes else target[at]
            raise columns.error(
                f"node {culprit} is outside 0..{nodes - 1}, which `# nodes: {nodes}` says",
                row + at,
                "correct one of the two",
            )
        row += len(source)


def _header_remark(columns: Columns) -> str:
    shown = (columns.header or "")[:60]
    return f"{columns.name}: the first line was taken as a header: {shown!r}"


def _say(text: str) -> None:
    warnings.warn(text, AssumptionWarning, stacklevel=3)
