"""Read a file: guess what it holds, show its first lines, and say what was cleaned."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, cast

import numpy as np

from coterie.app.web.tasks.context import TaskContext
from coterie.app.web.tasks.page_parts import figure_json
from coterie.base.errors import CoterieError, InputError
from coterie.base.json_values import JsonObject
from coterie.data import Graph, Ratings
from coterie.data.file_format import GRAPHS, find_format
from coterie.data.readers import read_graph, read_ratings
from coterie.data.text_layout import find_separator, split
from coterie.report.charts import Chart, bars, histogram
from coterie.report.page import Figure

NETWORK, RATINGS = "network", "ratings"
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 200
_PREVIEW = 8
_RATING_NAMES = {"rating", "ratings", "score", "stars"}
_KNOWN_NAMES = {
    "source", "target", "from", "to", "user", "item", "userid", "itemid", "movieid", *_RATING_NAMES
}  # fmt: skip
_MOST_VALUES = 40  # a third column with more distinct values is not a rating


class Sample(NamedTuple):
    """The first lines of a text file, as fields."""

    columns: list[str]
    rows: list[list[str]]
    separator: str
    header: bool


def read(context: TaskContext) -> JsonObject:
    """Read the file of the settings and describe it."""
    path = Path(context.settings["path"])
    sample = sample_of(path)
    kind = context.settings.get("kind") or guess_kind(path, sample)
    chosen = context.settings.get("columns")
    first_lines = {
        "columns": [] if sample is None else sample.columns,
        "preview": [] if sample is None else sample.rows[:_PREVIEW],
    }
    # for the page, if the file turns out to be wrong
    context.send({"event": "guess", "guess": {"kind": kind, **first_lines}})
    if chosen:
        path = _with_columns(path, chosen, sample, context.folder, kind)
    context.stage("reading")
    data = load(path, kind)
    context.stage("describing")
    described = _describe_graph(data) if isinstance(data, Graph) else _describe_ratings(data)
    return {
        "kind": kind,
        "path": str(path),
        **first_lines,
        "header": sample is not None and sample.header,
        "chosen": chosen,
        "unsure": chosen is None and sample is not None and not _names_say_it(sample),
        **described,
    }


def load(path: str | Path, kind: str) -> Graph | Ratings:
    """Read a network or ratings."""
    return read_graph(path) if kind == NETWORK else read_ratings(path)


def sample_of(path: Path) -> Sample | None:
    """Return the first rows; None if the file is not a table."""
    try:
        kind = find_format(path, None, GRAPHS)
        if kind in _BINARY_TABLES:
            rows = list(islice(_BINARY_TABLES[kind](path), _SAMPLE_ROWS))
            return _sample(rows, "") if rows else None
        with _opened(path) as file:
            content = file.read(_SAMPLE_BYTES)
    except (CoterieError, ArithmeticError, OSError, EOFError, ValueError):
        return None  # the reader says later what is wrong
    if kind != "text" or b"\0" in content:
        return None
    whole = content if len(content) < _SAMPLE_BYTES else content.rpartition(b"\n")[0]
    text = whole.decode("utf-8", errors="replace").lstrip("\ufeff")
    lines = [line for line in text.splitlines() if line.strip() and line[0] not in "#%"]
    if not lines:
        return None
    separator = find_separator(lines[:100], 2)
    return _sample([split(line, separator) for line in lines[:_SAMPLE_ROWS]], separator)


def _sample(rows: list[list[str]], separator: str) -> Sample:
    header = len(rows) > 1 and _looks_like_header(rows)
    width = max(len(row) for row in rows)
    columns = [
        rows[0][i] if header and i < len(rows[0]) else f"column {i + 1}" for i in range(width)
    ]
    return Sample(columns, rows[1:] if header else rows, separator, header)


def _opened(path: Path) -> IO[bytes]:
    """Open a text file, compressed or not."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb")


