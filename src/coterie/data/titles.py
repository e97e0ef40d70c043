"""Titles of items: a table of ids and titles, such as u.item or movies.csv of MovieLens."""

from __future__ import annotations

from typing import Any

from coterie.data.byte_source import PathLike
from coterie.data.column_roles import id_column
from coterie.data.table import read_table


class Titles(dict[Any, str]):
    """A mapping from item id to title; ids are found as numbers or as text.

    >>> Titles({"7": "Twelve Monkeys"})[7]
    'Twelve Monkeys'
    """

    def __missing__(self, key: Any) -> str:
        return dict.__getitem__(self, str(key))

    def get(self, key: Any, default: Any = None) -> Any:
        return dict.get(self, str(key), default)


def read_titles(path: PathLike) -> Titles:
    """Read ids and titles from a table: by the names of the columns, or the first two."""
    table = read_table(path, is_header=_has_names)
    header = table.header or []
    places = (id_column(header) or 0, id_column(header, "title") or 1)
    titles = Titles()
    for number, row in enumerate(table.rows):
        if len(row) <= max(places):
            shown = table.separator.join(map(str, row))[:40]
            remedy = "separate them by |, tab, comma, semicolon or ::"
            raise table.error(f"{shown!r} is not an id and a title", number, remedy)
        titles[str(row[places[0]]).strip()] = str(row[places[1]]).strip()
    return titles


def _has_names(fields: list[str]) -> bool:
    return id_column(fields) is not None and id_column(fields, "title") is not None
