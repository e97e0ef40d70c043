"""The operating system's randomness, replaced by a fixed sequence per test.

Releases and private sketches read `os.urandom`, so that nobody can repeat them. A test that used it
would see another release in every run, and could fail by luck. Here every test, and every fixture
that several tests share, has a sequence of its own that follows from its name. Commands that a test
starts get one too (`seeded_processes/sitecustomize.py`).

`COTERIE_TEST_RANDOMNESS=system` gives the operating system's bits to every test, and the mark
`system_randomness` gives them to one.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "COTERIE_TEST_RANDOMNESS"
SYSTEM = "system"

_SITE = str(Path(__file__).with_name("seeded_processes"))
_system_bytes = os.urandom
_started: Counter[str] = Counter()  # processes per sequence


class SeededBytes:
    """Bytes that follow from a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._source = random.Random(name)

    def __call__(self, count: int) -> bytes:
        """Return the next bytes, in place of `os.urandom`."""
        return self._source.randbytes(count)


def install(source: Callable[[int], bytes]) -> None:
    """Let `os.urandom`, `secrets` and `numpy.random.SeedSequence` read from this source."""
    os.urandom = source
    random._urandom = source  # what `secrets` reads


@contextmanager
def seeded(name: str) -> Iterator[None]:
    """Use the sequence of this name inside, here and in processes that are started."""
    before = os.urandom, {key: os.environ.get(key) for key in (VARIABLE, "PYTHONPATH")}
    install(SeededBytes(name))
    os.environ[VARIABLE] = name
    _started[name] = 0
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([_SITE, *(x for x in path if x not in ("", _SITE))])
    try:
        yield
    finally:
        install(before[0])
        for key, value in before[1].items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


@contextmanager
def system() -> Iterator[None]:
    """Use the operating system's bits inside, here and in processes that are started."""
    before = os.urandom, os.environ.pop(VARIABLE, None)
    install(_system_bytes)
    try:
        yield
    finally:
        install(before[0])
        if before[1] is not None:
            os.environ[VARIABLE] = before[1]


def process_environment() -> dict[str, str]:
    """Return variables for a new process, so that equal commands of one test differ."""
    name = os.environ.get(VARIABLE)
    if not name or name == SYSTEM:
        return {}
    _started[name] += 1
    return {VARIABLE: f"{name} {_started[name]}"}


@contextmanager
def command_randomness(words: Sequence[str]) -> Iterator[None]:
    """Use the sequence inside that a process with these words would use."""
    name = process_environment().get(VARIABLE)
    if name is None:
        yield
        return
    before = os.urandom
    install(SeededBytes(_of_words(name, words)))
    try:
        yield
    finally:
        install(before)


def seed_this_process() -> None:
    """Use the sequence of the test that started this process, and of the command's words."""
    name = os.environ.get(VARIABLE)
    if name and name != SYSTEM:
        install(SeededBytes(_of_words(name, sys.orig_argv[1:])))


def _of_words(name: str, words: Sequence[str]) -> str:
    """Return the name of a command's sequence.

    Words with a slash are left out: names of temporary folders differ from run to run.
    """
    return " ".join((name, *(word for word in words if os.sep not in word)))
