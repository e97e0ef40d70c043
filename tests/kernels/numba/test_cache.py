"""Compiled kernels on disk: damaged files, folders without permission, several processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Prints how many versions came from the disk, how many were compiled, and a sum that must be right
_CODE = """
import numpy as np
from coterie.kernels.numba.cache import watch_compilations
from coterie.kernels.numba.random import uniform_block
compiled = []
with watch_compilations(compiled.append):
    total = uniform_block(np.uint64(1), 8).sum()
print(sum(uniform_block.stats.cache_hits.values()), len(compiled), total)
"""
_COMPILED, _LOADED = ["0", "1"], ["1", "0"]


def _start(folder: Path, before: str = "") -> subprocess.Popen[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "COTERIE_PREBUILT": "off"}
    return subprocess.Popen(
        [sys.executable, "-c", before + _CODE], env=environment, stdout=subprocess.PIPE, text=True
    )


def _use(folder: Path, before: str = "") -> tuple[list[str], str]:
    """Call a kernel in a new process; return [loaded, compiled] and its result."""
    process = _start(folder, before)
    words = process.communicate()[0].split()
    assert process.returncode == 0
    return words[:2], words[2]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with one kernel, made by two processes at the same time."""
    folder = tmp_path_factory.mktemp("cache")
    both = [_start(folder) for _ in range(2)]
    results = {process.communicate()[0].split()[2] for process in both}
    assert len(results) == 1
    return folder


def test_two_processes_leave_one_whole_file(filled: Path) -> None:
    files = list((filled / "coterie").iterdir())
    assert [file.suffix for file in files] == [".nbc"]
    assert _use(filled)[0] == _LOADED


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_file_is_compiled_again(filled: Path, tmp_path: Path, damage: str) -> None:
    (source,) = (filled / "coterie").iterdir()
    content = source.read_bytes()
    place = tmp_path / "coterie" / source.name
    place.parent.mkdir()
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    place.write_bytes({"cut": content[:middle], "changed": changed, "empty": b""}[damage])
    expected = _use(filled)[1]
    assert _use(tmp_path) == (_COMPILED, expected)
    assert _use(tmp_path) == (_LOADED, expected)


def test_a_folder_that_cannot_be_written_to_is_read(filled: Path) -> None:
    forbidden = "import os; os.access = lambda *_: False"  # root may write everywhere
    assert _use(filled, forbidden)[0] == _LOADED


def test_without_a_folder_every_process_compiles(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert _use(tmp_path / "file")[0] == _COMPILED


def test_another_source_has_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coterie.kernels.numba import cache

    package = tmp_path / "kernels"
    package.mkdir()
    (package / "a.py").write_text("from coterie.kernels.b import f\n")
    (package / "b.py").write_text("def f(): pass\n")
    monkeypatch.setattr(cache, "_FOLDER", package)
    first = cache.source_hash.__wrapped__("coterie.kernels.a")
    (package / "b.py").write_text("def f(): return 1\n")
    assert cache.source_hash.__wrapped__("coterie.kernels.a") != first
