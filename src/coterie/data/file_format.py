"""The format of a file: given by the user, else seen in its first bytes, else by its suffix.

Only the beginning of a file is looked at, so a large file costs no more than a small one. A file
that is recognised as something that coterie does not read is refused, with a way out.
"""

from __future__ import annotations

import io
import re
from typing import NamedTuple

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, first_bytes, place_name, suffixes

TABLES = ("text", "parquet", "excel", "json", "mtx")  # hold tables as well as graphs
GRAPHS = (*TABLES, "graphml", "gml", "pajek", "matrix")

_SUFFIXES = {
    "text": (".txt", ".csv", ".tsv", ".edges", ".edgelist", ".dat", ".data"),
    "parquet": (".parquet", ".pq"),
    "graphml": (".graphml",),
    "gml": (".gml",),
    "excel": (".xlsx", ".xlsm"),
    "pajek": (".net", ".paj"),
    "mtx": (".mtx",),
    "json": (".json",),
}
_ALIASES = {
    "csv": "text",
    "tsv": "text",
    "edgelist": "text",
    "xlsx": "excel",
    "net": "pajek",
    "matrixmarket": "mtx",
    "adjacency": "matrix",
    "node-link": "json",
}


class _Foreign(NamedTuple):
    """A format that is not read: how to recognise it, and what to do."""

    name: str
    remedy: str


_AS_CSV = "save it as CSV (one edge per line) and read that"
_BINARY = (
    (b"%PDF", _Foreign("a PDF document", _AS_CSV)),
    (b"\xd0\xcf\x11\xe0", _Foreign("an old Excel file (.xls)", "save it as .xlsx or CSV")),
    (b"SQLite format 3", _Foreign("an SQLite database", _AS_CSV)),
    (b"BZh", _Foreign("compressed with bzip2", "unpack it, or compress it with gzip")),
    (b"\xfd7zXZ", _Foreign("compressed with xz", "unpack it, or compress it with gzip")),
    (b"\x28\xb5\x2f\xfd", _Foreign("compressed with zstd", "unpack it, or compress it with gzip")),
    (b"7z\xbc\xaf", _Foreign("a 7-Zip archive", "unpack it first")),
    (b"\x80\x02", _Foreign("a Python pickle, which could run code", _AS_CSV)),
    (b"\x80\x03", _Foreign("a Python pickle, which could run code", _AS_CSV)),
    (b"\x80\x04", _Foreign("a Python pickle, which could run code", _AS_CSV)),
    (b"\x80\x05", _Foreign("a Python pickle, which could run code", _AS_CSV)),
    (b"\x93NUMPY", _Foreign("a NumPy array", "use Graph.from_numpy in Python, or save CSV")),
)
_TEXT = (
    (r"<!doctype html|<html|<head|<body", _Foreign("an HTML page", "download the file itself")),
    (r"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<gexf", _Foreign("GEXF", "save it as GraphML or CSV")),
    (
        r"((//[^\n]*|/\*.*?\*/)\s*)*(strict\s+)?(di)?graph(\s+[\w\"\-. ]+)?\s*\{",
        _Foreign("a Graphviz (.dot) file", "save it as GraphML or CSV"),
    ),
    (r">>(graph6|sparse6|digraph6)<<", _Foreign("graph6", "save it as GraphML or CSV")),
    (r"dl\s+(n|nr)\s*=", _Foreign("a UCINET DL file", "save it as Pajek or CSV")),
)
_FOREIGN_SUFFIXES = {
    ".xls": _Foreign("an old Excel file (.xls)", "save it as .xlsx or CSV"),
    ".ods": _Foreign("an OpenDocument sheet", "save it as .xlsx or CSV"),
    ".gexf": _Foreign("GEXF", "save it as GraphML or CSV"),
    ".g6": _Foreign("graph6", "save it as GraphML or CSV"),
    ".adjlist": _Foreign("an adjacency list (a node and its neighbours per line)", _AS_CSV),
    ".s6": _Foreign("sparse6", "save it as GraphML or CSV"),
    ".dot": _Foreign("a Graphviz file", "save it as GraphML or CSV"),
    ".gv": _Foreign("a Graphviz file", "save it as GraphML or CSV"),
    ".pickle": _Foreign("a Python pickle, which could run code", _AS_CSV),
    ".pkl": _Foreign("a Python pickle, which could run code", _AS_CSV),
    ".pdf": _Foreign("a PDF document", _AS_CSV),
}


