"""What a reader recognised in a file, in one line and as the first rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coterie.data.text_layout import WHITESPACE
from coterie.data.text_reader import Columns

_SEPARATORS = {WHITESPACE: "blanks", "\t": "tab", ",": "comma", ";": "semicolon"}
_SHOWN = 12  # columns that a line lists


@dataclass(frozen=True)
class Recognised:
    """The format of a file, its columns and what they hold."""

    name: str
    format: str
    separator: str | None  # of text; None for other formats
    header: str  # "none", "yes", or a doubt
    columns: dict[str, str]  # what it holds -> name or number of the column
    unread: list[str]
    decimal_comma: bool
    contents: str  # "undirected graph: 80 nodes, 272 edges"
    first_rows: list[tuple[str, ...]]
    is_table: bool = True  # False: a graph document, which has no columns to choose
    declared_directed: bool = False  # whether the document says that its edges have directions

    def line(self) -> str:
        """Return one line that says what was recognised."""
        parts = [self.format if self.separator is None else f"{self.format} ({self.separator})"]
        if self.header:
            parts.append(self.header)
        if self.is_table:
            parts.append(", ".join(f"{what} = {name}" for what, name in self.columns.items()))
        if self.decimal_comma:
            parts.append("decimal commas")
        if self.unread:
            more = f" and {len(self.unread) - _SHOWN} more" if len(self.unread) > _SHOWN else ""
            parts.append("not read: " + ", ".join(self.unread[:_SHOWN]) + more)
        return f"{self.name}: " + "; ".join(part for part in parts if part) + f" → {self.contents}"


Notify = Callable[[Recognised], None]


def recognised(columns: Columns, format: str, contents: str) -> Recognised:
    """Return what was recognised in a table."""
    layout = columns.layout
    names = columns.column_names
    by_slot = sorted((int(slot), n) for n, slot in enumerate(layout.slot) if slot >= 0)
    places = {layout.names[slot]: column for slot, column in by_slot}
    labels = [
        repr(names[n]) if names is not None and n < len(names) else f"column {n + 1}"
        for n in range(columns.n_fields)
    ]
    if columns.unit != "line":
        header = ""
    elif names is not None:
        header = "header"
    elif columns.first_line_is_data:
        header = "no header (the first line is data; --header if it is not)"
    else:
        header = "no header"
    is_text = columns.unit == "line" and format == "text"
    return Recognised(
        name=columns.name,
        format=format,
        separator=_SEPARATORS.get(layout.separator, layout.separator) if is_text else None,
        header=header,
        columns={what: labels[n] for what, n in places.items() if n < len(labels)},
        unread=[label for n, label in enumerate(labels) if n not in places.values()],
        decimal_comma=layout.decimal_comma,
        contents=contents,
        first_rows=columns.first_rows or _first_rows(columns),
        is_table=columns.unit != "edge",
        declared_directed=getattr(columns, "declared_directed", False),
    )


def _first_rows(columns: Columns, count: int = 5) -> list[tuple[str, ...]]:
    """Return the first rows of columns that were not read from text."""
    shown = []
    for name in columns.layout.names:
        pieces = columns.pieces.get(name) or []
        values = pieces[0][:count].tolist() if pieces else []
        shown.append([f"{value:g}" if isinstance(value, float) else str(value) for value in values])
    return list(zip(*shown, strict=False))
