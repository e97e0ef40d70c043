"""`coterie warmup` compiles what later commands need."""

from __future__ import annotations

import pytest
from tests.support.command_line import coterie, result_of
from typer.main import get_command

from coterie.cli.main import app, register_commands
from coterie.cli.warmup_runs import GROUPS, write_inputs

LINES = sorted({line for chains in GROUPS.values() for chain in chains for line in chain})


@pytest.mark.parametrize("line", LINES)
def test_every_command_line_of_warmup_is_valid(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    register_commands()
    command = get_command(app)
    words = line.split()
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    assert command.make_context("test", words).params


def test_an_unknown_group_is_refused() -> None:
    done = coterie("warmup", "--only", "clusters")
    assert done.returncode == 2
    assert "use one of all, demo, cluster" in done.stderr


def test_a_second_warmup_compiles_nothing():
    first = result_of("warmup", "--only", "soft")
    assert first["kernels"] > 8
    again = result_of("warmup", "--only", "soft")
    assert again["compiled"] == 0 and again["kernels"] == first["kernels"]
