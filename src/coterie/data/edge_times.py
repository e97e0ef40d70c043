"""Find out whether the edges of a file have times, which a release cannot contain."""

from __future__ import annotations

from itertools import islice

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, open_bytes, place_name, suffixes
from coterie.data.text_layout import find_separator, header_roles, resolve_separator, split

_LINES = 100


def refuse_times(path: PathLike, *, separator: str | None = None) -> None:
    """Raise InputError if the header of a table of edges names a column of times."""
    if str(path) == "-":
        return  # it can be read only once
    names = _header(path, separator)
    roles = header_roles(names) or {}
    if "time" not in roles:
        return
    raise InputError(
        f"the edges have times (column {names[roles['time']]!r}), which a release cannot contain",
        path=place_name(path),
        remedy="remove the column to release one network of all times. Snapshots can be released "
        "one by one, but they add up: two of them disclose more about a person than each alone, "
        "and the ledger counts each",
    )


def _header(path: PathLike, separator: str | None) -> list[str]:
    suffix = (suffixes(path) or [""])[-1]
    if suffix in (".parquet", ".pq"):
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return list(parquet.read_schema(str(path)).names)
        except (pa.ArrowException, OSError):
            return []  # the reader says what is wrong
    with open_bytes(path) as stream:
        lines = [line.decode("utf-8", "replace").strip() for line in islice(stream, _LINES)]
    rows = [line for line in lines if line and line[0] not in "#%"]
    if not rows or rows[0][:1] in "<{[":
        return []
    chosen = resolve_separator(separator)
    return split(rows[0], find_separator(rows, 2) if chosen is None else chosen)
