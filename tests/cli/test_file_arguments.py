"""No command replaces its own input."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.support.command_line import coterie

from coterie.base.errors import InputError
from coterie.cli import main
from coterie.cli.file_arguments import check_outputs
from coterie.cli.options import File, Option, option_of

main.register_commands()
SHARED = {"seed": 0, "threads": None, "json_": False, "quiet": False, "debug": False}
EDGES = "1 2\n2 3\n3 1\n"


def commands() -> Iterator[tuple[str, Callable[..., None]]]:
    def of(app: typer.Typer, prefix: str) -> Iterator[tuple[str, Callable[..., None]]]:
        for info in app.registered_commands:
            assert info.callback is not None
            yield f"{prefix}{info.name or info.callback.__name__}", info.callback
        for group in app.registered_groups:
            assert group.typer_instance is not None
            yield from of(group.typer_instance, f"{prefix}{group.name} ")

    return of(main.app, "")


def options(run: Any) -> dict[str, Option]:
    return run.options


def takes_a_file(option: Option) -> bool:
    words = ("FILE", "DIR", "GRAPH", "RATINGS", "SKETCH", "MODEL", "INPUT", "NEW")
    return any(word in str(option.metavar) for word in (*words, "ORIGINAL", "PUBLISHED", "PAIRS"))


def test_the_catalogue_says_of_every_file_whether_it_is_read_or_written() -> None:
    for name, run in commands():
        for parameter, option in options(run).items():
            assert (option.file is not None) == takes_a_file(option), f"{name}: {parameter}"


PAIRS = [
    pytest.param(run, source, output, id=f"{name}: {source} -> {output}")
    for name, run in commands()
    for source, read in options(run).items()
    for output, written in options(run).items()
    if read.file is File.READ and written.file is File.WRITE
]


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "folder"])
@pytest.mark.parametrize(("run", "source", "output"), PAIRS)
def test_an_output_that_is_an_input_is_refused_before_any_work(
    run: Callable[..., None],
    source: str,
    output: str,
    link: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, other = tmp_path / "edges.csv", tmp_path / "other.csv"
    file.write_text(EDGES)
    if link == "same":
        other = tmp_path / "." / "edges.csv"
    elif link == "symbolic":
        other.symlink_to(file)
    elif link == "hard":
        os.link(file, other)
    else:
        (tmp_path / "link").symlink_to(tmp_path)
        other = tmp_path / "link" / "edges.csv"
    with pytest.raises(typer.Exit) as ending:
        run(**SHARED, **{source: str(file), output: other})
    assert ending.value.exit_code == 2
    assert "would replace the input" in capsys.readouterr().err
    assert file.read_text() == EDGES


def test_the_pairs_cover_the_commands_that_read_and_write() -> None:
    seen = {parameter.id.split(":")[0] for parameter in PAIRS if parameter.id}
    assert {"cluster", "soft", "anonymize", "sketch", "shard", "draw", "recommend fit",
            "recommend predict", "recommend evaluate"} <= seen  # fmt: skip


def check(**given: Any) -> None:
    check_outputs(given, {name: option_of("cluster", name) for name in ("out", "report", "graph")})


def test_two_outputs_with_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--report and --out name the same file"):
        check(out=tmp_path / "a", report=tmp_path / "." / "a")
    check(out=tmp_path / "a", report=tmp_path / "b")
    check(out=Path("-"), report=Path("-"))


def test_an_output_inside_a_folder_that_is_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="into the folder that is read"):
        check(graph=str(tmp_path), out=tmp_path / "new.csv")
    check(graph=str(tmp_path / "new"), out=tmp_path / "new.csv")


def test_a_file_redirected_to_standard_input_is_not_replaced(tmp_path: Path) -> None:
    import subprocess

    file = tmp_path / "edges.csv"
    file.write_text(EDGES)
    with file.open() as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "coterie", "cluster", "-", "--blocks", "2", "--out", str(file)],
            stdin=stdin, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "would replace the input" in done.stderr
    assert file.read_text() == EDGES


def test_a_checkpoint_replaces_only_a_checkpoint(tmp_path: Path) -> None:
    graph, other = tmp_path / "g.txt", tmp_path / "notes.txt"
    graph.write_text(EDGES)
    other.write_text("important")
    options = ("--blocks", 2, "--search", "paper", "--checkpoint", other)
    done = coterie("cluster", graph, *options)
    assert done.returncode == 2
    assert "not a checkpoint" in done.stderr
    assert other.read_text() == "important"
