"""Kernels that ran as plain Python are compiled by another process, which never surprises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from coterie.kernels.additive.sweep import draw_precision
from coterie.kernels.numba import background, dispatch
from coterie.kernels.numba.background import BackgroundCompiler, compile_pending
from coterie.kernels.numba.compile_plans import compile_plan
from coterie.kernels.numba.random import uniform_block


class Pair(NamedTuple):
    first: np.ndarray
    second: float


def with_mode(mode, **more):
    return {**os.environ, "COTERIE_KERNELS": mode, **more}


VALUES = [
    np.zeros(3),
    np.zeros((2, 3), np.int32),
    np.asfortranarray(np.zeros((2, 3))),
    np.zeros((4, 4), np.uint8)[::2, ::2],
    np.zeros((3, 2), np.float32)[:, 1],
    np.frombuffer(b"abc", np.uint8),
    (np.zeros(2), (1, 2.0, True, None)),
    Pair(np.zeros(2, np.uint64), 1.0),
    np.uint64(3),
    np.float32(3),
    1 << 63,
    -5,
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_an_example_has_the_type_of_the_argument(value, monkeypatch):
    from numba import typeof

    monkeypatch.setattr(background, "_PACKAGE", "")
    described = json.loads(json.dumps(background._described(value)))
    assert typeof(background._example(described)) == typeof(value)


def test_values_without_such_a_form_are_not_requested():
    for value in ("text", [1], np.array(["a", None]), np.zeros(2, [("a", "i4")])):
        with pytest.raises(TypeError):
            background._described(value)


def test_a_request_names_only_kernels_of_this_package():
    for name in (["os", "system"], ["coterie.kernels.numba.background", "start"]):
        with pytest.raises((ValueError, TypeError)):
            background.read_request(json.dumps({"kernel": name, "types": []}))


@pytest.fixture
def folder(tmp_path):
    """A cache folder with one request, and what is not one."""
    folder = tmp_path / "coterie"
    (folder / background.PENDING).mkdir(parents=True)
    text = background.described_request(uniform_block, (np.uint64(1), 8))
    (folder / background.PENDING / "good.json").write_text(text)
    (folder / background.PENDING / "bad.json").write_text("{")
    wrong = {"kernel": ["coterie.kernels.numba.random", "uniform_block"], "types": []}
    (folder / background.PENDING / "wrong.json").write_text(json.dumps(wrong))
    return folder


def test_the_process_compiles_what_waits_and_ends(folder, tmp_path):
    command = [sys.executable, "-m", "coterie.kernels.numba.background", str(folder)]
    environment = with_mode("compiled", NUMBA_CACHE_DIR=str(tmp_path))
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert list(folder.glob("numba.random.uniform_block-*.nbc"))
    assert not list((folder / background.PENDING).iterdir())
    subprocess.run(command, env=environment, check=True, timeout=120)  # nothing to do


def test_a_folder_that_disappears_is_harmless(folder, tmp_path):
    environment = with_mode("compiled", NUMBA_CACHE_DIR=str(tmp_path))
    command = [sys.executable, "-m", "coterie.kernels.numba.background", str(tmp_path / "gone")]
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert not (tmp_path / "gone").exists()
    assert compile_pending(tmp_path / "gone") == 0


def test_two_processes_never_work_for_one_folder(folder, tmp_path):
    with open(folder / background.LOCK, "ab") as file:
        assert background.lock_file(file)
        assert background.is_running(folder)
        environment = with_mode("compiled", NUMBA_CACHE_DIR=str(tmp_path))
        command = [sys.executable, "-m", "coterie.kernels.numba.background", str(folder)]
        subprocess.run(command, env=environment, check=True, timeout=120)
        assert len(list((folder / background.PENDING).iterdir())) == 3  # left alone
    assert not background.is_running(folder)


class SlowKernel:
    """Stands for a kernel that has run as plain Python for a second."""

    def __init__(self):
        self.py_func = uniform_block.py_func
        self.__module__, self.__qualname__ = uniform_block.__module__, "uniform_block"
        self.seconds_plain, self.is_stored = 1.0, False


@pytest.fixture
def started(monkeypatch):
    """Starting a process only counts."""
    calls = []
    monkeypatch.setattr(background, "start", calls.append)
    monkeypatch.setattr(background, "_CORES", 2)
    monkeypatch.setattr(dispatch, "_total_spent", 1.0)
    return calls


def test_a_slow_kernel_is_requested_once_and_then_awaited(tmp_path, started):
    said = []
    compiler, kernel = BackgroundCompiler(tmp_path, lambda: said.append(1)), SlowKernel()
    for _ in range(3):
        compiler.after_plain_run(kernel, (np.uint64(1), 8))
    (request,) = (tmp_path / background.PENDING).iterdir()
    content = json.loads(request.read_text())
    assert content["kernel"] == ["coterie.kernels.numba.random", "uniform_block"]
    assert len(started) == 1 and len(said) == 1
    assert compiler.compiles(kernel) and not compiler.has_compiled(kernel)
    request.unlink()  # as the process does
    time.sleep(2 * background._CHECK_EVERY)
    assert compiler.has_compiled(kernel) and not compiler.has_compiled(kernel)
    assert not compiler.compiles(kernel)  # if it could not be loaded, it is compiled here


def test_with_one_core_nothing_starts_before_the_command_ends(tmp_path, started, monkeypatch):
    monkeypatch.setattr(background, "_CORES", 1)
    compiler, kernel = BackgroundCompiler(tmp_path, lambda: None), SlowKernel()
    compiler.after_plain_run(kernel, (np.uint64(1), 8))
    assert not started and not compiler.compiles(kernel)  # so the command compiles it
    compiler.finish()
    assert len(started) == 1


def test_a_command_does_not_wait_for_ever_for_the_other_process():
    class Helper:
        def compiles(self, _):
            return True

    kernel = dispatch.njit()(lambda x: x)
    limit = kernel.seconds_before_compiling()
    kernel._spent = 2 * limit
    assert kernel._is_awaited(Helper())
    kernel._spent = 4 * limit
    assert not kernel._is_awaited(Helper())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no zombies")
def test_a_process_that_has_ended_is_no_zombie(tmp_path):
    process_id = background.start(tmp_path)  # nothing is pending, so it ends
    assert process_id
    for _ in range(600):
        try:
            os.kill(process_id, 0)  # a zombie still has its number
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the process is still there after a minute")


def test_leftovers_of_killed_processes_are_deleted_after_a_month(tmp_path):
    from coterie.kernels.numba.cache import KernelCache

    cache = KernelCache(uniform_block.py_func, lambda: None)
    old, new = (tmp_path / f"{cache._prefix}.{name}.nbc.0a1b.tmp" for name in ("old", "new"))
    kept = tmp_path / f"{cache._prefix}.aa.nbc"
    for file in (old, new, kept):
        file.write_bytes(b"")
    for file in (old, kept):
        os.utime(file, (0, 0))
    cache._delete_old(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([new.name, kept.name])


def test_short_runs_and_stored_kernels_request_nothing(tmp_path, started):
    compiler = BackgroundCompiler(tmp_path, lambda: None)
    quick, stored = SlowKernel(), SlowKernel()
    quick.seconds_plain, stored.is_stored = 0.001, True
    for kernel in (quick, stored):
        compiler.after_plain_run(kernel, (np.uint64(1), 8))
    compiler.finish()
    assert not started and not (tmp_path / background.PENDING).exists()


def test_what_is_not_urgent_is_requested_at_the_end(tmp_path, started):
    compiler, kernel = BackgroundCompiler(tmp_path, lambda: None), SlowKernel()
    kernel.seconds_plain = 0.05
    compiler.after_plain_run(kernel, (np.uint64(1), 8))
    assert not started
    compiler.finish()
    assert len(started) == 1 and len(list((tmp_path / background.PENDING).iterdir())) == 1


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, True),
        ({"CI": "true"}, False),
        ({"COTERIE_BACKGROUND": "off"}, False),
        ({"COTERIE_BACKGROUND": "on", "CI": "true"}, True),
    ],
)
def test_when_it_is_allowed(environment, expected, monkeypatch):
    for name in ("CI", "COTERIE_BACKGROUND"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "getppid", lambda: 77)
    assert background.allowed() is expected


def test_not_where_the_command_is_all_that_a_container_runs(monkeypatch):
    for name in ("CI", "COTERIE_BACKGROUND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert not background.allowed()


@pytest.mark.skipif(not dispatch._PLAIN_IS_EXACT, reason="plain kernels need NumPy 2")
def test_the_library_starts_no_process_by_itself():
    code = (
        "import coterie as ct\n"
        "from coterie.kernels.numba import dispatch\n"
        "graph = ct.Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])\n"
        "ct.GeneralizedKMeans(2, search='paper', max_iter=3).fit(graph)\n"
        "assert dispatch.seconds_uncompiled() > 0.0 and dispatch._background is None\n"
    )
    environment = with_mode("auto", COTERIE_BACKGROUND="on")
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=120)


@pytest.mark.skipif(not dispatch._PLAIN_IS_EXACT, reason="plain kernels need NumPy 2")
def test_plain_and_compiled_commands_have_the_same_result(tmp_path):
    rng = np.random.default_rng(3)
    pairs = {(int(u), int(v)) for u, v in rng.integers(0, 60, (200, 2)) if u < v}
    (tmp_path / "g.txt").write_text("".join(f"{u} {v}\n" for u, v in sorted(pairs)))
    command = [sys.executable, "-m", "coterie", "cluster", "g.txt", "--blocks", "3", "--json"]
    answers = []
    for mode in ("plain", "compiled"):
        done = subprocess.run(
            command, env=with_mode(mode), cwd=tmp_path, check=True, capture_output=True, timeout=300
        )
        answer = json.loads(done.stdout)
        answers.append([answer["entropy"], [step["entropy"] for step in answer["history"]]])
    assert answers[0] == answers[1]


@pytest.fixture
def plan(monkeypatch):
    """A list with two kernels, of which none is stored."""
    requests = [
        background.described_request(uniform_block, (np.uint64(1), 8)),
        background.described_request(draw_precision, (np.uint64(1), np.zeros(3), 1.0)),
    ]
    monkeypatch.setattr(background, "compile_plan", lambda name: requests if name == "mine" else [])
    monkeypatch.setattr(background, "_WORTH_HELPING", 2)
    return requests


def test_helpers_start_once_and_only_if_kernels_are_missing(tmp_path, plan, monkeypatch):
    calls = []
    monkeypatch.setattr(background, "start", lambda *given: calls.append(given) or 1)
    monkeypatch.setattr(background, "_CORES", 3)
    monkeypatch.setattr(dispatch.Kernel, "has_cache_file", lambda *_, **__: True)
    BackgroundCompiler(tmp_path, list).start_plan("mine")
    BackgroundCompiler(tmp_path, list).start_plan("")
    monkeypatch.setattr(dispatch.Kernel, "has_cache_file", lambda *_, **__: False)
    BackgroundCompiler(tmp_path, list).start_plan("unknown")
    assert not calls
    compiler = BackgroundCompiler(tmp_path, list)
    for _ in range(2):
        compiler.start_plan("mine")
    assert calls == [(tmp_path, "mine")] * 2  # one for each core but the first
    monkeypatch.setattr(background, "_running", {1})
    assert compiler.compiles(uniform_block) and not compiler.has_compiled(uniform_block)
    monkeypatch.setattr(background, "_running", set())
    assert not compiler.compiles(uniform_block)  # so the command compiles it
    monkeypatch.setattr(dispatch.Kernel, "has_cache_file", lambda *_, **__: True)
    assert compiler.has_compiled(uniform_block) and not compiler.has_compiled(uniform_block)


def test_with_one_core_there_are_no_helpers(tmp_path, plan, started, monkeypatch):
    monkeypatch.setattr(background, "_CORES", 1)
    monkeypatch.setattr(dispatch.Kernel, "has_cache_file", lambda *_, **__: False)
    BackgroundCompiler(tmp_path, list).start_plan("mine")
    assert not started


def test_a_helper_begins_at_the_end_and_skips_what_cannot_be_compiled(plan, monkeypatch):
    compiled = []
    monkeypatch.setattr(
        dispatch.Kernel,
        "compile_for",
        lambda kernel, _, *, unless_claimed: compiled.append((kernel.__name__, unless_claimed)),
    )
    assert background.compile_planned([*plan, '{"kernel": ["os", "system"]}'], lambda: False) == 2
    assert compiled == [("draw_precision", True), ("uniform_block", True)]


CLAIMED = """
import time
import numpy as np
from coterie.kernels.numba import cache
from coterie.kernels.numba.random import uniform_block
write = cache._write
def slowly(path, content):
    print("compiled", flush=True)
    time.sleep(1.5)
    write(path, content)
