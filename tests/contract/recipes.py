"""The recipes of CONTRIBUTING.md, taken apart: the tests do what each of them says."""

from __future__ import annotations

import re
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
MOST_LINES = 50  # one screen


class Recipe(NamedTuple):
    """One recipe: its text, its blocks of Python, and the source files that it names."""

    text: str
    code: list[str]
    files: list[str]


def recipe(title: str) -> Recipe:
    """Return the recipe with this heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"### {title}\n")[1]
    text = re.split(r"\n##+ ", text)[0]
    blocks = re.findall(r"( *)```python\n(.*?)\n *```", text, re.S)
    code = [re.sub(rf"^{indent}", "", block, flags=re.M) for indent, block in blocks]
    return Recipe(text, code, sorted(set(re.findall(r"`(src/coterie/[\w/]+\.py)`", text))))


def module_of(code: str, name: str, folder: Path) -> ModuleType:
    """Write code into a file of a temporary package and import it."""
    file = folder / f"{name}.py"
    file.write_text(code, encoding="utf-8")
    spec = util.spec_from_file_location(f"recipes_{name}", file)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
