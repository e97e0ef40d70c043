"""What every command shares: options, exit codes, JSON, silence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from coterie.base.errors import InputError, PolicyRefusedError
from coterie.cli.session import Session, command


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
def test_an_error_becomes_a_message_and_an_exit_code(
    error: BaseException, code: int, message: str
) -> None:
    result = run(fail_with(error))
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_debug_shows_the_traceback() -> None:
    assert "Traceback" in run(fail_with(ZeroDivisionError("here")), "--debug").stderr


def test_json_is_one_strict_object_and_nothing_else() -> None:
    def body(session: Session) -> dict[str, Any]:
        session.show("for people")
        session.say("a remark")
        return {"n": np.int32(3), "bad": float("nan"), "row": np.arange(2)}

    result = run(body, "--json")
    assert json.loads(result.stdout) == {"n": 3, "bad": None, "row": [0, 1]}
    assert "a remark" in result.stderr
    assert run(body).stdout == "for people\n"


def test_quiet_says_nothing_and_a_remark_is_said_once() -> None:
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


def test_a_run_that_stopped_early_keeps_its_result_and_exits_130() -> None:
    def body(session: Session) -> dict[str, Any]:
        session.interrupted = True
        return {"kept": True}

    result = run(body, "--json")
    assert result.exit_code == 130
    assert json.loads(result.stdout) == {"kept": True}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_needs_no_heavy_import(arguments: list[str]) -> None:
    """What makes `--help` slow is importing; so look at what was imported, not at a clock."""
    heavy = "{'numpy', 'numba', 'scipy', 'pyarrow', 'matplotlib', 'rich.progress'}"
    code = (
        "import sys, coterie.cli.main as m\n"
        f"sys.argv = ['coterie', *{arguments!r}]\n"
        "try: m.main()\n"
        f"except SystemExit: print(sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_python_dash_m_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "coterie", "doctor", "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"] == []
