"""The layout of a text file: separator, header, and which column holds what."""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

import numpy as np

from coterie.base.errors import InputError

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

# Role of a column -> its known names, in lower case, without blanks, _ and -. The first four are
# the columns of edges and ratings, the others those of a table of nodes, users or items.
WORDS = {
    "first": "source src from fromnode fromnodeid sourceid node1 node user userid reviewer"
    " customer published",
    "second": "target tgt dst dest destination to tonode tonodeid targetid node2 item itemid movie"
    " movieid product productid book bookid artist artistid block label group community original",
    "number": "weight rating ratings score stars value count",
    "time": "timestamp time date unixtime",
    "id": "node nodeid id ids person published user userid users item itemid items movie movieid"
    " product productid book bookid isbn",
    "title": "title name movietitle itemname productname booktitle",
}
ROLES = ("first", "second", "number", "time")  # in the order of the columns
RATING_WORDS = frozenset(["rating", "ratings", "score", "stars"])
ROLE_OF = {name: role for role in ROLES for name in WORDS[role].split()}


class WantedColumns(NamedTuple):
    """The columns that a caller needs, with their names in error messages."""

    ids: tuple[str, ...]
    numbers: tuple[str, ...] = ()
    times: tuple[str, ...] = ()  # optional
    chosen: tuple[tuple[str, str], ...] = ()  # wanted column -> its name in the file

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, the optional ones last."""
        return (*self.ids, *self.numbers, *self.times)


class Layout(NamedTuple):
    """The separator of a line, and the positions of the wanted columns."""

    separator: str
    slot: np.ndarray  # column -> position among the wanted ones, or -1
    names: tuple[str, ...]  # of the wanted ones, in order
    n_ids: int
    n_numbers: int
    decimal_comma: bool = False  # numbers are written as 4,5

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


def plain_name(field: str) -> str:
    """Return the name of a column in lower case, without blanks and punctuation.

    >>> plain_name("Movie_ID")
    'movieid'
    """
    return re.sub(r"[\s_\-.\"']", "", field).lower()


def id_column(fields: list[str], role: str = "id") -> int | None:
    """Return the first column whose name means ids (or has another role), else None.

    >>> id_column(["team", "Node"]), id_column(["x", "y"])
    (1, None)
    """
    words = WORDS[role].split()
    return next((n for n, field in enumerate(fields) if plain_name(field) in words), None)


def header_roles(fields: list[str], ids: int = 2) -> dict[str, int] | None:
    """Return the column of each role if the names of the id columns are known, else None.

    >>> header_roles(["userId", "movieId", "rating"]), header_roles(["ann", "bob"])
    ({'first': 0, 'second': 1, 'number': 2}, None)
    """
    plain = [plain_name(field) for field in fields]
    roles: dict[str, int] = {}
    for column, name in enumerate(plain):
        if name in ROLE_OF:
            roles.setdefault(ROLE_OF[name], column)
    known = [name for name in plain if name in ROLE_OF]
    id_roles = [role for role in ("first", "second") if role in roles]
    repeated = [name for name in known if known.count(name) > 1]
    if repeated and len(known) == len(plain):
        raise InputError(
            f"two columns of the header have the name {repeated[0]!r}",
            remedy="give every column its own name",
        )
    return roles if len(id_roles) >= ids and len(roles) >= 2 else None


def make_layout(
    separator: str, fields: list[str], roles: dict[str, int] | None, wanted: WantedColumns
) -> Layout:
    """Find the wanted columns: those that the user named, else by known names or their order."""
    if wanted.chosen:
        found = _chosen_columns(fields, wanted)
    else:
        found = _usual_columns(fields, roles, wanted)
    names = tuple(name for name in wanted.names if name in found)
    columns = [found[name] for name in names]
    slot = np.full(max(columns) + 1, -1, np.int64)
    slot[columns] = np.arange(len(columns))
    return Layout(separator, slot, names, len(wanted.ids), len(wanted.numbers))


def _usual_columns(
    fields: list[str], roles: dict[str, int] | None, wanted: WantedColumns
) -> dict[str, int]:
    """Find columns by the roles of the header; by their order where it has none."""
    named = roles or {}
    if len(wanted.ids) == 1:
        columns = [named.get("second", named.get("first", 0))]
    else:
        columns = [named.get("first", 0), named.get("second", 1)]
    in_order = columns == list(range(len(columns)))
    if wanted.numbers and "number" not in named and not in_order:
        name = wanted.numbers[0]
        raise InputError(
            f"the header {fields} has no {name} column", remedy=f"call the column {name!r}"
        )
    found = dict(zip(wanted.ids, columns, strict=True))
    found |= dict.fromkeys(wanted.numbers, named.get("number", len(columns)))
    if "time" in named:
        found |= dict.fromkeys(wanted.times, named["time"])
    elif roles is None and len(fields) > len(found):
        found |= dict.fromkeys(wanted.times, len(found))
    return found


def _chosen_columns(fields: list[str], wanted: WantedColumns) -> dict[str, int]:
    """Find the columns that the user named; the others by their known names."""
    roles = header_roles(fields, 1) or {}
    role_of = dict(zip(wanted.ids, ("first", "second"), strict=False))
    role_of |= dict.fromkeys(wanted.numbers, "number") | dict.fromkeys(wanted.times, "time")
    chosen = dict(wanted.chosen)
    found = {name: column_of(fields, chosen[name]) for name in wanted.names if name in chosen}
    for name in wanted.names:
        if name not in found and roles.get(role_of[name]) not in (None, *found.values()):
            found[name] = roles[role_of[name]]
    missing = [name for name in (*wanted.ids, *wanted.numbers) if name not in found]
    if missing:
        raise InputError(
            f"which of the columns {_listed(fields)} is the {missing[0]}?",
            remedy=f"set `{missing[0]}` to the name of a column",
        )
    if len(set(found.values())) < len(found):
        raise InputError("one column is chosen twice", remedy="choose different columns")
    return found


def column_of(fields: list[str], name: str) -> int:
    """Return the column with this name in the header; case matters only if it has to.

    >>> column_of(["Person A", "Person B"], "person b")
    1
    """
    for same in (str, str.casefold):
        places = [n for n, field in enumerate(fields) if same(field) == same(name)]
        if len(places) == 1:
            return places[0]
        if places:
            raise InputError(
                f"{len(places)} columns have the name {name!r}", remedy="rename one of them"
            )
    raise InputError(
        f"there is no column {name!r}; the first line has {_listed(fields)}",
        remedy="use one of these names",
    )


def _listed(fields: list[str]) -> str:
    shown = ", ".join(map(repr, fields[:10]))
    return shown + (f" and {len(fields) - 10} more" if len(fields) > 10 else "")