def find_format(path: PathLike, format: str | None, allowed: tuple[str, ...]) -> str:
    """Return the format of a file: as given, else by its first bytes, else by its suffix.

    >>> find_format("edges.csv", "csv", GRAPHS)
    'text'
    """
    if format is not None:
        kind = _ALIASES.get(format.lower(), format.lower())
        if kind not in allowed:
            remedy = f"use one of {', '.join(allowed)}"
            raise InputError(f"unknown format {format!r}", remedy=remedy)
        return kind
    kind = _by_content(path) or _by_suffix(path)
    if kind not in allowed:
        raise InputError(
            f"a {kind} file cannot hold this table",
            path=place_name(path),
            remedy=f"give a {' or '.join(allowed)} file",
        )
    return kind


def _by_suffix(path: PathLike) -> str:
    suffix = (suffixes(path)[-1:] or [""])[0]
    return next((kind for kind, ends in _SUFFIXES.items() if suffix in ends), "text")


def _by_content(path: PathLike) -> str | None:
    """Return the format that the first bytes show; None if they show none."""
    head = first_bytes(path)
    suffix = (suffixes(path)[-1:] or [""])[0]
    if head.startswith(b"PK\x03\x04"):
        if b"xl/" in head or b"[Content_Types]" in head or suffix in _SUFFIXES["excel"]:
            return "excel"
        _refuse(path, _Foreign("a zip archive", "unpack it, and give one of the files in it"))
    if head.startswith(b"PAR1"):
        return "parquet"
    for start, foreign in _BINARY:
        if head.startswith(start):
            _refuse(path, foreign)
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").lstrip()
    if suffix in _FOREIGN_SUFFIXES and (not text or text[0] not in "{[<*%"):
        _refuse(path, _FOREIGN_SUFFIXES[suffix])
    for pattern, foreign in _TEXT:
        if re.match(pattern, text, re.IGNORECASE | re.DOTALL):
            _refuse(path, foreign)
    return _text_format(path, text)


def _text_format(path: PathLike, text: str) -> str | None:
    if re.match(r"%%MatrixMarket", text, re.IGNORECASE):
        return "mtx"
    if text.startswith("<"):
        if re.search(r"<(\w+:)?graphml\b", text):
            return "graphml"
        _refuse(path, _Foreign("XML, but not GraphML", "save it as GraphML or CSV"))
    if text[:1] in ("{", "["):
        return "json"
    if re.match(r"((%|/\*)[^\n]*\s+)*\*(vertices|network|arcs|edges|arcslist|edgeslist|matrix)\b",
                text, re.IGNORECASE):  # fmt: skip
        return "pajek"
    if re.match(r"((#|Creator|Version|comment)[^\n]*\s+)*graph\s*\[", text, re.IGNORECASE):
        return "gml"
    return None


def _refuse(path: PathLike, foreign: _Foreign) -> None:
    raise InputError(
        f"this is {foreign.name}, which coterie does not read",
        path=place_name(path),
        remedy=foreign.remedy,
    )


def decoded(content: io.BytesIO, path: PathLike) -> str:
    """Return the text of a file that is read as a whole."""
    raw = content.getvalue()
    try:
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return raw.decode("utf-16")
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8 ({error.reason} at byte {error.start})",
            path=place_name(path),
            remedy="save the file as UTF-8",
        ) from None
