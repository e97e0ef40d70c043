"""Lists of ids in files, and items chosen by their features."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from coterie.base.errors import InputError
from coterie.cli.session import Session
from coterie.data.column_roles import id_column
from coterie.data.ids import IdLookup
from coterie.data.table import ReadOptions, read_id_list, read_table

_CONDITION = re.compile(r"(?P<column>.+?)\s*(?P<sign>!=|>=|<=|=)\s*(?P<value>.*)", re.DOTALL)


def read_ids(path: Path, known: IdLookup) -> list[str]:
    """Return the ids of a file, one per line, or the column of ids of a table.

    A header is left out: a first line that the model does not know, and that is the name of a
    column of ids or, where the ids of the model are integers, not an integer.
    """

    def is_header(text: str) -> bool:
        if known.numbers([text])[0] >= 0:
            return False
        integers = known.ids.dtype.kind in "iu" and not text.removeprefix("-").isdecimal()
        return integers or id_column([text]) is not None

    ids = [str(id_) for (id_,) in read_id_list(path, is_header).rows]
    if not ids:
        raise InputError("lists no ids", path=path, remedy="write one id per line")
    return ids


def items_to_exclude(session: Session, path: Path | None, known: IdLookup) -> list[str] | None:
    """Return the ids of a file of items that are not recommended; say how many are unknown."""
    if path is None:
        return None
    ids = read_ids(path, known)
    unknown = int((known.numbers(ids) < 0).sum())
    if unknown:
        session.say(f"the model does not know {unknown:,} of the {len(ids):,} items to exclude")
    return ids


def allowed_items(
    session: Session,
    candidates: Path | None,
    features: Path | None,
    conditions: list[str],
    known: IdLookup,
) -> list[Any] | None:
    """Return the items that may be recommended, None if every item may."""
    if conditions and features is None:
        raise InputError("--where requires a table of features", remedy="add --items FILE")
    if features is not None and not conditions:
        raise InputError("--items requires a condition", remedy='add --where "COLUMN=VALUE"')
    ids: list[str] | None = None
    if candidates is not None:
        ids = read_ids(candidates, known)
        unknown = [id_ for id_, number in zip(ids, known.numbers(ids), strict=True) if number < 0]
        if len(unknown) == len(ids):
            raise InputError(
                f"the model knows none of the {len(ids):,} items",
                path=candidates,
                remedy="check the ids",
            )
        if unknown:
            some = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
            session.say(
                f"the model does not know {len(unknown):,} of the {len(ids):,} candidates: {some}"
            )
    if features is not None:
        chosen = items_with(features, conditions)
        ids = chosen if ids is None else [id_ for id_ in ids if id_ in set(chosen)]
    if ids is None:
        return None
    numbers = known.numbers(ids)
    found: list[Any] = known.ids[numbers[numbers >= 0]].tolist()
    if not found:
        raise InputError(
            f"no item of the model satisfies {' and '.join(conditions)}", path=features
        )
    return found


def items_with(path: Path, conditions: list[str]) -> list[str]:
    """Return the ids of the items whose features satisfy all conditions."""
    table = read_table(path, ReadOptions(header=True))
    columns = table.columns()
    tests = [_parsed(condition, list(columns), path) for condition in conditions]
    ids = columns[list(columns)[id_column(table.header or []) or 0]]
    return [
        str(id_).strip()
        for row, id_ in enumerate(ids)
        if all(_holds(str(columns[name][row]), sign, value) for name, sign, value in tests)
    ]


def _parsed(condition: str, header: list[str], path: Path) -> tuple[str, str, str]:
    """Return column, sign and value of a condition."""
    match = _CONDITION.fullmatch(condition.strip())
    if match is None:
        raise InputError(
            f"the condition {condition!r} is not understood",
            remedy="write COLUMN=VALUE, COLUMN!=VALUE, COLUMN>=NUMBER or COLUMN<=NUMBER",
        )
    column, sign, value = match["column"].strip(), match["sign"], match["value"].strip()
    if column not in header:
        raise InputError(
            f"there is no column {column!r}", path=path, remedy=f"use one of {', '.join(header)}"
        )
    if sign in (">=", "<=") and _number(value) is None:
        raise InputError(f"{value!r} in {condition!r} is not a number")
    return column, sign, value


def _holds(cell: str, sign: str, value: str) -> bool:
    """Return whether a cell satisfies a condition; a cell that is not a number is in no range.

    >>> _holds("Comedy|Drama", "=", "Drama"), _holds("1994", ">=", "1990"), _holds("", "<=", "5")
    (True, True, False)
    """
    if sign in ("=", "!="):
        return (value in [part.strip() for part in cell.split("|")]) == (sign == "=")
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
