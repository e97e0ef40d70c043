"""Lists of ids in files, and items chosen by their features."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

from coterie.base.errors import InputError
from coterie.cli.session import Session
from coterie.data.titles import is_id_name, read_text_table
from coterie.recommend.id_lookup import IdLookup

_CONDITION = re.compile(r"(?P<column>.+?)\s*(?P<sign>!=|>=|<=|=)\s*(?P<value>.*)", re.DOTALL)
_SEPARATORS = ("\t", ";", ",", "::")  # | separates the values of a cell


def read_ids(path: Path, known: IdLookup) -> list[str]:
    """Return the ids of a file, one per line; blank lines and comments (#) do not count.

    A header is left out: a first line that the model does not know, and that is the name of a
    column of ids or, where the ids of the model are integers, not an integer.
    """
    lines = [line.strip() for line in read_text_table(path).splitlines()]
    ids = [line for line in lines if line and not line.startswith("#")]
    if ids and known.numbers(ids[:1])[0] < 0 and _is_header(ids[0], known):
        ids = ids[1:]
    if not ids:
        raise InputError("lists no ids", path=path, remedy="write one id per line")
    return ids


def _is_header(line: str, known: IdLookup) -> bool:
    integers = known.ids.dtype.kind in "iu" and not line.removeprefix("-").isdecimal()
    return integers or is_id_name(line)


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
    text = read_text_table(path)
    first = text.splitlines()[0] if text.strip() else ""
    separator = next((mark for mark in _SEPARATORS if mark in first), "|")
    if separator == "::":
        rows = [line.split("::") for line in text.splitlines() if line.strip()]
    else:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    header = [name.strip() for name in rows[0]] if rows else []
    tests = [_parsed(condition, header, path) for condition in conditions]
    found = []
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise InputError(
                f"{len(row)} fields, but the header has {len(header)}", path=path, line=number
            )
        if all(_holds(row[place], sign, value) for place, sign, value in tests):
            found.append(row[0].strip())
    return found


def _parsed(condition: str, header: list[str], path: Path) -> tuple[int, str, str]:
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
    return header.index(column), sign, value


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
