"""The recipe "Add an input format", executed in a copy of the package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.recipes import MOST_LINES, recipe
from tools.build_wheel import writable_copy

import coterie

RECIPE = recipe("Add an input format")
SOURCE = Path(coterie.__file__).parent
LIST = "data/formats/__init__.py"


def test_it_is_short_and_touches_three_files() -> None:
    assert len(RECIPE.text.splitlines()) <= MOST_LINES
    assert len(RECIPE.files) + RECIPE.text.count("`tests/") <= 3
    assert f"src/coterie/{LIST}" in RECIPE.files


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return the folder of a copy of the package in which the recipe was followed."""
    copy = writable_copy(SOURCE, tmp_path / "src" / "coterie", "__pycache__")
    (new,) = (file for file in RECIPE.files if not file.endswith(LIST))
    (tmp_path / new).write_text(RECIPE.code[0], encoding="utf-8")
    name = Path(new).stem
    entries = (copy / LIST).read_text(encoding="utf-8")
    for place in ("    pajek,\n", "    pajek.FORMAT,\n"):
        assert entries.count(place) == 1
        entries = entries.replace(place, place + place.replace("pajek", name))
    (copy / LIST).write_text(entries, encoding="utf-8")
    return copy.parent


def run(package: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=package,
        env=os.environ | {"PYTHONPATH": str(package)},
    )
    return done.stdout


def test_the_new_format_is_read_listed_and_checked(package: Path) -> None:
    good, bad = package / "friends.lgl", package / "bad.lgl"
    good.write_text("# ann\nbob\ncat\n# bob\ncat\n# dan\n")
    bad.write_text("ann\n# bob\n")
    code = f"""
import coterie as ct
from coterie.data.formats import FORMATS, listed
graph = ct.read_graph({str(good)!r})
print(graph, graph.ids.tolist(), ct.read_graph({str(good)!r}, format="lgl").n_edges)
print("LGL" in listed(FORMATS), ct.__file__.startswith({str(package)!r}))
try:
    ct.read_graph({str(bad)!r})
except ct.InputError as error:
    print(error)
"""
    assert run(package, code).splitlines() == [
        "Graph(4 nodes, 3 edges) ['ann', 'bob', 'cat', 'dan'] 3",
        "True True",
        f"{bad}, line 1: a neighbour of no node; begin with # NODE",
    ]


def test_the_table_in_the_documentation_gets_a_row(package: Path) -> None:
    tool = Path(__file__).parents[2] / "tools" / "format_table.py"
    code = f"""
import runpy
tool = runpy.run_path({str(tool)!r})
print(tool["table"](tool["FORMATS"]))
"""
    row = "| LGL | `lgl` | `.lgl` | nodes and their neighbours | no | no |"
    assert row in run(package, code).splitlines()
