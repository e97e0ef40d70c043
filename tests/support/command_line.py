"""The command line as a user calls it, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.system_randomness import process_environment

COMMAND = (sys.executable, "-m", "coterie")
_TIMEOUT = 240.0  # seconds; kernels may have to be compiled first


def coterie(
    *arguments: object,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    program: Sequence[str] = COMMAND,
) -> subprocess.CompletedProcess[str]:
    """Run a command of `program` to its end; `environment` is added to this process's own."""
    return subprocess.run(
        [*program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
        cwd=folder,
        input=stdin,
        env={**os.environ, **process_environment(), **(environment or {})},
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
