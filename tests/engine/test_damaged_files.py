"""Damaged files are refused or usable: a small part of what `make fuzz` tries."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.fuzz_files import Subject, fuzz, subjects

PER_KIND = 12


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> list[Subject]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(tmp_path_factory.mktemp("state")))
        return list(subjects(Path(tmp_path_factory.mktemp("files"))))


def test_damaged_files_are_refused_or_usable(kinds: list[Subject]) -> None:
    wrong: list[str] = []
    for subject in kinds:
        subject.use()  # the file itself is valid

        def report(number: int, error: BaseException, name: str = subject.name) -> None:
            wrong.append(f"{name} {number}: {error!r}")

        found = fuzz(subject, PER_KIND, 1, report)
        assert found.refused > 0, f"{subject.name}: no damage was noticed"
    assert not wrong
    names = {subject.name.split()[0] for subject in kinds}
    assert names == {"model", "checkpoint", "shard", "manifest", "sketch"}
