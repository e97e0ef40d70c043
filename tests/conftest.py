"""Shared fixtures. The big data sets are looked for in $COTERIE_DATA; without them tests skip."""

from __future__ import annotations

import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.support import system_randomness

# `make test` tries the same cases on every machine, so that a red run is the change's own doing;
# `make fuzz` tries new ones, and what it finds becomes an @example.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("fuzz", deadline=None)
settings.load_profile(os.environ.get("COTERIE_HYPOTHESIS", "fixed"))


# Words of the reason of a skip -> how to run these tests
_WAYS_TO_RUN = {
    "no browser": "install chromium and chromedriver: apt-get install chromium chromium-driver",
    "selenium": "pip install '.[dev]'",
    "COTERIE_DATA": "set COTERIE_DATA to a folder with the files of `coterie datasets list`",
    "POSIX": "run them on Linux or macOS",
    "on Linux": "run them on Linux",
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which tests were skipped, and how to run them."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")] += 1
    if not reasons:
        return
    terminalreporter.section("skipped tests and how to run them")
    for reason, count in reasons.most_common():
        ways = [way for words, way in _WAYS_TO_RUN.items() if words in reason]
        hint = f" → {ways[0]}" if ways and ways[0] not in reason else ""
        terminalreporter.write_line(f"{count} skipped: {reason}{hint}")
    if any("no browser" in reason for reason in reasons) and shutil.which("chromium"):
        terminalreporter.write_line(
            "chromium is here, chromedriver is not: with it, `pytest tests/report` runs the tests "
            "that need a browser"
        )


# Files that take longest. They are started first, so that no process still has one to do when the
# others are done (`make test`: all tests of a file run in one process, in the order of collection).
_LONG_FILES = (
    "app/test_app_browser.py",
    "app/test_app.py",
    "docs/test_tutorials.py",
    "docs/test_readme.py",
    "docs/test_site.py",
    "anonymize/output/test_public_report.py",
    "anonymize/test_red_team.py",
    "anonymize/private/test_whole_sketch.py",
    "benchmarks/baselines/test_private_benchmark.py",
    "benchmarks/reproduce/test_reproduce.py",
    "models/test_engines.py",
    "models/hard/test_search_checkpoint.py",
    "kernels/numba/test_cache.py",
    "test_wheel.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first."""
    places = {Path(__file__).parent / name: number for number, name in enumerate(_LONG_FILES)}
    missing = [str(path) for path in places if not path.exists()]
    if missing:
        raise pytest.UsageError(f"tests/conftest.py names files that do not exist: {missing}")
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the paper's data sets."""
    folder = os.environ.get("COTERIE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("the paper's data sets are not here: set COTERIE_DATA to their folder")
    return Path(folder)


# --- No test depends on luck (tests/support/system_randomness.py) -----------------------------

_SHARED = ("class", "module", "package", "session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "system_randomness: the test reads the operating system's random bits"
    )
    _start_commands_with_usual_signals()


def _start_commands_with_usual_signals() -> None:
    """Let commands that tests start react to signals, also if this process ignores them.

    `nohup` and the background of a script make a process ignore signals, and what it starts
    inherits that. A handler is not inherited; this process goes on as if it ignored the signal.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    with _randomness_of(item.nodeid, item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[Any]:
    """A fixture that tests share is the same, whichever of them is run first."""
    if fixturedef.scope not in _SHARED:
        return (yield)
    parameter = getattr(request, "param_index", 0)
    with _randomness_of(f"{fixturedef.baseid}::{fixturedef.argname} {parameter}", None):
        return (yield)


def _randomness_of(name: str, item: pytest.Item | None) -> AbstractContextManager[None]:
    always = os.environ.get(system_randomness.VARIABLE) == system_randomness.SYSTEM
    if always or (item is not None and item.get_closest_marker("system_randomness")):
        return nullcontext() if always else system_randomness.system()
    return system_randomness.seeded(name)
