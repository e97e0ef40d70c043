"""The walks of docs/explanation/architecture.md name files and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
SOURCES = sorted((ROOT / "src" / "coterie").rglob("*.py"))
STEPS = sorted(set(re.findall(r"`([\w/]+\.py)`\s+`([A-Za-z_][\w.]*)", PAGE)))


def test_the_walks_have_steps() -> None:
    assert len(STEPS) > 25


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w/]+\.py)`", PAGE))))
def test_named_file_exists(name: str) -> None:
    assert _files(name), name


@pytest.mark.parametrize(("file", "function"), STEPS)
def test_named_function_is_in_the_named_file(file: str, function: str) -> None:
    last = function.split(".")[-1]
    defined = re.compile(rf"^\s*(?:def|class) {last}\b", re.MULTILINE)
    assert any(defined.search(path.read_text(encoding="utf-8")) for path in _files(file))


def _files(name: str) -> list[Path]:
    return [
        path
        for path in [*SOURCES, ROOT / "benchmarks" / "tables.py", ROOT / "tests" / "reference.py"]
        if path.as_posix().endswith(f"/{name}")
    ]
