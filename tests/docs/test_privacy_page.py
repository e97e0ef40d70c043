"""Every statement of the privacy page has a test, and every test that the page names exists."""

from __future__ import annotations

import re

import pytest
from tools.documentation import DOCS, ROOT

PAGE = DOCS / "explanation" / "privacy-details.md"
_LINK = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_NAME = re.compile(r"`(test_\w+)`")


def _statements() -> list[tuple[str, str]]:
    """Return the rows of the table of statements."""
    table = PAGE.read_text(encoding="utf-8").split("| statement | test |\n|---|---|\n")[1]
    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return [(statement.strip(), tests) for statement, tests in rows]


def test_the_table_has_a_row_for_every_kind_of_statement() -> None:
    text = " ".join(statement for statement, _ in _statements())
    for subject in (
        "class", "report", "folder", "ledger", "dataset", "exact degrees", "near-clique", "cell",
        "largest degree", "Communities", "weaker policy", "overwritten",
    ):  # fmt: skip
        assert subject in text, subject


@pytest.mark.parametrize(("statement", "tests"), _statements(), ids=lambda text: text[:50])
def test_every_statement_names_tests_that_exist(statement: str, tests: str) -> None:
    named = _LINK.findall(tests)
    assert named, statement
    for file, name in named:
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file}::{name}"


def test_no_text_promises_more_than_the_theorem() -> None:
    """The bound is about one edge given all others; it is none for correlated beliefs."""
    wrong = re.compile(
        r"(?i)whatever (else )?(they|anybody|an attacker) (know|believe)s?|every attacker,"
    )
    texts = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.j2"), *DOCS.rglob("*.md")]
    for path in [*texts, ROOT / "README.md"]:
        text = " ".join(path.read_text(encoding="utf-8").split())
        assert not wrong.search(text), path


def test_tests_that_the_text_names_exist() -> None:
    everything = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("*.py"))
    for name in _NAME.findall(PAGE.read_text(encoding="utf-8")):
        assert f"def {name}(" in everything, name
