"""The Python code of the how-to guides runs, and every command on every page exists."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from tools import epsilon_page, format_table
from tools.command_line_reference import (
    PAGE,
    load_application,
    option_names,
    render_page,
    walk,
)
from tools.documentation import DOCS, Block, commands, pages, read_blocks, run_page

import coterie as ct
from coterie.data.demo_data import movie_ratings, social_network
from coterie.data.writers import write_ratings

GUIDES = sorted(page.stem for page in (DOCS / "how-to").glob("*.md") if page.stem != "index")
_INLINE = re.compile(r"`(coterie [^`]+)`")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the guides assume: graphs, ratings of films and of today, and a model."""
    folder = tmp_path_factory.mktemp("guides")
    graph, _ = social_network(n_people=120, rng=0)
    source, target = graph.edges()
    lines = [f"{a} {b}" for a, b in zip(source.tolist(), target.tolist(), strict=True)]
    (folder / "edges.txt").write_text("\n".join(lines) + "\n")
    (folder / "weighted.csv").write_text("source,target,weight\na,b,2\nb,c,0.5\n")
    ratings, _ = movie_ratings(n_users=40, rng=0)
    write_ratings(ratings, folder / "ratings.csv")
    years = [f"{item},{1990 + i}\n" for i, item in enumerate(ratings.item_ids.tolist())]
    (folder / "movies.csv").write_text("movieId,year\n" + "".join(years) + "new-film,2020\n")
    today = f"user,item,rating\nnewcomer,{ratings.item_ids[0]},4\n"
    (folder / "today.csv").write_text(today)
    ct.Recommender(ct.MMSBM(2, max_iter=5)).fit(ratings).save(folder / "films.model")
    return folder


@pytest.mark.filterwarnings("ignore::coterie.AssumptionWarning")
@pytest.mark.parametrize("name", GUIDES)
def test_guide_runs(name: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "how-to" / f"{name}.md"
    monkeypatch.setattr(
        "tools.documentation._run_command", lambda command, **_: ""
    )  # commands are checked below
    monkeypatch.setenv("COTERIE_STATE", str(files / "state"))
    run_page(page, files)


def test_every_command_on_every_page_exists() -> None:
    known = dict(walk(load_application()))
    wrong = []
    for page in pages():
        for command in _coterie_commands(page):
            words = shlex.split(command, comments=True)
            name = " ".join(words[:3] if " ".join(words[:3]) in known else words[:2])
            options = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            if len(words) < 2 or words[1].startswith("-") or not re.match(r"[a-z]", words[1]):
                continue  # `coterie --help`, `coterie COMMAND`
            if name not in known:
                wrong.append(f"{page.name}: {command}: no such command")
            elif not hasattr(known[name], "commands"):
                unknown = options - option_names(known[name])
                wrong += [f"{page.name}: {command}: no option {option}" for option in unknown]
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(find_spec("typer._coercion") is None, reason="made with a newer Typer")
def test_the_tables_about_epsilon_are_those_of_the_plan() -> None:
    page = epsilon_page.PAGE.read_text(encoding="utf-8")
    assert epsilon_page.filled(page) == page, "run tools/epsilon_page.py"


def test_command_line_reference_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(load_application()), (
        "run python tools/command_line_reference.py"
    )


def test_the_tables_of_formats_and_column_names_are_up_to_date() -> None:
    page = format_table.PAGE.read_text(encoding="utf-8")
    assert page.count("| `graphml` |") == page.count("| title of an item |") == 1
    assert page == format_table.filled(page), "run python tools/format_table.py"


def test_every_public_name_is_in_the_reference() -> None:
    text = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    missing = [
        name for name in ct.__all__ if name != "__version__" and f"::: coterie.{name}\n" not in text
    ]
    assert not missing


def _coterie_commands(page: Path) -> list[str]:
    """Commands in code blocks and between backticks."""
    found: list[str] = []
    for block in read_blocks(page):
        if block.language == "console":
            found += [command for command, _ in commands(block)]
        elif block.language in ("sh", "bash", "text", ""):
            lines = block.text.replace("\\\n", " ").splitlines()
            found += [line.strip() for line in lines if line.strip().startswith("coterie ")]
    text = page.read_text(encoding="utf-8")
    found += _INLINE.findall(text)
    found = [re.sub(r"\s*[>|].*", "", command.replace("…", " ")) for command in found]
    return [
        command
        for command in found
        if command.startswith("coterie ") and "[OPTIONS]" not in command
    ]


def test_console_blocks_are_read_command_by_command() -> None:
    text = "$ one \\\n  --two\nout\n\n$ three"
    block = Block("console", text, 1, "")
    assert [tuple(c) for c in commands(block)] == [("one \\\n  --two", "out\n"), ("three", "")]
