"""The documentation stays short enough to be read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from tools.documentation import DOCS, ROOT

# What somebody new reads: the start, three tutorials and ten guides
NEWCOMER = (
    "index",
    "install",
    "tutorials/find-groups",
    "tutorials/recommend",
    "tutorials/publish",
    "how-to/index",
    "how-to/data",
    "how-to/choose-blocks",
    "how-to/read-blocks",
    "how-to/gallery",
    "how-to/notebooks",
    "how-to/coming-from",
    "how-to/rankings",
    "how-to/evaluate",
    "how-to/reports",
    "how-to/start-up",
)


def count(pages: Iterable[Path]) -> int:
    """Count words: what has a letter or a digit, so not the lines of tables."""
    texts = (page.read_text(encoding="utf-8") for page in pages)
    return sum(any(c.isalnum() for c in word) for text in texts for word in text.split())


@pytest.mark.parametrize(
    ("pages", "most"),
    [
        ([ROOT / "README.md", *(DOCS / f"{name}.md" for name in NEWCOMER)], 12_000),
        (DOCS.glob("benchmarks/*.md"), 14_000),
        ([DOCS / "explanation" / "privacy-officer.md"], 700),
        ([ROOT / "README.md", *DOCS.rglob("*.md")], 60_000),
    ],
    ids=["newcomer", "benchmarks", "officer", "all"],
)
def test_the_documentation_has_at_most_so_many_words(pages: Iterable[Path], most: int) -> None:
    found = count(pages)
    assert found <= most, f"{found:,} words; shorten, or delete what is superseded"
