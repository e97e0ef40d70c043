"""The command line as a user calls it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.support.system_randomness import command_randomness, process_environment

from coterie.cli.main import app, register_commands

COMMAND = (sys.executable, "-m", "coterie")
_HERE = {
    "anonymize",
    "attack",
    "cluster",
    "compare",
    "datasets",
    "draw",
    "ledger",
    "recommend",
    "shard",
    "sketch",
    "soft",
}  # fmt: skip  the others change or describe their process
_TIMEOUT = 240.0  # seconds; kernels may have to be compiled first


def coterie(
    *arguments: object,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    program: Sequence[str] = COMMAND,
) -> subprocess.CompletedProcess[str]:
    """Run a command of `program` to its end; `environment` is added to this process's own.

    The commands of coterie run in this process, which saves a second each for loading the package,
    unless they need another one: for their standard input, or beside others.
    """
    words = [*map(str, arguments)]
    own_process = stdin is not None or program is not COMMAND
    beside_others = threading.current_thread() is not threading.main_thread()
    if words[:1] and words[0] in _HERE and not (own_process or beside_others):
        with mock.patch.dict(os.environ, environment or {}):
            return _run_here(words, folder)
    return subprocess.run(
        [*program, *words],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
        cwd=folder,
        input=stdin,
        env={**os.environ, **process_environment(), **(environment or {})},
    )


def _run_here(words: list[str], folder: Path | None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, with the random bits that its own process would have."""
    register_commands()
    output, errors = io.StringIO(), io.StringIO()
    with (
        command_randomness(["-m", "coterie", *words]),
        contextlib.chdir(folder or "."),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
        pytest.raises(SystemExit) as end,
    ):
        app(words, prog_name="coterie")
    return subprocess.CompletedProcess(
        words, end.value.code or 0, output.getvalue(), errors.getvalue()
    )


def result_of(*arguments: object, **options: Any) -> dict[str, Any]:
    """Run a command with --json and return its object; the exit code must be 0."""
    done = coterie(*arguments, "--json", **options)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def started(*arguments: object) -> subprocess.Popen[str]:
    """Start a command and return at once."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **process_environment()},
    )


def wait_for_file(path: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the process has written a file, such as its first checkpoint."""
    deadline = time.monotonic() + _TIMEOUT
    while not path.exists():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.002)
