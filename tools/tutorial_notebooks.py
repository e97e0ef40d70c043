"""Write the tutorials as Jupyter notebooks, and check that they are current.

    python tools/tutorial_notebooks.py            # writes docs/notebooks/*.ipynb
    python tools/tutorial_notebooks.py --check    # exit code 1 if one is not current

Text becomes Markdown cells, Python blocks become code cells, and shell blocks become code cells
with `!`. Outputs are left out: running the notebook makes them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
TUTORIALS, NOTEBOOKS = ROOT / "docs" / "tutorials", ROOT / "docs" / "notebooks"
_FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```[ \t]*\n", re.MULTILINE | re.DOTALL)


def cells(page: str) -> list[dict[str, Any]]:
    """Return the cells of a tutorial."""
    found: list[dict[str, Any]] = []
    place = 0
    for match in _FENCE.finditer(page):
        _add_text(found, page[place : match.start()])
        place = match.end()
        language, text = match[1], match[2]
        if language == "python":
            _add(found, "code", text)
        elif language == "console":
            _add(found, "code", shell_cell(text))
    _add_text(found, page[place:])
    return [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(found)]


def shell_cell(text: str) -> str:
    """Return the commands of a console block, without their output.

    >>> shell_cell("$ coterie demo\\n nodes 3\\n$ head -n 2 x.csv\\na\\n")
    '!coterie demo\\n!head -n 2 x.csv\\n'
    """
    lines, continues = [], False
    for line in text.splitlines():
        if line.startswith("$ "):
            lines.append("!" + line[2:])
        elif continues:
            lines.append(line)
        else:
            continue
        continues = line.rstrip().endswith("\\")
    return "".join(f"{line}\n" for line in lines)


def _add_text(found: list[dict[str, Any]], text: str) -> None:
    """Add Markdown; links and pictures lead from the folder of the notebooks."""
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\((?!\.\./|https?:|#|/)", "](../tutorials/", text)
    _add(found, "markdown", text)


def _add(found: list[dict[str, Any]], kind: str, text: str) -> None:
    source = text.strip("\n").splitlines(keepends=True)
    if not source:
        return
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    found.append(cell)


def notebook(page: str) -> str:
    """Return a tutorial as a notebook in format 4.5."""
    content = {
        "cells": cells(page),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def wanted() -> dict[Path, str]:
    """Return the content of every notebook by its path."""
    pages = sorted(path for path in TUTORIALS.glob("*.md") if path.stem != "index")
    return {NOTEBOOKS / f"{page.stem}.ipynb": notebook(page.read_text("utf-8")) for page in pages}


def main() -> None:
    """Write the notebooks, or check them."""
    outdated = []
    for path, content in wanted().items():
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != content:
            outdated.append(str(path.relative_to(ROOT)))
    if outdated:
        sys.exit(f"not current: {', '.join(outdated)}; run python tools/tutorial_notebooks.py")


if __name__ == "__main__":
    main()
