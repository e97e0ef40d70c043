"""Write what a benchmark measured, and under which conditions, to benchmarks/results/NAME.json.

A file has one section per table. Running a script again replaces the sections that it measured
and leaves the others, so each section carries its own date, command, versions and machine.
`benchmarks/tables.py` turns the sections into the tables of README.md and docs/.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from coterie.base.json_values import json_value
from coterie.base.machine import available_cores, physical_memory, processor_name

RESULTS = Path(__file__).resolve().parent / "results"
_ALWAYS = ("coterie", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class Section:
    """One table of figures with the conditions it was measured under."""

    title: str
    data: str
    asked: str  # what coterie and each peer were asked to do
    threads: str
    rows: list[dict[str, Any]]
    command: str
    date: str
    source: str
    quiet: bool  # nothing else ran on the machine
    commit: str
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    remarks: str = ""


class Recorder:
    """The results file of one script.

    Parameters
    ----------
    name : str
        Name of the file without its suffix.
    given : argparse.Namespace
        The parsed command line, with the options of `add_options`.
    peers : sequence of str
        Distribution names of the libraries that coterie is compared with.
    """

    def __init__(self, name: str, given: argparse.Namespace, peers: Sequence[str] = ()) -> None:
        self.path = Path(given.results) / f"{name}.json"
        self._quiet = bool(given.quiet_machine)
        self._peers = tuple(peers)
        self._command = command_line()

    def add(
        self,
        section: str,
        rows: Iterable[Mapping[str, Any]],
        *,
        title: str,
        data: str,
        asked: str,
        threads: str,
        versions: Mapping[str, str] | None = None,
        remarks: str = "",
    ) -> None:
        """Replace one section of the file; called after each part, so a stopped run is kept."""
        measured = Section(
            title=title,
            data=data,
            asked=asked,
            threads=threads,
            rows=[json_value(dict(row)) for row in rows],
            command=self._command,
            date=datetime.now(UTC).date().isoformat(),
            source="measured by this command",
            quiet=self._quiet,
            commit=commit(),
            machine=machine(),
            versions=installed([*_ALWAYS, *self._peers]) | dict(versions or {}),
            remarks=remarks,
        )
        write_section(self.path, section, measured)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that every benchmark has."""
    parser.add_argument(
        "--quiet-machine",
        action="store_true",
        help="record that nothing else ran on the machine (default: recorded as shared)",
    )
    parser.add_argument(
        "--results",
        default=RESULTS,
        metavar="DIR",
        help="where NAME.json is written (default: benchmarks/results)",
    )


def show(row: Mapping[str, Any]) -> None:
    """Print one row while the benchmark runs."""
    cells = (f"{k}={v:,.4f}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
    print("  ".join(cells), flush=True)


def peak_gigabytes() -> float:
    """Return the peak memory of this process, from /proc: getrusage includes the parent's."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 2**20
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def write_section(path: Path, name: str, section: Section) -> None:
    """Add or replace one section of a results file."""
    sections = read_sections(path)
    sections[name] = asdict(section)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"sections": sections}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_sections(path: Path) -> dict[str, dict[str, Any]]:
    """Return the sections of a results file; none if the file does not exist."""
    if not path.exists():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["sections"]
    return found


def command_line() -> str:
    """Return the command as a person would type it, without the options of this module."""
    words = [Path(sys.argv[0]).name]
    rest = iter(sys.argv[1:])
    for word in rest:
        if word == "--results":
            next(rest, None)
        elif word != "--quiet-machine" and not word.startswith("--results="):
            words.append(word)
    return "python benchmarks/" + shlex.join(words)


def commit() -> str:
    """Return the short git commit, with "+changes" if the tree differs from it."""
    here = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=here, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    head = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src")
    return (head or "unknown") + ("+changes" if changed else "")


def machine() -> dict[str, Any]:
    """Return processor, cores, memory, operating system and Python version."""
    return {
        "cpu": processor_name(),
        "cores": available_cores(),
        "memory_gb": round(physical_memory() / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def installed(names: Iterable[str]) -> dict[str, str]:
    """Return the version of each distribution that is installed; others are "not installed"."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
