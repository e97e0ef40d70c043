"""Lines of progress in a log file."""

from __future__ import annotations

import time

import pytest

from coterie.base.progress import Progress
from coterie.cli import plain_progress
from coterie.cli.plain_progress import PlainProgress


def test_a_long_step_is_repeated_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_progress, "_LOOK", 0.01)
    monkeypatch.setattr(plain_progress, "FIRST", 0.02)
    monkeypatch.setattr(plain_progress, "LONGEST", 0.02)
    lines: list[str] = []
    with PlainProgress("anonymize", lines.append) as report:
        report(Progress("drawing", 0, 1))
        while len(lines) < 3:
            time.sleep(0.01)
    count = len(lines)
    time.sleep(0.1)
    assert len(lines) == count
    assert all(line.startswith("anonymize: drawing, 0 of 1 (") for line in lines)


def test_nothing_is_written_before_a_stage_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_progress, "_LOOK", 0.01)
    monkeypatch.setattr(plain_progress, "FIRST", 0.0)
    lines: list[str] = []
    with PlainProgress("fit", lines.append):
        time.sleep(0.1)
    assert lines == []
