"""When kernels run as plain Python, when they are compiled, and what is stored."""

from __future__ import annotations

import ast
import gc
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coterie.kernels.numba import cache, dispatch
from coterie.kernels.numba.compile_events import watch_compilations
from coterie.kernels.numba.dispatch import njit
from coterie.kernels.numba.random import mix, uniform_block

KARATE_LIKE = "\n".join(f"{i} {(i + s) % 30}" for i in range(30) for s in (1, 2, 15)) + "\n"

needs_plain_kernels = pytest.mark.skipif(
    not dispatch._PLAIN_IS_EXACT, reason="plain kernels need NumPy 2"
)


def run_python(code: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has an empty cache in `folder` unless told otherwise."""
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "COTERIE_KERNELS": "auto", **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )


@pytest.fixture
def auto_mode():
    """The mode of users; the other tests run compiled kernels only."""
    dispatch.set_mode("auto")
    yield
    dispatch.set_mode(os.environ.get("COTERIE_KERNELS", "auto"))


@njit(nogil=True, cache=True)
def total(values):
    """Return the sum and the number of values."""
    s = 0.0
    for i in range(len(values)):
        s += values[i]
    return s, len(values)


@needs_plain_kernels
def test_a_small_input_compiles_nothing_and_does_not_load_numba(tmp_path):
    graph = tmp_path / "graph.txt"
    graph.write_text(KARATE_LIKE)
    code = f"""
import sys, coterie as ct
model = ct.GeneralizedKMeans(3, rng=0).fit(ct.read_graph({str(graph)!r}))
assert "numba" not in sys.modules
print(model.entropy_.hex(), model.labels_.tolist())
"""
    plain = run_python(code, tmp_path / "cache").stdout
    assert not list((tmp_path / "cache").rglob("*.nbc"))
    import coterie as ct

    model = ct.GeneralizedKMeans(3, rng=0).fit(ct.read_graph(graph))  # compiled
    assert plain.split(" ", 1) == [model.entropy_.hex(), f"{model.labels_.tolist()}\n"]


@needs_plain_kernels
def test_a_large_argument_is_compiled_and_stored_once(tmp_path):
    code = """
import numpy as np
from coterie.kernels.numba.compile_events import watch_compilations
from coterie.kernels.numba.alias import alias_tables
compiled = []
with watch_compilations(compiled.append):
    alias_tables(np.ones((2, 3)))
    assert compiled == []
    alias_tables(np.ones((3000, 3)))
print(len(compiled), len(alias_tables.stats.cache_hits))
"""
    assert run_python(code, tmp_path).stdout.split() == ["1", "0"]
    assert run_python(code, tmp_path).stdout.split() == ["0", "1"]
    assert len(list(tmp_path.rglob("*.nbc"))) == 1


@needs_plain_kernels
def test_a_kernel_is_compiled_after_it_has_run_long_enough_as_plain_python(auto_mode, monkeypatch):
    kernel = njit(nogil=True)(total.py_func)
    compiled = []
    monkeypatch.setattr(kernel, "_worth", 0.0)
    monkeypatch.setattr(kernel, "_in_cache", False)
    with watch_compilations(compiled.append):
        kernel._spent = -1.0
        assert kernel(np.ones(3)) == (3.0, 3) and not kernel._ready
        kernel._spent = 1.0
        assert kernel(np.ones(3)) == (3.0, 3) and kernel._ready
    assert len(compiled) <= 1  # none if an earlier run has stored it


def test_results_of_plain_kernels_have_the_types_of_compiled_ones(auto_mode):
    plain, compiled = total._run_plain((np.ones(3),)), total._compiled((np.ones(3),))
    assert plain == compiled
    assert list(map(type, plain)) == list(map(type, compiled)) == [float, int]


def test_arguments_may_be_named_and_types_may_change():
    assert total(values=np.ones(3)) == (3.0, 3)
    assert total(np.ones(3, np.int32)) == (3.0, 3)
    assert total(np.ones(4, np.int64)) == (4.0, 4)


def test_unsigned_arithmetic_wraps_around_without_a_warning():
    with np.errstate(all="raise"):
        values = uniform_block._run_plain((np.uint64(2**64 - 1), 5))
    assert values.tobytes() == uniform_block._compiled((np.uint64(2**64 - 1), 5)).tobytes()


def test_logarithms_of_plain_kernels_follow_the_c_library():
    assert dispatch._C_MATH.log(0.0) == -np.inf and np.isnan(dispatch._C_MATH.log(-1.0))
    assert dispatch._C_MATH.exp(1e4) == np.inf and dispatch._C_MATH.log1p(-1.0) == -np.inf


def test_a_kernel_can_be_sent_to_another_process():
    assert pickle.loads(pickle.dumps(mix)) is mix


def test_square_matrices_count_little():
    assert dispatch._bytes((np.zeros(8), (np.zeros((4, 8)), 3))) == 64 + 256
    assert dispatch._bytes(np.zeros((64, 64), np.int32)) == 64 * 64 * 4 // 32


def test_modes_are_checked_and_nest(auto_mode):
    with pytest.raises(ValueError, match="invalid mode of kernels: 'fast'"):
        dispatch.set_mode("fast")
    with dispatch.always_compiled():
        assert dispatch.mode() == "compiled"
        with dispatch.always_compiled():
            pass
        assert dispatch.mode() == "compiled"
    assert dispatch.mode() == "auto"


def test_the_stored_version_depends_on_the_source_of_called_kernels(tmp_path, monkeypatch):
    folder = tmp_path / "kernels"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one.py").write_text("from coterie.kernels.a.two import f\n")
    (folder / "a" / "two.py").write_text("x = 1\n")
    monkeypatch.setattr(cache, "_FOLDER", folder)
    hash_of = cache.source_hash.__wrapped__
    before = hash_of("coterie.kernels.a.one")
    os.utime(folder / "a" / "one.py", (0, 0))  # dates do not matter
    assert hash_of("coterie.kernels.a.one") == before
    (folder / "a" / "two.py").write_text("x = 2\n")
    assert hash_of("coterie.kernels.a.one") != before


def test_a_damaged_file_counts_as_missing(tmp_path):
    path = tmp_path / "kernel.nbc"
    cache._write(path, b"machine code")
    assert cache._read(path) == b"machine code"
    for place in range(path.stat().st_size):
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        (tmp_path / "damaged").write_bytes(data)
        assert cache._read(tmp_path / "damaged") is None
    assert cache._read(tmp_path / "missing") is None


def test_shipped_kernels_need_the_same_versions_and_all_features():
    host = cache.Target("cpython-311", "0.60", "0.43", "x86_64", "skylake", "+avx,+avx2,-avx512f")
    assert cache.runs_here(host._replace(cpu="x86-64-v3", features="+avx"), host)
    assert not cache.runs_here(host._replace(features="+avx,+avx512f"), host)
    for field in ("python", "numba", "llvmlite", "triple"):
        assert not cache.runs_here(host._replace(**{field: "other"}), host)


def test_a_command_says_once_that_it_compiles(tmp_path):
    def doctor(folder, *options):
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / folder)}
        command = [sys.executable, "-m", "coterie", "doctor", "--json", *options]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return done.stderr, json.loads(done.stdout)["numba"]["cached"]

    text, cached = doctor("one")
    assert text.count("this happens once") == 1 and not cached
    assert doctor("one") == ("", True)
    assert doctor("two", "--quiet") == ("", False)


def test_a_command_that_ran_long_without_compiling_recommends_warmup(monkeypatch, capsys):
    from coterie.cli.session import Session, compile_notice

    for seconds in (1.0, 7.0):
        monkeypatch.setattr(dispatch, "_total_spent", seconds)
        with compile_notice(Session()):
            pass
    assert capsys.readouterr().err.startswith("7 s were spent in code that is not compiled")


def test_functions_of_other_packages_can_call_kernels():
    from numba import njit as numba_njit

    from coterie.kernels.numba.no_refcount import borrow_without_refcount
    from coterie.kernels.numba.random import stream, uniform

    @numba_njit
    def draw_and_sum(values):
        values = borrow_without_refcount(values)
        _state, u = uniform(stream(7, 0))
        return u, total(values)

    assert draw_and_sum(np.ones(4)) == (uniform_block(np.uint64(7), 1)[0], (4.0, 4))


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_pauses_while_a_kernel_is_compiled(enabled, tmp_path, monkeypatch):
    def add(x):
        return x + 1

    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    during = []
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with watch_compilations(lambda _: during.append(gc.isenabled())):
            assert njit()(add)._compiled((2,)) == 3
        assert during and gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert not any(during)


def test_python_calls_no_kernel_that_is_for_kernels_only():
    """A kernel with an underscore has no entry for Python: only kernels of its module name it."""
    package = Path(dispatch.__file__).parents[2]
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "coterie.kernels"
            ):
                private = [name.name for name in node.names if name.name.startswith("_")]
                assert not private, (path, private)
        if package / "kernels" not in path.parents:
            continue
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        kernels = [f for f in functions if "njit" in "".join(map(ast.unparse, f.decorator_list))]
        private = {kernel.name for kernel in kernels if kernel.name.startswith("_")}
        for node in tree.body:
            if node not in kernels:
                named = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
                assert not named & private, (path, named & private)


def test_an_inner_kernel_cannot_be_called_from_python() -> None:
    """Its compiled form has no entry for Python: calling that would end the process."""

    def _inner(x: int) -> int:
        return x + 1

    with pytest.raises(TypeError, match="called by other kernels only"):
        njit()(_inner)(2)