def _parquet_rows(path: Path) -> Iterator[list[str]]:
    """Yield the names of the columns of a Parquet file, then its rows, as text."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield list(file.schema_arrow.names)
        for batch in file.iter_batches():
            columns = [column.to_pylist() for column in batch.columns]
            yield from (
                ["" if value is None else str(value) for value in row]
                for row in zip(*columns, strict=True)
            )


def _excel_rows(path: Path) -> Iterator[list[str]]:
    from coterie.data.excel import read_sheet

    yield from read_sheet(path)


_BINARY_TABLES = {"parquet": _parquet_rows, "excel": _excel_rows}


def _names_say_it(sample: Sample) -> bool:
    """Whether the columns need no choice: there are two, or their names have a known meaning.

    >>> _names_say_it(Sample(["when", "who", "what"], [], ",", True))
    False
    >>> _names_say_it(Sample(["user_id", "film", "rating"], [], ",", True))
    True
    """
    return len(sample.columns) <= 2 or bool(_plain(sample.columns) & _KNOWN_NAMES)


def _plain(names: list[str]) -> set[str]:
    return {name.lower().replace("_", "").replace(" ", "") for name in names}


def _looks_like_header(rows: list[list[str]]) -> bool:
    """Whether the first line has names where the others have numbers, or known names."""
    if _plain(rows[0]) & _KNOWN_NAMES:
        return True
    return any(
        not _is_number(name) and all(_is_number(row[i]) for row in rows[1:] if i < len(row))
        for i, name in enumerate(rows[0])
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def guess_kind(path: Path, sample: Sample | None) -> str:
    """Guess whether a file holds a network or ratings.

    >>> guess_kind(Path("x.csv"), Sample(["user", "film", "stars"], [["a", "b", "5"]], ",", True))
    'ratings'
    >>> guess_kind(Path("x.csv"), Sample(["from", "to"], [["a", "b"]], ",", True))
    'network'
    """
    if sample is None or len(sample.columns) < 3:
        return NETWORK
    names = {name.lower() for name in sample.columns}
    if names & _RATING_NAMES or any("user" in name for name in names):
        return RATINGS
    if names & {"source", "target", "from", "to", "weight"}:
        return NETWORK
    third = [row[2] for row in sample.rows if len(row) > 2]
    if len(third) < len(sample.rows) or not all(_is_number(value) for value in third):
        return NETWORK
    first, second = ({row[i] for row in sample.rows} for i in (0, 1))
    few = len(set(third)) <= min(_MOST_VALUES, max(2, len(third) // 2))
    return RATINGS if few and len(set(third)) > 1 and not first & second else NETWORK


def _with_columns(
    path: Path, chosen: list[int], sample: Sample | None, folder: Path, kind: str
) -> Path:
    """Write a copy that has only the chosen columns, under the usual names."""
    if sample is None:
        raise InputError("the columns of this file cannot be chosen", remedy="give a text file")
    names = ["source", "target"] if kind == NETWORK else ["user", "item", "rating"][: len(chosen)]
    made = folder / "columns.csv"
    with made.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        rows = _numbered_rows(path, sample)
        if sample.header:
            next(rows, None)
        for number, fields in rows:
            if max(chosen) >= len(fields):
                raise InputError(
                    f"there is no column {max(chosen) + 1}", path=path, line=number,
                    remedy="correct the line or choose other columns",
                )  # fmt: skip
            writer.writerow([fields[i] for i in chosen])
    return made


def _numbered_rows(path: Path, sample: Sample) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the fields of each row of a table."""
    read_rows = _BINARY_TABLES.get(find_format(path, None, GRAPHS))
    if read_rows is not None:
        yield from enumerate(read_rows(path), 1)
        return
    with io.TextIOWrapper(_opened(path), encoding="utf-8", errors="replace", newline="") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip() and line.lstrip("\ufeff")[0] not in "#%":
                yield number, split(line.rstrip("\r\n"), sample.separator)


def _describe_graph(graph: Graph) -> JsonObject:
    degree = np.diff(graph.indptr)
    chart = _degree_chart(degree)
    return {
        "facts": [
            ["people or things (nodes)", f"{graph.n_nodes:,}"],
            ["connections (edges)", f"{graph.n_edges:,}"],
            ["connections per node", f"{degree.mean() if len(degree) else 0:,.1f}"],
            ["nodes without a connection", f"{int((degree == 0).sum()):,}"],
        ],
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "figures": [figure_json(Figure("How many connections the nodes have", chart))],
    }


def _degree_chart(degree: np.ndarray) -> Chart:
    """Draw how many nodes have how many connections."""
    most = int(degree.max(initial=1))
    counts, edges = np.histogram(degree, bins=min(24, most + 1), range=(0, most + 1))
    return histogram(
        edges,
        counts,
        x_title="connections of a node",
        y_title="nodes",
        description="Number of nodes by their number of connections.",
    )


def _describe_ratings(ratings: Ratings) -> JsonObject:
    values, counts = np.unique(ratings.ratings, return_counts=True)
    if len(values) > 20:
        values, counts = values[:: len(values) // 20 + 1], counts[:: len(values) // 20 + 1]
    chart = bars(
        [f"{value:g}" for value in values],
        {"ratings": counts.astype(float).tolist()},
        description="Number of ratings of each value.",
        of="rating",
    )
    return {
        "facts": [
            ["users", f"{ratings.n_users:,}"],
            ["items", f"{ratings.n_items:,}"],
            ["ratings", f"{len(ratings):,}"],
            ["ratings per user", f"{len(ratings) / max(ratings.n_users, 1):,.1f}"],
        ],
        "users": ratings.n_users,
        "items": ratings.n_items,
        "ratings": len(ratings),
        "figures": [figure_json(Figure("How often each rating was given", chart))],
    }
