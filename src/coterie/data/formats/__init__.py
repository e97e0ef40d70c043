"""The input formats, in one list. To add one: its file with a FORMAT, its entry here, its test."""

from __future__ import annotations

from typing import Any

from coterie.data.byte_source import PathLike
from coterie.data.formats import (
    adjacency_matrix,
    excel,
    gml,
    json_graph,
    matrix_market,
    pajek,
    parquet,
    xml_graph,
)
from coterie.data.formats.format import Cells, Format


def _text_columns(*arguments: Any, **options: Any) -> Any:
    from coterie.data.text_reader import read_text

    return read_text(*arguments, **options)


def _text_cells(path: PathLike, options: Any) -> Cells:
    from coterie.data.text_reader import text_cells

    return text_cells(path, options.separator, most_rows=options.most_rows)


TEXT = Format(
    name="text",
    title="text",
    about="one edge or rating per line; any other suffix is text, too",
    suffixes=(".txt", ".csv", ".tsv", ".edges", ".edgelist", ".dat", ".data"),
    aliases=("csv", "tsv", "edgelist"),
    columns=_text_columns,
    cells=_text_cells,
    writes_tables=True,
    in_pieces=True,
)
FORMATS = (  # the first one reads what no other recognises
    TEXT,
    parquet.FORMAT,
    excel.FORMAT,
    json_graph.FORMAT,
    matrix_market.FORMAT,
    xml_graph.GRAPHML,
    xml_graph.GEXF,
    gml.FORMAT,
    pajek.FORMAT,
    adjacency_matrix.FORMAT,
)
TABLES = tuple(known for known in FORMATS if known.cells or known.columns)
IN_PIECES = tuple(known for known in FORMATS if known.in_pieces)


def listed(formats: tuple[Format, ...], *, titles: bool = True) -> str:
    """Return the formats as words for a help text.

    >>> listed(TABLES, titles=False)
    'text, parquet, excel, json or mtx'
    """
    names = [known.title if titles else known.name for known in formats]
    return f"{', '.join(names[:-1])} or {names[-1]}"
