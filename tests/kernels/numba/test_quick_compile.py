"""Functions that only kernels call are kept as intermediate code; nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coterie.kernels.graphs.modularity import scaled_modularity, weighted_communities
from coterie.kernels.numba.compile_plans import planned_kernels
from coterie.kernels.numba.quick_compile import install, is_link_only

needs_known_numba = pytest.mark.skipif(not install(), reason="this version of Numba is not known")


def run(code: str, cache: Path) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "COTERIE_KERNELS": "compiled"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TRIANGLES = """
import numpy as np
from coterie.kernels.graphs.modularity import weighted_communities as communities
ptr, other = np.array([0, 2, 4, 6, 8, 10, 12]), np.array([1, 2, 0, 2, 0, 1, 4, 5, 3, 5, 3, 4])
given = ptr, other.astype(np.int32), np.ones(12, np.int64), np.diff(ptr), np.uint64(1), 10
print(communities(*given).tolist())
"""


@needs_known_numba
def test_parts_are_stored_without_machine_code_and_used_by_the_next_process(tmp_path: Path) -> None:
    assert run(TRIANGLES, tmp_path) == "[0, 0, 0, 1, 1, 1]\n"
    folder = tmp_path / "coterie"
    parts = {file.name.split("-")[0] for file in folder.glob("*.part")}
    whole = {file.name.split("-")[0] for file in folder.glob("*.nbc")}
    assert whole == {"graphs.modularity.weighted_communities"}
    assert {"graphs.modularity._move_nodes", "graphs.modularity.scaled_modularity"} <= parts
    for file in folder.glob("*.nbc"):
        file.unlink()  # compiled again, from the parts
    times = {file: file.stat().st_mtime_ns for file in folder.glob("*.part")}
    assert run(TRIANGLES, tmp_path) == "[0, 0, 0, 1, 1, 1]\n"
    assert {file: file.stat().st_mtime_ns for file in folder.glob("*.part")} == times


@needs_known_numba
def test_a_part_can_be_called_from_python_too(tmp_path: Path) -> None:
    code = TRIANGLES + (
        "from coterie.kernels.graphs.modularity import scaled_modularity\n"
        "print(scaled_modularity(*given[:4], np.array([0, 0, 0, 1, 1, 1])))\n"
    )
    assert run(code, tmp_path) == "[0, 0, 0, 1, 1, 1]\n72\n"
    name = "graphs.modularity.scaled_modularity-*"
    assert {file.suffix for file in tmp_path.rglob(name)} == {".part", ".nbc"}


@needs_known_numba
def test_kernels_that_commands_call_are_compiled_once() -> None:
    assert (weighted_communities.__module__, "weighted_communities") in planned_kernels()
    assert weighted_communities.linked is weighted_communities.dispatcher
    assert scaled_modularity.linked is not scaled_modularity.dispatcher


@needs_known_numba
def test_other_users_of_numba_are_not_affected() -> None:
    import numba

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    @numba.cfunc("float64(float64)")
    def for_c(x):
        return x * 3.0

    assert outer(3) == 8 and inner(3) == 4 and for_c.ctypes(2.0) == 6.0
    assert not any(is_link_only(found.library) for found in inner.overloads.values())
    assert np.array_equal(numba.njit(lambda a: np.sort(a))(np.array([2, 1])), [1, 2])


@needs_known_numba
def test_an_error_in_a_part_reaches_python(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from coterie.kernels.numba.dispatch import njit\n"
        "@njit(nogil=True)\ndef _part(x):\n"
        "    if x < 0:\n        raise ValueError('negative')\n    return x\n"
        "@njit(nogil=True)\ndef whole(x):\n    return _part(x) + _part(x + 1)\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import own\n"
        "print(own.whole(1))\n"
        "try:\n    own.whole(-1)\nexcept ValueError as error:\n    print(error)\n"
    )
    assert run(code, tmp_path / "cache") == "3\nnegative\n"
    assert run(code, tmp_path / "cache") == "3\nnegative\n"  # loaded from the cache
