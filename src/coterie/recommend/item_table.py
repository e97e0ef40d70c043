"""A table about items, and conditions on its columns such as genres=Comedy or year>=1990."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from typing import Any, NamedTuple

from coterie.base.errors import InputError, near_miss
from coterie.data.column_roles import id_column
from coterie.data.table import ReadOptions, read_table

_CONDITION = re.compile(r"(?P<column>.+?)\s*(?P<sign>!=|>=|<=|=)\s*(?P<value>.*)", re.DOTALL)


class ItemTable(NamedTuple):
    """The ids of items and the cells of their columns, as text."""

    ids: list[str]
    columns: dict[str, list[str]]
    path: str | PathLike[str] | None = None  # for messages

    @classmethod
    def of(cls, table: Any) -> ItemTable:
        """Return the table of a file, or of a DataFrame or a dict of columns.

        The ids are in the column whose name says so, else in the first one.
        """
        path = table if isinstance(table, str | PathLike) else None
        if path is not None:
            table = read_table(path, ReadOptions(header=True)).columns()
        cells = {str(name): [_text(cell) for cell in table[name]] for name in table}
        if not cells:
            raise InputError("the table of items has no columns", path=path)
        return cls(cells[list(cells)[id_column(list(cells)) or 0]], cells, path)

    def with_all(self, conditions: Iterable[str]) -> list[str]:
        """Return the ids of the items that satisfy all conditions."""
        tests = [self._parsed(condition) for condition in conditions]
        return [
            id_
            for row, id_ in enumerate(self.ids)
            if all(_holds(self.column(name)[row], sign, value) for name, sign, value in tests)
        ]

    def by_value(self, name: str) -> dict[str, list[str]]:
        """Return the ids of the items with each value of a column; empty cells have none."""
        found: dict[str, list[str]] = {}
        for id_, cell in zip(self.ids, self.column(name), strict=True):
            for value in _values(cell):
                found.setdefault(value, []).append(id_)
        return found

    def column(self, name: str) -> list[str]:
        """Return the cells of a column; InputError if there is no such column."""
        if name not in self.columns:
            near = near_miss(name, self.columns)
            remedy = f"use one of {', '.join(self.columns)}"
            raise InputError(f"there is no column {name!r}{near}", path=self.path, remedy=remedy)
        return self.columns[name]

    def _parsed(self, condition: str) -> tuple[str, str, str]:
        """Return column, sign and value of a condition."""
        match = _CONDITION.fullmatch(condition.strip())
        if match is None:
            raise InputError(
                f"the condition {condition!r} is not understood",
                remedy="write COLUMN=VALUE, COLUMN!=VALUE, COLUMN>=NUMBER or COLUMN<=NUMBER",
            )
        column, sign, value = match["column"].strip(), match["sign"], match["value"].strip()
        self.column(column)
        if sign in (">=", "<=") and _number(value) is None:
            raise InputError(f"{value!r} in {condition!r} is not a number")
        return column, sign, value


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()


def _values(cell: str) -> list[str]:
    """Return the values of a cell, which are separated by |."""
    return [part.strip() for part in cell.split("|") if part.strip()]


def _holds(cell: str, sign: str, value: str) -> bool:
    """Return whether a cell satisfies a condition; a cell that is not a number is in no range.

    >>> _holds("Comedy|Drama", "=", "Drama"), _holds("1994", ">=", "1990"), _holds("", "<=", "5")
    (True, True, False)
    """
    if sign in ("=", "!="):
        return (value in (_values(cell) or [""])) == (sign == "=")
    number, limit = _number(cell), float(value)
    if number is None:
        return False
    return number >= limit if sign == ">=" else number <= limit


def _number(text: str) -> float | None:
    """Return a finite number, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
