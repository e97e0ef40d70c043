"""How the lines of a text file are made: separator, header, and which column is what."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError

RUNS = ""  # the separator that stands for runs of blanks and tabs
_SEPARATORS = ("::", "\t", ",", ";", "|")
_SPELLINGS = {"whitespace": RUNS, " ": RUNS, "tab": "\t", "\\t": "\t", "comma": ",", "space": RUNS}
_SAMPLE = 100  # lines looked at to find the separator

# what people call the columns, without case, blanks, _ and -
_NAMES = {
    "first": "source src from fromnode fromnodeid sourceid node1 node user userid reviewer"
    " customer published",
    "second": "target tgt dst dest destination to tonode tonodeid targetid node2 item itemid movie"
    " movieid product productid book bookid artist artistid block label group community original",
    "number": "weight rating ratings score stars value count",
    "time": "timestamp time date unixtime",
}
_ROLE_OF = {name: role for role, names in _NAMES.items() for name in names.split()}


class Wanted(NamedTuple):
    """What a caller needs: names for its messages, in the order first id, second id, number."""

    ids: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()  # read where they are there


class Layout(NamedTuple):
    """How to cut a line, and what the wanted columns are."""

    separator: str
    slot: np.ndarray  # column -> place among the wanted ones, or -1
    names: tuple[str, ...]  # of the wanted ones, in order
    n_ids: int
    n_numbers: int

    @property
    def quoting(self) -> bool:
        """Quotes mean something only where fields may hold anything."""
        return len(self.separator) == 1


def spelled(separator: str | None) -> str | None:
    """The separator a user named; None: find it out.

    >>> spelled("tab"), spelled("::"), spelled(None)
    ('\\t', '::', None)
    """
    if separator is None:
        return None
    separator = _SPELLINGS.get(separator, separator)
    if any(sign in separator for sign in '\r\n"#%\0'):
        raise InputError(
            f"the separator {separator!r} cannot be used",
            remedy='give one or more plain signs, "tab" or "whitespace"',
        )
    return separator


def split(line: str, separator: str) -> list[str]:
    """The fields of one line, for looking at it; the kernel cuts the file."""
    if separator == RUNS:
        return line.split()
    if len(separator) == 1 and '"' in line:
        try:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        except csv.Error:
            pass
    return [field.strip() for field in line.split(separator)]


def find_separator(lines: list[str], columns: int) -> str:
    """The separator that gives most lines enough filled fields: half of them at least, and no fewer
    than blanks would; else runs of blanks.

    >>> find_separator(["1::10::5", "1::11::4"], 3), find_separator(["Ann Lee,Bo"], 2)
    ('::', ',')
    """
    sample = lines[:_SAMPLE]

    def fitting(separator: str) -> int:
        rows = [split(line, separator) for line in sample]
        return sum(len(fields) >= columns and all(fields[:columns]) for fields in rows)

    best = max(_SEPARATORS, key=fitting)
    enough = sample and fitting(best) >= max(len(sample) / 2, fitting(RUNS))
    return best if enough else RUNS


def header_roles(fields: list[str], ids: int = 2) -> dict[str, int] | None:
    """Role -> column if the names of the ids are known, else None.

    >>> header_roles(["userId", "movieId", "rating"]), header_roles(["ann", "bob"])
    ({'first': 0, 'second': 1, 'number': 2}, None)
    """
    plain = [re.sub(r"[\s_\-.\"']", "", field).lower() for field in fields]
    roles: dict[str, int] = {}
    for column, name in enumerate(plain):
        if name in _ROLE_OF:
            roles.setdefault(_ROLE_OF[name], column)
    id_roles = [role for role in ("first", "second") if role in roles]
    return roles if len(id_roles) >= ids and len(roles) >= 2 else None


def arrange(
    separator: str, fields: list[str], roles: dict[str, int] | None, wanted: Wanted
) -> Layout:
    """Columns by their names where the header is known, else by their order."""
    named = roles or {}
    if len(wanted.ids) == 1:
        columns = [named.get("second", named.get("first", 0))]
    else:
        columns = [named.get("first", 0), named.get("second", 1)]
    in_order = columns == list(range(len(columns)))
    for name in wanted.numbers:
        if "number" not in named and not in_order:
            raise InputError(f"the header {fields} names no {name}", remedy=f"name it {name}")
        columns.append(named.get("number", len(wanted.ids)))
    names = (*wanted.ids, *wanted.numbers)
    if wanted.times and "time" in named:
        columns.append(named["time"])
        names += wanted.times
    elif wanted.times and roles is None and len(fields) > len(names):
        columns.append(len(names))
        names += wanted.times
    slot = np.full(max(columns) + 1, -1, np.int64)
    slot[columns] = np.arange(len(columns))
    return Layout(separator, slot, names, len(wanted.ids), len(wanted.numbers))
