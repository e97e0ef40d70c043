"""A table as HTML: text left, numbers right, and one card per row on a phone."""

from __future__ import annotations

import re
from html import escape

from markupsafe import Markup

from coterie.base.number_text import figure
from coterie.report.charts.drawing import Cell, ChartTable

_LONG = 34  # characters from which a cell may be wrapped
_NARROW = 4  # columns that fit on a phone
_ROOM = 40  # characters of a row that fit on a phone
_WRAPPED = 14  # minimum width of a column of text, in characters
_NUMERIC = re.compile(
    r"[≤≥<>~±+-]? ?[\d.,]+(·10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)? ?(%|k|M|s|ms)?|10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|–|"
)
_STATES = {"holds": "holds", "does not hold": "fails", "holds with a remark": "remark"}


def write_table(table: ChartTable) -> Markup:
    """Write the table; if it is too wide for a phone, each cell carries its column's name.

    >>> "data-of" in write_table(ChartTable(["a", "b"], [["x", 1]]))
    False
    >>> str(write_table(ChartTable(list("abcde"), [[1.5] * 5]))).count('data-of="c"')
    1
    """
    shown = [[_text(cell) for cell in row] for row in table.rows]
    words = [_is_text(shown, column) for column in range(len(table.columns))]
    cards = _is_wide(table.columns, shown, words)
    head = "".join(
        f'<th scope="col"{" class=" + chr(34) + "t" + chr(34) if text else ""}>{escape(name)}</th>'
        for name, text in zip(table.columns, words, strict=True)
    )
    labels = [f' data-of="{escape(name)}"' if cards else "" for name in table.columns]
    if cards and words[0]:
        labels[0] = ' data-of=""'  # the first cell is the title of the card
    body = "\n".join("<tr>" + "".join(map(_cell, row, words, labels)) + "</tr>" for row in shown)
    kind = ' class="cards"' if cards else ""
    return Markup(
        f"<table{kind}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    )


def _is_wide(columns: list[str], rows: list[list[str]], words: list[bool]) -> bool:
    """Return whether the table is too wide for a phone."""
    if len(columns) <= 2:
        return False
    room = 0
    for i, name in enumerate(columns):
        widest = max((len(row[i]) for row in rows if i < len(row)), default=0)
        room += max([min(widest, _WRAPPED) if words[i] else widest, *map(len, name.split())])
    return len(columns) > _NARROW or room > _ROOM


def _is_text(rows: list[list[str]], column: int) -> bool:
    """Return whether a column contains text, which is aligned left."""
    cells = (row[column] for row in rows[:50] if column < len(row))
    return any(not _NUMERIC.fullmatch(cell) for cell in cells)


def _cell(text: str, word: bool, label: str) -> str:
    state = _STATES.get(text)
    shown = f'<span class="{state}">{text}</span>' if state else escape(text)
    long = " long" if len(text) > _LONG else ""
    kind = f' class="t{long}"' if word else ""
    return f"<td{kind}{label}>{shown}</td>"


def _text(value: Cell) -> str:
    """Write a cell: text as it is, numbers above 1,000 with one decimal if they are not whole."""
    return value if isinstance(value, str) else figure(value, decimals=1)
