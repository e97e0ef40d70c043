"""The layout of a text file: separator, header, and which column holds what."""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data.column_roles import WantedColumns, find_columns, id_column

WHITESPACE = ""  # the separator that stands for one or more blanks or tabs
_SEPARATORS = ("::", "\t", ",", ";", "|")
_SPELLINGS = {
    "whitespace": WHITESPACE,
    " ": WHITESPACE,
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "space": WHITESPACE,
}
_SAMPLE = 100  # lines used to find the separator


class Layout(NamedTuple):
    """The separator of a line, and the positions of the wanted columns."""

    separator: str
    slot: np.ndarray  # column -> position among the wanted ones, or -1
    names: tuple[str, ...]  # of the wanted ones, in order
    n_ids: int
    n_numbers: int
    decimal_comma: bool = False  # numbers are written as 4,5

    @property
    def id_columns(self) -> list[int]:
        """The columns of ids."""
        return np.flatnonzero((self.slot >= 0) & (self.slot < self.n_ids)).tolist()

    @property
    def quoting(self) -> bool:
        """Whether fields can be quoted: only with separators of one character."""
        return len(self.separator) == 1


def resolve_separator(separator: str | None) -> str | None:
    """Return the separator that a user named; None stays None: it is detected.

    >>> resolve_separator("tab"), resolve_separator("::"), resolve_separator(None)
    ('\\t', '::', None)
    """
    if separator is None:
        return None
    separator = _SPELLINGS.get(separator, separator)
    if any(character in separator for character in '\r\n"#%\0'):
        raise InputError(
            f"the separator {separator!r} cannot be used",
            remedy='use other characters, "tab" or "whitespace"',
        )
    return separator


def split(line: str, separator: str) -> list[str]:
    """Return the fields of one line of a sample; the file itself is split by a kernel."""
    if separator == WHITESPACE:
        return line.split()
    if len(separator) == 1 and '"' in line:
        try:
            return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        except csv.Error:
            pass
    return [field.strip() for field in line.split(separator)]


def find_separator(lines: list[str], columns: int) -> str:
    """Return the separator that gives the most lines enough non-empty fields.

    It must do so for at least half of the lines and no fewer than whitespace does; otherwise the
    separator is whitespace.

    >>> find_separator(["1::10::5", "1::11::4"], 3), find_separator(["Ann Lee,Bo"], 2)
    ('::', ',')
    """
    sample = lines[:_SAMPLE]

    def n_fitting(separator: str) -> int:
        rows = [split(line, separator) for line in sample]
        return sum(len(fields) >= columns and all(fields[:columns]) for fields in rows)

    best = max(_SEPARATORS, key=n_fitting)
    enough = sample and n_fitting(best) >= max(len(sample) / 2, n_fitting(WHITESPACE))
    if enough:
        return best
    # With too few columns for any separator, the error should count the fields that there are.
    if columns > 2 and sample and not n_fitting(WHITESPACE):
        return find_separator(lines, columns - 1)
    return WHITESPACE


def find_table_separator(lines: list[str]) -> str:
    """Return the separator of a table whose columns are all needed.

    It divides the most lines into as many fields as the first one; among equals it is the one with
    the shortest first fields, which are ids: the genres `Adventure|Children` after a title do not
    mislead it. Blanks separate only if nothing else does.

    >>> find_table_separator(["1,Toy Story (1995),Adventure|Children", "2,Heat,Action|Crime"])
    ','
    >>> find_table_separator(["1|Usual Suspects, The|", "2|Heat|"])
    '|'
    """

    def rank(separator: str) -> tuple[int, float]:
        rows = [split(line, separator) for line in lines[:_SAMPLE]]
        width = len(rows[0])
        fitting = sum(len(row) == width >= 2 for row in rows)
        return -fitting, sum(len(row[0]) for row in rows if row)

    best = min(_SEPARATORS, key=rank, default=",")
    return best if rank(best)[0] or not rank(WHITESPACE)[0] else WHITESPACE


def find_list_separator(lines: list[str]) -> str:
    """Return the separator of a list of ids, or a line end if each line is one id.

    A file has columns only if its first line names one of them as ids: "Lee, Ann" is one id.

    >>> find_list_separator(["node,team", "7,x"]), find_list_separator(["Lee, Ann", "Bo, Jo"])
    (',', '\\n')
    """
    separator = find_table_separator(lines)
    fields = split(lines[0], separator)
    return separator if len(fields) > 1 and id_column(fields) is not None else "\n"


def make_layout(
    separator: str, fields: list[str], rows: list[list[str]], wanted: WantedColumns, *, named: bool
) -> Layout:
    """Find the wanted columns; `fields` are their names, or the first row if not `named`."""
    found = find_columns(fields, rows, wanted, named=named)
    names = tuple(name for name in wanted.names if name in found)
    columns = [found[name] for name in names]
    slot = np.full(max(columns) + 1, -1, np.int64)
    slot[columns] = np.arange(len(columns))
    return Layout(separator, slot, names, len(wanted.ids), len(wanted.numbers))


def layout_in_order(wanted: WantedColumns) -> Layout:
    """Return the layout of a document, which has the wanted columns and no others."""
    names = (*wanted.ids, *wanted.numbers)
    return Layout("", np.arange(len(names)), names, len(wanted.ids), len(wanted.numbers))
