"""Options of every command that reads: columns by name, header, --dry-run, the recognised line."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from tests.cli.test_file_arguments import commands
from typer.testing import CliRunner

from coterie.cli import main

main.register_commands()
READING = [name for name, run in commands() if "separator" in inspect.signature(run).parameters]


def invoke(*words: object) -> object:
    return CliRunner().invoke(main.app, [str(word) for word in words])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    edges = tmp_path / "edges.csv"
    edges.write_text("Person A;Person B;since\nAnn;Bob;1999\nBob;Cy;2001\n")
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("leser;buch;note;split\na;x;4,5;train\nb;x;3,0;test\n")
    return {"edges": edges, "ratings": ratings, "new": tmp_path / "new"}


def test_every_command_with_a_separator_has_a_dry_run() -> None:
    for name, run in commands():
        names = set(inspect.signature(run).parameters)
        assert ("dry_run" in names) == ("separator" in names), name
        if "separator" in names:
            assert "header" in names, name


def arguments(name: str, files: dict[str, Path]) -> list[object]:
    edges, ratings, new = files["edges"], files["ratings"], files["new"]
    return {
        "cluster": [edges, "--blocks", 2, "--out", new],
        "soft": [edges, "--groups", 2, "--out", new],
        "anonymize": [edges, "--out", new],
        "sketch": [edges, "--out", new],
        "shard": [edges, "--out", new],
        "compare": [edges, edges],
        "attack": [edges, edges, "--truth", ratings],
        "recommend fit": [ratings, "--out", new],
        "recommend evaluate": [ratings],
        "recommend compare": [ratings, "--models", "popularity,ials"],
        "recommend predict": [new, ratings],
        "recommend update": [new, ratings, "--out", files["edges"].with_name("newer")],
        "recommend top": [new, "--ratings", ratings],
    }[name]


@pytest.mark.parametrize("name", READING)
def test_dry_run_shows_the_first_rows_and_writes_nothing(name: str, files: dict[str, Path]) -> None:
    if name == "recommend top":
        files["ratings"].write_text("item,rating\nx,4\n")
    result = invoke(*name.split(), *arguments(name, files), "--dry-run")
    assert result.exit_code == 0, result.output  # type: ignore[attr-defined]
    shown = result.stdout  # type: ignore[attr-defined]
    if files["edges"] in arguments(name, files):
        assert "source = 'Person A'" in shown and "Ann" in shown and "3 nodes" in shown
    else:
        assert "x" in shown
    assert not files["new"].exists()


def test_columns_are_chosen_on_the_command_line(files: dict[str, Path]) -> None:
    words = ["cluster", files["edges"], "--blocks", 2, "--dry-run", "--json"]
    chosen = ["--source", "person b", "--target", "since"]
    found = json.loads(invoke(*words, *chosen).stdout)["inputs"][0]  # type: ignore[attr-defined]
    assert found["columns"] == {"source": "'Person B'", "target": "'since'"}
    assert found["first_rows"][0] == {"source": "Bob", "target": "1999"}
    wrong = invoke(*words, "--user", "since")
    assert wrong.exit_code == 2  # type: ignore[attr-defined]
    assert "--user applies to ratings" in wrong.stderr  # type: ignore[attr-defined]
    ratings = ["recommend", "fit", files["ratings"], "--out", files["new"], "--dry-run", "--json"]
    names = ["--user", "leser", "--item", "buch", "--rating", "note"]
    found = json.loads(invoke(*ratings, *names).stdout)["inputs"][0]  # type: ignore[attr-defined]
    assert found["first_rows"] == [
        {"user": "a", "item": "x", "rating": "4,5"},
        {"user": "b", "item": "x", "rating": "3,0"},
    ]


def test_shards_accept_columns_by_name(files: dict[str, Path]) -> None:
    from coterie.engine.sharded_data import open_shards

    words = ["shard", files["edges"], "--out", files["new"]]
    done = invoke(*words, "--source", "Person A", "--target", "Person B")
    assert done.exit_code == 0, done.output  # type: ignore[attr-defined]
    assert sorted(open_shards(files["new"]).ids) == ["Ann", "Bob", "Cy"]  # type: ignore[union-attr]


def test_what_was_recognised_is_said_once_and_not_with_quiet(files: dict[str, Path]) -> None:
    words = ["cluster", files["edges"], "--blocks", 2]
    said = invoke(*words).stderr  # type: ignore[attr-defined]
    assert said.count("text (semicolon); header; source = 'Person A'") == 1
    assert "semicolon" not in invoke(*words, "--quiet").stderr  # type: ignore[attr-defined]


def test_a_data_set_is_found_by_its_name() -> None:
    result = invoke("cluster", "karate", "--blocks", 2, "--dry-run")
    assert "34 nodes and 78 edges" in result.stdout  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["cluster", "edges"], "--blocks"),
        (["soft", "edges"], "--groups"),
        (["anonymize", "edges"], "--out"),
        (["shard", "edges"], "--out"),
        (["recommend", "fit", "ratings"], "--out"),
    ],
)
def test_a_dry_run_needs_only_the_input(words, option, files) -> None:
    words = [files.get(word, word) for word in words]
    assert invoke(*words, "--dry-run").exit_code == 0
    missing = invoke(*words)
    assert missing.exit_code == 2 and f"{option} is required: " in missing.stderr
    text = " ".join(invoke(*words[:-1], "--help").stdout.split())
    assert "[required]" in text


def test_a_first_line_that_looks_like_a_header_is_questioned(tmp_path) -> None:
    path = tmp_path / "people.csv"
    edges = [f"p{i},p{(i + 1) % 25}" for i in range(25)]
    path.write_text("\n".join(["Person,Colleague", *edges]) + "\n")
    doubt = "'Person' and 'Colleague' were read as two nodes, but appear nowhere else"
    assert doubt in invoke("cluster", path, "--dry-run").stderr
    assert invoke("cluster", path, "--dry-run", "--quiet").stderr == ""
    assert (
        "set --header if they are names of columns" in invoke("cluster", path, "--dry-run").stderr
    )
    for option in ("--header", "--no-header"):
        assert "nowhere else" not in invoke("cluster", path, "--dry-run", option).stderr
    path.write_text("\n".join(["p3,p9", *edges]) + "\n")
    assert "nowhere else" not in invoke("cluster", path, "--dry-run").stderr
