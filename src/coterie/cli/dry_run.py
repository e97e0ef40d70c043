"""`--dry-run`: what was recognised in the input of a command, and its first rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.base.json_values import JsonObject

if TYPE_CHECKING:
    from coterie.cli.session import Session
    from coterie.data.table import Recognised

_GRAPHS = ("graph", "data", "original", "published")
_RATINGS = ("ratings", "train", "test")


def preview(session: Session, given: Mapping[str, Any]) -> JsonObject:
    """Read every input of a command and show it; nothing is written."""
    from coterie.cli.reading import RATING_OBJECTIVES, load_graph, load_ratings

    objective = str(given.get("objective") or "")
    shown: list[Recognised] = []
    for name in (*_GRAPHS, *_RATINGS):
        path = given.get(name)
        if isinstance(path, list):  # several files are read alike: show the first
            from coterie.engine.sharding import input_files

            path = input_files(path)[0]
        if not isinstance(path, str | Path):
            continue
        path = str(path)
        if Path(path).is_dir():
            session.show(f"{path}: a folder of shards")
        elif "user" in given and name == "ratings":  # the ratings of one user: item, rating
            _preview_table(session, path, ("item",), ("rating",))
        elif name in _RATINGS or objective in RATING_OBJECTIVES or given.get("two_mode"):
            likes = bool(given.get("likes") or given.get("two_mode")) or objective == "likes"
            load_ratings(session, path, likes=likes, notify=shown.append)
        else:
            load_graph(
                session,
                path,
                directed=objective == "directed",
                weighted=objective == "weighted",
                notify=shown.append,
            )
    if given.get("pairs") is not None:
        _preview_table(session, str(given["pairs"]), ("user", "item"), ())
    for found in shown:
        session.show(found.line())
        session.show_table(found.first_rows, *found.columns)
    return {"dry_run": True, "inputs": [_as_json(found) for found in shown]}


def _preview_table(
    session: Session, path: str, ids: tuple[str, ...], numbers: tuple[str, ...]
) -> None:
    from coterie.data.readers import read_columns

    table = read_columns(path, ids, numbers, **session.reading.given)
    rows = list(zip(*(column[:5].tolist() for column in table.values()), strict=False))
    session.show(f"{path}: {len(next(iter(table.values()))):,} rows")
    session.show_table(rows, *table)


def _as_json(found: Recognised) -> JsonObject:
    return {
        "input": found.name,
        "format": found.format,
        "separator": found.separator,
        "header": found.header,
        "columns": found.columns,
        "unread": found.unread,
        "contents": found.contents,
        "first_rows": [dict(zip(found.columns, row, strict=False)) for row in found.first_rows],
    }
