"""Count the lines of code of the package per room, without docstrings, comments and blank lines.

    python tools/count_lines.py [FOLDER] [--budget 44000] [--json]

A line counts once, however many statements it has; the lines of a docstring do not count. With
`--budget`, the exit code is 1 if the whole package has more lines of code than that.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "coterie"
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


class Lines(NamedTuple):
    """Files and lines of a room."""

    files: int = 0
    total: int = 0
    code: int = 0
    docstrings: int = 0

    def __add__(self, other: object) -> Lines:
        assert isinstance(other, Lines)
        return Lines(*(a + b for a, b in zip(self, other, strict=True)))


def count_file(text: str) -> Lines:
    """Count one source file.

    >>> count_file('"A module."\\n\\nx = 1  # one\\n# two\\n')
    Lines(files=1, total=4, code=1, docstrings=1)
    """
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return Lines(1, len(text.splitlines()), len(code - docstrings), len(docstrings))


def count_rooms(package: Path) -> dict[str, Lines]:
    """Count the files of a package by its rooms: the folders below it, two levels deep."""
    rooms: dict[str, Lines] = defaultdict(Lines)
    for file in sorted(package.rglob("*.py")):
        folders = file.relative_to(package).parts[:-1]
        room = "/".join(folders[:2]) or "(top)"
        rooms[room] += count_file(file.read_text(encoding="utf-8"))
    return dict(sorted(rooms.items()))


def main() -> int:
    """Print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=PACKAGE)
    parser.add_argument("--budget", type=int, help="the largest number of lines of code allowed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rooms = count_rooms(options.folder)
    whole = sum(rooms.values(), Lines())
    if options.json:
        print(json.dumps({name: lines._asdict() for name, lines in rooms.items()}))
    else:
        print(f"{'room':<26}{'files':>6}{'total':>8}{'code':>8}{'docstrings':>12}")
        for name, lines in [*rooms.items(), ("sum", whole)]:
            print(
                f"{name:<26}{lines.files:>6,}{lines.total:>8,}{lines.code:>8,}"
                f"{lines.docstrings:>12,}"
            )
    if options.budget is not None and whole.code > options.budget:
        print(f"{whole.code:,} lines of code exceed the budget of {options.budget:,}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
