"""Model files of a small table, and servers in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.browser import browser
from tests.support.small_models import model_of, two_tastes

import coterie as ct

__all__ = ["browser"]

FAMILIES = ("best", "mmsbm", "hard")


@pytest.fixture(scope="session")
def model_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saved recommenders by family; tests must not change them."""
    folder = tmp_path_factory.mktemp("models")
    files = {}
    for name in FAMILIES:
        files[name] = folder / f"{name}.model"
        ct.Recommender(model_of(name)).fit(two_tastes()).save(files[name])
    return files


class Running:
    """A `coterie` command that runs until it is stopped, and the address that it printed."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "coterie", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self.lines: list[str] = []
        self.address = ""
        while line := self.process.stderr.readline():
            self.lines.append(line)
            if found := re.search(r"http://\S+", line):
                self.address = found[0]
                break
        # Nobody else reads what it prints; a full pipe would stop it.
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stderr:
            self.lines.append(line)

    @property
    def printed(self) -> str:
        return "".join(self.lines)

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            code = self.process.wait(timeout=60)
        finally:
            self.process.kill()
        self._reader.join(timeout=10)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start commands that are stopped when the test ends."""
    running: list[Running] = []

    def begin(*arguments: str, **variables: str) -> Running:
        variables.setdefault("COTERIE_STATE", str(tmp_path / "state"))
        running.append(Running(*arguments, **variables))
        return running[-1]

    yield begin
    for one in running:
        one.stop()
