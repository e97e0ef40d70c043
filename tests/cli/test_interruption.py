"""A signal ends a command also while a kernel runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from coterie.engine import LocalEngine

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

# Like a kernel: one call that gives way to other threads and to no signal
SLOW = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 2_000_000_000)"


def _run(code: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.first_line = process.stdout.readline().strip()  # type: ignore[attr-defined]
    return process


def _ended(process: subprocess.Popen[str]) -> str:
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, errors
    return errors


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_has_no_effect_ends_the_process(number: signal.Signals) -> None:
    process = _run(
        "import tempfile; from coterie.cli.interruption import watch_interruptions\n"
        "watch_interruptions(patience=0.3); folder = tempfile.TemporaryDirectory()\n"
        f"print(folder.name, flush=True); {SLOW}"
    )
    folder = Path(process.first_line)  # type: ignore[attr-defined]
    assert folder.is_dir()
    time.sleep(0.2)  # until the slow call has begun
    process.send_signal(number)
    assert "a calculation was abandoned" in _ended(process)
    assert not folder.exists()


@posix
def test_a_second_signal_ends_the_process_at_once() -> None:
    process = _run(
        "from coterie.cli.interruption import watch_interruptions\n"
        "watch_interruptions(patience=1000); print('ready', flush=True)\n"
        f"{SLOW}"
    )
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in _ended(process)


@posix
def test_a_signal_that_was_acted_on_does_not_end_the_process() -> None:
    code = """
import time
from coterie.cli.interruption import watch_interruptions
watch_interruptions(patience=0.2)
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(1)
    print("results written", flush=True)
    raise SystemExit(130)
"""
    process = _run(code)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "results written\n", "")


@posix
def test_the_command_line_does_not_wait_for_busy_threads() -> None:
    code = f"""
import sys
from coterie.cli import main as command_line
from coterie.engine import LocalEngine

def slow(number):
    print("ready", flush=True)
    {SLOW}

def app(**options):
    with LocalEngine(2) as engine:
        engine.map(slow, [1])

command_line.app, command_line.register_commands = app, lambda only: None
command_line.main()
"""
    process = _run(code)
    process.send_signal(signal.SIGINT)
    assert _ended(process) == ""


def test_an_interrupted_engine_does_not_wait_for_its_tasks() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def task(number: int) -> None:
        begun.set()
        may_end.wait(60)

    def interrupted() -> None:
        with LocalEngine(2) as engine:
            assert engine._pool is not None
            engine._pool.submit(task, 1)
            begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not may_end.is_set()
    may_end.set()
