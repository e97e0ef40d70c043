"""What every command shares: options, exit codes, JSON, help."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import typer
from tests.support.command_line import coterie, result_of
from typer.testing import CliRunner

from coterie.base.errors import AssumptionWarning, InputError, PolicyRefusedError
from coterie.cli import main
from coterie.cli.session import Session, command

main.register_commands()


def run(body: Callable[[Session], dict[str, Any]], *arguments: str) -> Any:
    app = typer.Typer()

    @app.command()
    @command
    def probe(session: Session) -> dict[str, Any]:
        return body(session)

    return CliRunner().invoke(app, list(arguments))


def fail_with(error: BaseException) -> Callable[[Session], dict[str, Any]]:
    def body(session: Session) -> dict[str, Any]:
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("no edges", path="g.txt", line=3), 2, "g.txt, line 3: no edges"),
        (PolicyRefusedError(["block 3 has 2 nodes"]), 3, "block 3 has 2 nodes"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "out.csv"), 2, "out.csv: No space left on device"),
        (ZeroDivisionError("division by zero"), 1, "ZeroDivisionError"),
        (MemoryError(), 1, "out of memory"),
    ],
)
def test_errors_become_a_message_and_an_exit_code(
    error: BaseException, code: int, message: str
) -> None:
    result = run(fail_with(error))
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_debug_shows_the_traceback() -> None:
    assert "Traceback" in run(fail_with(ZeroDivisionError("here")), "--debug").stderr


def test_json_is_one_strict_object_on_stdout() -> None:
    def body(session: Session) -> dict[str, Any]:
        session.show("for people [with brackets]")
        session.say("a remark [/with brackets]")
        return {"n": np.int32(3), "bad": float("nan"), "row": np.arange(2)}

    result = run(body, "--json")
    assert json.loads(result.stdout) == {"n": 3, "bad": None, "row": [0, 1]}
    assert "a remark [/with brackets]" in result.stderr
    assert run(body).stdout == "for people [with brackets]\n"


def test_notes_are_printed_once_and_not_with_quiet() -> None:
    def body(session: Session) -> dict[str, Any]:
        session.say("cleaned 3 self-loops")
        session.say("cleaned 3 self-loops")
        return {}

    assert run(body).stderr.count("cleaned") == 1
    assert run(body, "--quiet").stderr == ""


def test_shared_options_reach_the_session() -> None:
    result = run(lambda s: {"seed": s.seed, "threads": s.threads}, "--seed", "7", "--json")
    assert json.loads(result.stdout) == {"seed": 7, "threads": None}
    assert run(lambda s: {}, "--threads", "0").exit_code == 2


def test_interrupted_run_prints_its_result_and_exits_130() -> None:
    def body(session: Session) -> dict[str, Any]:
        session.interrupted = True
        return {"kept": True}

    result = run(body, "--json")
    assert result.exit_code == 130
    assert json.loads(result.stdout) == {"kept": True}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_needs_no_heavy_import(arguments: list[str]) -> None:
    """Imports are what makes `--help` slow, so check them instead of the time."""
    heavy = "{'numpy', 'numba', 'scipy', 'pyarrow', 'matplotlib', 'rich.progress'}"
    code = (
        "import sys, coterie.cli.main as m\n"
        f"sys.argv = ['coterie', *{arguments!r}]\n"
        "try: m.main()\n"
        f"except SystemExit: print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_doctor_finds_no_problems() -> None:
    assert result_of("doctor")["problems"] == []


def test_unused_shared_options_are_accepted_but_not_shown() -> None:
    app = typer.Typer()

    @app.command()
    @command(unused=("seed",))
    def probe(session: Session) -> dict[str, Any]:
        return {"seed": session.seed}

    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert "--seed" not in shown and "--threads" in shown
    assert json.loads(CliRunner().invoke(app, ["--seed", "3", "--json"]).stdout) == {"seed": 3}


def test_remarks_name_options_instead_of_parameters() -> None:
    def body(session: Session) -> dict[str, Any]:
        warnings.warn("column 3 was not read; set `weighted`", AssumptionWarning, stacklevel=1)
        return {}

    assert "set --objective weighted" in run(body).stderr


@pytest.mark.parametrize("group", [[], ["datasets"], ["recommend"]])
def test_summaries_in_the_overview_are_not_cut_off(group: list[str]) -> None:
    commands = CliRunner().invoke(main.app, [*group, "--help"]).stdout.split("Commands:")[1]
    lines = commands.split("\n\n")[0].strip().splitlines()
    assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.parametrize(
    "name",
    [
        *("cluster", "soft", "shard", "demo", "doctor", "datasets"),
        *("datasets list", "datasets path", "datasets get", "anonymize", "attack", "compare"),
        *(
            f"recommend {name}"
            for name in ["fit", "predict", "top", "explain", "similar", "evaluate"]
        ),
    ],
)
def test_help_ends_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(main.app, [*name.split(), "--help"]).stdout
    last = shown.rsplit("\n\n", 1)[1]
    assert last.strip().startswith("Example") and "coterie " in last


@pytest.mark.parametrize(
    ("name", "instead"),
    [("reproduce", "make reproduce"), ("benchmark", "python -m benchmarks.baselines")],
)
def test_a_command_that_moved_says_where(name: str, instead: str) -> None:
    done = coterie(name, "all", "--out", "results")
    assert done.returncode == 2 and instead in done.stderr
