"""The commands and the Python code of README.md run and agree."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.documentation import ROOT, commands, read_blocks, run_page

import coterie as ct
from benchmarks import tables
from coterie.data.demo_data import movie_ratings, social_network

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder in which README.md was run, and the names that its Python code left."""
    folder = tmp_path_factory.mktemp("readme")
    graph, _ = social_network(rng=0)
    ct.write_graph(graph, folder / "people.csv")
    edges = ct.read_graph(folder / "people.csv")
    source, target = edges.edges()
    lines = [f"{a} {b}" for a, b in zip(source.tolist(), target.tolist(), strict=True)]
    (folder / "edges.txt").write_text("\n".join(lines) + "\n")
    ratings, _ = movie_ratings(n_users=25, rng=0)
    rows = zip(ratings.users.tolist(), ratings.items.tolist(), ratings.ratings, strict=True)
    text = "".join(f"{user + 20},{item},{value:g}\n" for user, item, value in rows)
    (folder / "ratings.csv").write_text("user,item,rating\n" + text)
    (folder / "pairs.csv").write_text("user,item\n42,50\n42,18\n")
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.setenv("COTERIE_STATE", str(folder / "state"))
        context.setattr("tools.documentation.read_blocks", _without_make)
        names, _ = run_page(README, folder)
    return folder, names


def _without_make(page: Path) -> list[Any]:
    return [block for block in read_blocks(page) if "make demo" not in block.text]


def test_make_targets_exist() -> None:
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text().splitlines()}
    block = next(block for block in read_blocks(README) if "make demo" in block.text)
    assert {command.split()[1] for command, _ in commands(block)} <= targets


def test_command_and_python_find_the_same_blocks(run: tuple[Path, dict[str, Any]]) -> None:
    folder, names = run
    with (folder / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    by_command: dict[str, set[int]] = {}
    for row in rows:
        by_command.setdefault(row["block"], set()).add(int(row["node"]))
    assert sorted(map(sorted, by_command.values())) == sorted(map(sorted, names["groups"]))


def test_command_and_python_predict_the_same_ratings(run: tuple[Path, dict[str, Any]]) -> None:
    folder, names = run
    with (folder / "predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_array_equal([float(row["rating"]) for row in rows], names["predicted"])
    assert len(names["best_items"]) == 10


def test_command_and_python_release_with_the_same_settings(
    run: tuple[Path, dict[str, Any]],
) -> None:
    folder, names = run
    private = folder / "state" / "private" / "friends"
    by_command = json.loads((private / "release" / "audit.json").read_text())
    by_python = json.loads((private / "release-2" / "audit.json").read_text())
    assert not names["release"].refused
    for key in ("parameters", "input_sha256", "blocks", "model"):
        assert by_command[key] == by_python[key]


def test_privacy_is_claimed_exactly() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    assert "This model does not provide differential privacy." in text
    assert "publish a *private sketch* instead" in text and "`coterie sketch`" in text


def test_figures_about_releases_are_those_of_the_table() -> None:
    table = tables.render("releases", tables.read_results(tables.RESULTS))
    text = " ".join(README.read_text(encoding="utf-8").split())
    for figure, recorded in (
        ("astro-ph (18,772 people)", "astro-ph, 18,772 people"),
        ("at most 1 other person right per release", "at most 1 in each release"),
        ("(10,918 in a copy without names)", "10,918 in a copy without names"),
        ("21.2 right on average", "21.2 right on average"),
        ("luck explains 21.7", "21.7 expected"),
        ("(13,612 in a copy without names)", "13,612 in a copy without names"),
    ):
        assert figure in text
        assert recorded in table.splitlines()[2]
