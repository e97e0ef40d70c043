"""Titles of items: a table of ids and titles, such as u.item or movies.csv of MovieLens."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from coterie.base.errors import InputError

_SEPARATORS = ("::", "|", "\t", ";", ",")


class Titles(dict[Any, str]):
    """A mapping from item id to title; ids are found as numbers or as text.

    >>> Titles({"7": "Twelve Monkeys"})[7]
    'Twelve Monkeys'
    """

    def __missing__(self, key: Any) -> str:
        return dict.__getitem__(self, str(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return dict.get(self, str(key), default)


def read_text_table(path: str | Path) -> str:
    """Return the text of a file in UTF-8, or else in Latin-1."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # the original MovieLens files


def read_titles(path: str | Path) -> Titles:
    """Read the first two columns of a text table: id and title."""
    text = read_text_table(path)
    titles = Titles()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        fields = _fields(line)
        if len(fields) < 2:
            raise InputError(
                f"{line[:40]!r} is not an id and a title",
                path=path,
                line=number,
                remedy="separate them by |, tab, comma, semicolon or ::",
            )
        titles[fields[0].strip()] = fields[1].strip()
    return titles


def _fields(line: str) -> list[str]:
    """Return the fields of a line, by the first separator that occurs in it."""
    separator = next((mark for mark in _SEPARATORS if mark in line), ",")
    if separator == "::":
        return line.split(separator)
    return next(csv.reader([line], delimiter=separator))
