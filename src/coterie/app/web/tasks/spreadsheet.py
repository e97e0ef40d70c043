"""CSV files that are harmless in a spreadsheet program."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# A cell that begins with one of these may be run as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def harmless(value: Any) -> Any:
    """Return a value that no spreadsheet runs as a formula; numbers stay numbers.

    >>> harmless("=cmd()"), harmless("Ann"), harmless(-3), harmless("-3")
    ("'=cmd()", 'Ann', -3, '-3')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def as_given(text: str) -> str:
    """Return a text that `harmless` may have changed as it was before.

    >>> as_given("'=cmd()"), as_given("Ann"), as_given("'x")
    ('=cmd()', 'Ann', "'x")
    """
    return text[1:] if text.startswith("'") and harmless(text[1:]) == text else text


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; text that looks like a formula gets an apostrophe in front."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([harmless(value) for value in row] for row in rows)
