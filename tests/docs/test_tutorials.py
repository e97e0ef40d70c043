"""The tutorials run, and show what their code prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.documentation import DOCS, MismatchError, check_page

from coterie.kernels.numba.cache import SUFFIX, cache_folder

TUTORIALS = sorted(page.stem for page in (DOCS / "tutorials").glob("*.md") if page.stem != "index")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases are counted in a folder of the test, not in the user's."""
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of compiled kernels that only this test uses; it starts with all there are."""
    own = tmp_path / "kernels" / "coterie"
    own.mkdir(parents=True)
    for file in (cache_folder() or own).glob(f"*{SUFFIX}"):
        os.symlink(file, own / file.name)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(own.parent))
    return own


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_shows_what_its_code_prints(name: str, tmp_path: Path, kernels: Path) -> None:
    """And whatever its commands compile is there when they run again."""
    page = DOCS / "tutorials" / f"{name}.md"
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        before = len(list(kernels.iterdir()))
        check_page(page, folder)
        compiled = len(list(kernels.iterdir())) - before
        if not compiled:
            return
    pytest.fail(f"{compiled} kernels were compiled again")


def test_a_wrong_output_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(6 * 7)\n```\n\n```text\n41\n```\n")
    with pytest.raises(MismatchError, match="line 6"):
        check_page(page, tmp_path)
    page.write_text("```python\nprint(6 * 7)\n```\n\n```text\n4…\n```\n")
    check_page(page, tmp_path)


def test_a_failing_command_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ false\n```\n")
    with pytest.raises(MismatchError, match="exit code 1"):
        check_page(page, tmp_path)


def test_numbers_may_vary_only_where_the_page_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    block = "```console\n$ echo found 17 people\nfound 3 people\n```\n"
    page.write_text(block)
    with pytest.raises(MismatchError):
        check_page(page, tmp_path)
    page.write_text("<!-- numbers vary -->\n" + block)
    check_page(page, tmp_path)
    page.write_text("<!-- numbers vary -->\n" + block.replace("people\n```", "cats\n```"))
    with pytest.raises(MismatchError):
        check_page(page, tmp_path)
