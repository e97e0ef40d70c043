"""Lists of ids in files, and items chosen by their features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie.base.errors import InputError
from coterie.cli.session import Session
from coterie.data.column_roles import id_column
from coterie.data.ids import IdLookup
from coterie.data.table import read_id_list
from coterie.recommend.item_table import ItemTable


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
        chosen = ItemTable.of(features).with_all(conditions)
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
