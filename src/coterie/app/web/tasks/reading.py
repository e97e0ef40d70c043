"""Read a file: guess what it holds, show its first lines, and say what was cleaned."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from coterie.app.web.tasks.context import TaskContext
from coterie.base.errors import CoterieError, InputError
from coterie.base.json_values import JsonObject
from coterie.data import Graph, Ratings
from coterie.data.column_roles import RATING_WORDS, ROLE_OF, plain_name
from coterie.data.readers import read_graph, read_ratings
from coterie.data.table import ReadOptions, first_rows, read_table
from coterie.data.text_fields import is_quantity
from coterie.data.writers import write_table
from coterie.report.charts import Chart, bars, histogram
from coterie.report.page import Figure, figure_html

NETWORK, RATINGS = "network", "ratings"
_SAMPLE_ROWS = 200
_PREVIEW = 8
_KNOWN_NAMES = {name for name, role in ROLE_OF.items() if role != "time"}
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
    data = read_graph(path) if kind == NETWORK else read_ratings(path)
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


def sample_of(path: Path) -> Sample | None:
    """Return the first rows; None if the file is not a table."""
    try:
        table = first_rows(path, _SAMPLE_ROWS)
    except CoterieError:
        return None  # the reader says later what is wrong
    return None if table is None else _sample(table.rows, table.separator)


def _sample(rows: list[list[str]], separator: str) -> Sample:
    header = len(rows) > 1 and _looks_like_header(rows)
    width = max(len(row) for row in rows)
    columns = [
        rows[0][i] if header and i < len(rows[0]) else f"column {i + 1}" for i in range(width)
    ]
    return Sample(columns, rows[1:] if header else rows, separator, header)


def _names_say_it(sample: Sample) -> bool:
    """Whether the columns need no choice: there are two, or their names have a known meaning.

    >>> _names_say_it(Sample(["when", "who", "what"], [], ",", True))
    False
    >>> _names_say_it(Sample(["user_id", "film", "rating"], [], ",", True))
    True
    """
    return len(sample.columns) <= 2 or bool(_plain(sample.columns) & _KNOWN_NAMES)


def _plain(names: list[str]) -> set[str]:
    return {plain_name(name) for name in names}


def _looks_like_header(rows: list[list[str]]) -> bool:
    """Whether the first line has names where the others have numbers, or known names."""
    if _plain(rows[0]) & _KNOWN_NAMES:
        return True
    return any(
        not is_quantity(name) and all(is_quantity(row[i]) for row in rows[1:] if i < len(row))
        for i, name in enumerate(rows[0])
    )


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
    if names & RATING_WORDS or any("user" in name for name in names):
        return RATINGS
    if names & {"source", "target", "from", "to", "weight"}:
        return NETWORK
    third = [row[2] for row in sample.rows if len(row) > 2]
    if len(third) < len(sample.rows) or not all(is_quantity(value) for value in third):
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
    separator = sample.separator or None
    table = read_table(path, ReadOptions(separator=separator, header=sample.header))
    for row, fields in enumerate(table.rows):
        if max(chosen) >= len(fields):
            problem = f"there is no column {max(chosen) + 1}"
            raise table.error(problem, row, "correct the line or choose other columns")
    columns = {
        name: ["" if row[i] is None else str(row[i]) for row in table.rows]
        for name, i in zip(names, chosen, strict=True)
    }
    made = folder / "columns.csv"
    write_table(made, columns)
    return made


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
        "figure": figure_html(Figure("How many connections the nodes have", chart)),
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
        "figure": figure_html(Figure("How often each rating was given", chart)),
    }
