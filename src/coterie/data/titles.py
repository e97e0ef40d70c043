"""Titles of items: a table of ids and titles, such as u.item or movies.csv of MovieLens."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from coterie.base.errors import InputError

_SEPARATORS = ("::", "|", "\t", ";", ",")
_SAMPLE = 200  # lines used to find the separator
_ID_NAMES = frozenset(
    ("id", "item", "itemid", "movie", "movieid", "product", "productid", "book", "bookid", "isbn")
)
_TITLE_NAMES = frozenset(["title", "name", "movietitle", "itemname", "productname", "booktitle"])


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
    """Read ids and titles from a text table: by the names of the columns, or the first two."""
    text = read_text_table(path)
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    separator = find_title_separator([line for _, line in lines[:_SAMPLE]])
    columns = (0, 1)
    titles = Titles()
    for place, (number, line) in enumerate(lines):
        fields = _fields(line, separator)
        if place == 0 and (named := _named_columns(fields)) is not None:
            columns = named
            continue
        if len(fields) <= max(columns):
            raise InputError(
                f"{line[:40]!r} is not an id and a title",
                path=path,
                line=number,
                remedy="separate them by |, tab, comma, semicolon or ::",
            )
        titles[fields[columns[0]].strip()] = fields[columns[1]].strip()
    return titles


def find_title_separator(lines: list[str]) -> str:
    """Return the separator of a table of titles, decided for the whole table.

    Among those that divide every line, it is the one with the shortest first fields, which are ids:
    the genres `Adventure|Children` after a title do not mislead it.

    >>> find_title_separator(["1,Toy Story (1995),Adventure|Children", "2,Heat,Action|Crime"])
    ','
    >>> find_title_separator(["1|Usual Suspects, The|", "2|Heat|"])
    '|'
    """

    def rank(separator: str) -> tuple[int, float]:
        first = [_fields(line, separator) for line in lines]
        divided = sum(len(fields) >= 2 for fields in first)
        return -divided, sum(len(fields[0]) for fields in first if fields)

    return min(_SEPARATORS, key=rank)


def is_id_name(text: str) -> bool:
    """Return whether this is a usual name of a column of user or item ids.

    >>> is_id_name("movieId"), is_id_name("user_id"), is_id_name("m7")
    (True, True, False)
    """
    name = "".join(filter(str.isalnum, text)).lower()
    return name in _ID_NAMES or name in ("user", "userid", "users", "items", "ids")


def _named_columns(fields: list[str]) -> tuple[int, int] | None:
    """Return the columns of id and title if the first line is a header with known names."""
    names = ["".join(filter(str.isalnum, field)).lower() for field in fields]
    id_columns = [n for n, name in enumerate(names) if name in _ID_NAMES]
    title_columns = [n for n, name in enumerate(names) if name in _TITLE_NAMES]
    return (id_columns[0], title_columns[0]) if id_columns and title_columns else None


def _fields(line: str, separator: str) -> list[str]:
    """Return the fields of a line."""
    if separator == "::":
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True))
    except csv.Error:
        return line.split(separator)
