"""`coterie warmup` compiles what later commands need."""

from __future__ import annotations

import pytest
from tests.support.command_line import result_of
from typer.main import get_command

from coterie.cli.main import app, register_commands
from coterie.cli.warmup import Group
from coterie.cli.warmup_runs import DEMO, RUNS, write_inputs

LINES = sorted({line for lines in [*RUNS.values(), *DEMO] for line in lines})


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


def test_groups_are_those_of_the_option():
    assert {group.value for group in Group} == {*RUNS, "all", "demo"}


def test_a_second_warmup_compiles_nothing():
    first = result_of("warmup", "--only", "soft")
    assert first["kernels"] > 8
    again = result_of("warmup", "--only", "soft")
    assert again["compiled"] == 0 and again["kernels"] == first["kernels"]
