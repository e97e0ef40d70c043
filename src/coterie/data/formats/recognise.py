"""The format of a file: given by the user, else seen in its first bytes, else by its suffix.

Only the beginning of a file is looked at, so a large file costs no more than a small one. A file
that is recognised as something that coterie does not read is refused, with a way out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from coterie.base.errors import InputError, near_miss
from coterie.data.byte_source import PathLike, first_bytes, place_name, suffixes
from coterie.data.formats.format import Format


class _Foreign(NamedTuple):
    """A format that is not read: how to recognise it, and what to do."""

    name: str
    remedy: str
    starts: str = ""  # pattern of the first characters of such a file
    suffixes: tuple[str, ...] = ()


_AS_CSV = "save it as CSV (one edge per line) and read that"
_AS_GRAPHML = "save it as GraphML or CSV"
_UNPACK = "unpack it, or compress it with gzip"
_FOREIGN = (
    _Foreign("a PDF document", _AS_CSV, "(?-i:%PDF)", (".pdf",)),
    _Foreign("an old Excel file (.xls)", "save it as .xlsx or CSV", "\xd0\xcf\x11\xe0", (".xls",)),
    _Foreign("an OpenDocument sheet", "save it as .xlsx or CSV", suffixes=(".ods",)),
    _Foreign("an SQLite database", _AS_CSV, "(?-i:SQLite format 3)"),
    _Foreign("compressed with bzip2", _UNPACK, "(?-i:BZh)"),
    _Foreign("compressed with xz", _UNPACK, "\xfd7zXZ"),
    _Foreign("compressed with zstd", _UNPACK, "\\(\xb5/\xfd"),
    _Foreign("a 7-Zip archive", "unpack it first", "7z\xbc\xaf"),
    _Foreign(
        "a Python pickle, which could run code",
        _AS_CSV,
        "\x80[\x02-\x05]",
        (".pickle", ".pkl"),
    ),
    _Foreign("a NumPy array", "use Graph.from_numpy in Python, or save CSV", "\x93NUMPY"),
    _Foreign("an HTML page", "download the file itself", r"<!doctype html|<html|<head|<body"),
    _Foreign(
        "a Graphviz (.dot) file",
        _AS_GRAPHML,
        r"((//[^\n]*|/\*.*?\*/)\s*)*(strict\s+)?(di)?graph(\s+[\w\"\-. ]+)?\s*\{",
        (".dot", ".gv"),
    ),
    _Foreign("graph6", _AS_GRAPHML, r">>(graph6|sparse6|digraph6)<<", (".g6",)),
    _Foreign("sparse6", _AS_GRAPHML, suffixes=(".s6",)),
    _Foreign("a UCINET DL file", "save it as Pajek or CSV", r"dl\s+(n|nr)\s*="),
    _Foreign(
        "an adjacency list (a node and its neighbours per line)", _AS_CSV, suffixes=(".adjlist",)
    ),
)
_ZIP = _Foreign("a zip archive", "unpack it, and give one of the files in it")
_XML = _Foreign("XML, but neither GraphML nor GEXF", _AS_GRAPHML)


def find_format(path: PathLike, format: str | None, allowed: Sequence[Format]) -> Format:
    """Return the format of a file: as given, else by its first bytes, else by its suffix.

    >>> from coterie.data.formats import FORMATS
    >>> find_format("edges.csv", "csv", FORMATS).name
    'text'
    """
    from coterie.data.formats import FORMATS

    names = [known.name for known in allowed]
    if format is not None:
        for known in allowed:
            if format.lower() in (known.name, *known.aliases):
                return known
        meant = near_miss(format, names)
        remedy = f"use one of {', '.join(names)}{meant}"
        raise InputError(f"unknown format {format!r}", remedy=remedy)
    suffix = (suffixes(path)[-1:] or [""])[0]
    found = _by_content(path, suffix, FORMATS) or format_by_suffix(path)
    if found not in allowed:
        raise InputError(
            f"a {found.name} file cannot hold this table",
            path=place_name(path),
            remedy=f"give a {' or '.join(names)} file",
        )
    return found


def format_by_suffix(path: PathLike) -> Format:
    """Return the format that the suffix of a file means; text if it means none."""
    from coterie.data.formats import FORMATS

    suffix = (suffixes(path)[-1:] or [""])[0]
    return next((known for known in FORMATS if suffix in known.suffixes), FORMATS[0])


def _by_content(path: PathLike, suffix: str, formats: Sequence[Format]) -> Format | None:
    """Return the format that the first bytes show; None if they show none."""
    head = first_bytes(path)
    if head.startswith(b"PK\x03\x04"):
        excel = next(known for known in formats if known.name == "excel")
        if b"xl/" in head or b"[Content_Types]" in head or suffix in excel.suffixes:
            return excel
        raise _refusal(path, _ZIP)
    # Latin-1 keeps every byte; patterns of text are ASCII
    text = head.removeprefix(b"\xef\xbb\xbf").decode("latin-1").lstrip(" \t\r\n\v\f")
    for foreign in _FOREIGN:
        by_suffix = suffix in foreign.suffixes and (not text or text[0] not in "{[<*%")
        if by_suffix or (foreign.starts and _matches(foreign.starts, text)):
            raise _refusal(path, foreign)
    found = next((f for f in formats if f.starts is not None and _matches(f.starts, text)), None)
    if found is None and text.startswith("<"):
        raise _refusal(path, _XML)
    return found


def _matches(pattern: str, text: str) -> bool:
    return re.match(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def _refusal(path: PathLike, foreign: _Foreign) -> InputError:
    return InputError(
        f"this is {foreign.name}, which coterie does not read",
        path=place_name(path),
        remedy=foreign.remedy,
    )