cache._write = slowly
uniform_block(np.uint64(1), 4)
"""


def test_two_processes_compile_different_kernels(tmp_path):
    """A process that needs what another one compiles waits for it; a helper goes on."""
    environment = with_mode("compiled", NUMBA_CACHE_DIR=str(tmp_path))
    first = subprocess.Popen(
        [sys.executable, "-c", CLAIMED], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout.readline() == "compiled\n"  # and not yet stored
    ask = """
import numpy as np
from coterie.kernels.numba import cache
from coterie.kernels.numba.random import uniform_block
stored = []
cache._write = lambda path, _: stored.append(path)
uniform_block.compile_for((np.uint64(1), 4), unless_claimed=True)
print(len(uniform_block.signatures), end=" ")
values = uniform_block(np.uint64(1), 4)
print(len(values), len(stored))
"""
    second = subprocess.run(
        [sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True
    )
    assert first.wait() == 0
    assert second.stdout == "0 4 0\n"
    assert not list((tmp_path / "coterie" / "compiling").iterdir())


def test_a_claim_of_a_process_that_was_killed_does_not_last(tmp_path):
    environment = with_mode("compiled", NUMBA_CACHE_DIR=str(tmp_path))
    killed = subprocess.Popen(
        [sys.executable, "-c", CLAIMED], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout.readline() == "compiled\n"
    killed.kill()
    killed.wait()
    assert list((tmp_path / "coterie" / "compiling").iterdir())
    code = "import numpy as np; from coterie.kernels.numba.random import uniform_block as f; "
    code += "print(len(f(np.uint64(1), 4)))"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=50)
    assert len(list((tmp_path / "coterie").glob("*.nbc"))) == 1


def test_the_lists_name_kernels_that_exist():
    tool = Path(__file__).parents[3] / "tools" / "compile_plans.py"
    done = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("recommend.fit best", "recommend.fit mmsbm", "anonymize"):
        assert len(compile_plan(name)) > 3, name
