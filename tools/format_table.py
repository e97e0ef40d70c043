"""Write the tables of formats and of column names in docs/reference/file-formats.md.

They follow from `coterie.data.formats` and `coterie.data.column_roles`.

    python tools/format_table.py            # write the tables between their markers
    python tools/format_table.py --check    # exit 1 if they are out of date
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from coterie.data.column_roles import WORDS
from coterie.data.formats import FORMATS
from coterie.data.formats.format import Format

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "file-formats.md"
_BLOCK = re.compile(
    r"(<!-- (?P<name>formats|words): [^>]* -->\n).*?(<!-- /(?P=name) -->)", re.DOTALL
)
_ROLES = {
    "source": "first end of an edge",
    "target": "second end of an edge",
    "user": "user",
    "item": "item",
    "number": "weight or rating",
    "time": "time of a rating",
    "node": "node, in a table of nodes",
    "block": "known block of a node (`--truth`)",
    "published": "published id of a node",
    "original": "original id of a node",
    "title": "title of an item",
}
_HEAD = (
    "| format | `--format` | suffix | content | ratings and other tables | written |\n"
    "|---|---|---|---|---|---|\n"
)


def table(formats: Sequence[Format]) -> str:
    """Return one row per format."""
    rows = []
    for known in formats:
        suffixes = ", ".join(f"`{suffix}`" for suffix in known.suffixes)
        is_table = _yes(known.cells or known.columns)
        is_written = _yes(known.write or known.writes_tables)
        names = f"{known.title} | `{known.name}` | {suffixes}"
        rows.append(f"| {names} | {known.about} | {is_table} | {is_written} |\n")
    return _HEAD + "".join(rows)


def _yes(value: object) -> str:
    return "yes" if value else "no"


def words() -> str:
    """Return one row per role of a column, with the names that mean it."""
    return "| role | names |\n|---|---|\n" + "".join(
        f"| {_ROLES[role]} | {', '.join(f'`{name}`' for name in names.split())} |\n"
        for role, names in WORDS.items()
    )


def filled(text: str) -> str:
    """Return a page with the tables between their markers."""
    tables = {"formats": table(FORMATS), "words": words()}
    return _BLOCK.sub(lambda found: found[1] + tables[found["name"]] + found[3], text)


def main() -> int:
    """Write the tables, or compare them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 on drift")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    if page == filled(page):
        return 0
    if check:
        print(f"{PAGE.name} is out of date: run python tools/format_table.py")
        return 1
    PAGE.write_text(filled(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
