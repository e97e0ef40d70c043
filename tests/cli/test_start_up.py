"""What a command loads, and sets, before it works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import coterie

_FILES = Path(coterie.__file__).parent / "data" / "files"


def test_idle_threads_of_blas_sleep() -> None:
    shown = "print(os.environ['OPENBLAS_THREAD_TIMEOUT'], 'numpy' in sys.modules)"
    assert _after_command("--version", shown).splitlines()[-1] == "4 False"


def test_a_chosen_waiting_time_of_blas_stays() -> None:
    shown = "print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    found = _after_command("--version", shown, OPENBLAS_THREAD_TIMEOUT="20")
    assert found.splitlines()[-1] == "20"


def _after_command(line: str, code: str, **environment: str) -> str:
    """Return what `code` prints when a command has ended in the same process."""
    script = (
        f"import os, sys; sys.argv = ['coterie', *{line.split()!r}]\n"
        "from coterie.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"{code}\n"
    )
    kept = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=_FILES,
        env={**kept, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
