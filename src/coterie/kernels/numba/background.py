"""Compile kernels in another process, while and after a command runs them as plain Python.

A small input is processed before its kernels could be compiled. Without help, the next command on
such an input would run plain Python again. So the command line (never the library by itself)
writes down which kernels it used, and for which argument types, and starts one process that
compiles them with the lowest priority and then ends:

    FOLDER/pending/*.json       one request per kernel and argument types; nothing of the data
    FOLDER/background.lock      held by the process, so that a folder never has two

FOLDER is that of the cache (`cache_folder`). While the command runs, a kernel changes to its
compiled version as soon as its request is gone, or is compiled by the command if that takes too
long (`dispatch`). With a single core, nothing is started before the command ends. Results do not
depend on it: both versions return the same bits. The process ends when nothing is left to do, after
`MAX_SECONDS`, or when the folder disappears.

A command that has to wait for its kernels also starts helpers: processes that compile the end of
its list (`compile_plans`) while it compiles the beginning. They have its priority until it ends.

`COTERIE_BACKGROUND=off` turns it off. It is also off in continuous integration (`CI` is set),
with `COTERIE_KERNELS` other than `auto`, and where the command is the only process of a container,
because nothing could outlive it there.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from coterie.kernels.numba import dispatch
from coterie.kernels.numba.cache import cache_folder
from coterie.kernels.numba.compile_events import compilation_starts
from coterie.kernels.numba.compile_plans import compile_plan
from coterie.kernels.numba.file_lock import lock_file

PENDING, LOCK = "pending", "background.lock"
MAX_SECONDS = 600.0

_PACKAGE = "coterie."
_MODULE = "coterie.kernels.numba.background"
_ROOT = Path(__file__).parents[3]
_WORTH_STORING = 0.02  # seconds as plain Python after which loading compiled code is quicker
_URGENT = 0.1  # seconds after which compiling begins while the command runs
_COMMAND_IS_SLOW = 0.4  # seconds of all kernels below which nothing is compiled
_CHECK_EVERY = 0.05  # seconds between two looks at a request
_STARTS_IN = 5.0  # seconds in which a new process must have the lock
_WORTH_HELPING = 3  # kernels that are not stored, fewer are compiled before a helper is ready
_MAX_HELPERS = 3  # each needs up to 0.5 GB
_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_running: set[int] = set()  # processes that this one started


def allowed() -> bool:
    """Return whether commands may start a process that compiles."""
    chosen = os.environ.get("COTERIE_BACKGROUND", "").lower()
    if chosen in ("on", "off"):
        return chosen == "on"
    return not os.environ.get("CI") and 1 not in (os.getpid(), os.getppid())


def background_compiler(announce: Callable[[], None]) -> BackgroundCompiler | None:
    """Return what a command hands its kernels to, or None if it may not start a process."""
    folder = cache_folder()
    return BackgroundCompiler(folder, announce) if folder and allowed() else None


class BackgroundCompiler:
    """What a command hands over for compiling; `dispatch` calls it after every plain run.

    `announce` is called once, when a process is started."""

    def __init__(self, folder: Path, announce: Callable[[], None]) -> None:
        self._folder = folder
        self._announce = announce
        self._types: dict[Any, str] = {}  # kernel -> request, as text
        self._requests: dict[Any, Path] = {}
        self._done: set[Any] = set()
        self._next_look = self._next_listing = self._last_start = 0.0
        self._waiting: set[str] = set()
        self._running = False
        self._started = False
        self._planned: set[tuple[str, str]] = set()  # kernels that helpers compile
        self._helpers: list[int] = []
        self._plan = ""

    def after_plain_run(self, kernel: Any, args: tuple[Any, ...]) -> None:
        """Take note of a kernel that ran as plain Python; request it if it is urgent."""
        if kernel.seconds_plain < _WORTH_STORING or kernel.is_stored or kernel in self._requests:
            return
        if kernel not in self._types:
            self._types[kernel] = described_request(kernel, args)
        if (
            _CORES > 1
            and kernel.seconds_plain > _URGENT
            and dispatch.seconds_uncompiled() > _COMMAND_IS_SLOW
        ):
            self._add(kernel)

    def start_plan(self, name: str) -> None:
        """Start helpers for the kernels of a list that are not stored, at the first call."""
        if self._plan or _CORES < 2 or not name:
            return
        self._plan = name
        named = [tuple(json.loads(text)["kernel"]) for text in compile_plan(name)]
        missing = {own for own in named if not _named(*own).has_cache_file()}
        if len(missing) < _WORTH_HELPING:
            return
        self._planned = missing
        compilation_starts(name)  # the command says so before it has loaded what compiling needs
        for _ in range(min(_CORES - 1, _MAX_HELPERS)):
            process = start(self._folder, name)
            if process is not None:
                self._helpers.append(process)

    def compiles(self, kernel: Any) -> bool:
        """Return whether a kernel will soon be there, so that plain Python should go on."""
        if kernel in self._done:
            return False
        if (kernel.__module__, kernel.__qualname__) in self._planned:
            return any(_is_alive(process) for process in self._helpers)
        if kernel not in self._requests:
            return False
        self._look()
        return self._running

    def has_compiled(self, kernel: Any) -> bool:
        """Return True once: when the request of a kernel is gone, or a helper has stored it."""
        if kernel in self._done:
            return False
        if (kernel.__module__, kernel.__qualname__) in self._planned:
            now = time.monotonic()
            look_again = now >= self._next_listing
            if look_again:
                self._next_listing = now + _CHECK_EVERY
            if kernel.has_cache_file(look_again=look_again):
                self._done.add(kernel)
                return True
            return False
        if kernel not in self._requests:
            return False
        self._look()
        if self._requests[kernel].name in self._waiting:
            return False
        self._done.add(kernel)
        return True

    def finish(self) -> None:
        """Request everything that ran long enough; called at the end of a command."""
        if dispatch.seconds_uncompiled() > _COMMAND_IS_SLOW:
            for kernel in self._types.keys() - self._requests.keys():
                self._add(kernel)

    def _add(self, kernel: Any) -> None:
        text = self._types[kernel]
        name = f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"
        path = self._requests[kernel] = self._folder / PENDING / name
        if not text:
            self._done.add(kernel)
            return
        self._waiting.add(name)
        with contextlib.suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not self._started:
            self._started = True
            if not is_running(self._folder):
                start(self._folder)
            self._last_start = time.monotonic()
            self._announce()

    def _look(self) -> None:
        """Find out what still waits, but not too often."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _CHECK_EVERY
            self._waiting = {path.name for path in _pending(self._folder)}
            self._running = now < self._last_start + _STARTS_IN or is_running(self._folder)


def start(folder: Path, plan: str = "") -> int | None:
    """Start the process that compiles, and return its id, or None if it cannot be started.

    With `plan`, it is a helper for this list. It is not a part of this one's terminal or job."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *_absolute(os.environ.get("PYTHONPATH", ""))]),
        "COTERIE_KERNELS": dispatch.COMPILED,
        "COTERIE_BACKGROUND": "off",
        "NUMBA_NUM_THREADS": "1",
    }
    if environment.get("NUMBA_CACHE_DIR"):
        environment["NUMBA_CACHE_DIR"] = os.path.abspath(environment["NUMBA_CACHE_DIR"])
    flags: dict[str, Any] = {}
    if sys.platform == "win32":
        flags["creationflags"] = (
            subprocess.DETACHED_PROCESS
            | subprocess.CREATE_NEW_PROCESS_GROUP
            | subprocess.BELOW_NORMAL_PRIORITY_CLASS
        )
    with contextlib.suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-m", _MODULE, str(folder.absolute()), *([plan] if plan else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder.anchor or os.sep,  # so that no folder of the user stays in use
            env=environment,
            start_new_session=True,
            close_fds=True,
            **flags,
        )
        if sys.platform != "win32":
            process.returncode = 0  # Python would warn that it still runs
        _running.add(process.pid)
        # Without this, it would stay as a zombie while a server runs
        threading.Thread(target=_wait_for, args=(process,), daemon=True).start()
        return process.pid
    return None


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.wait()
        else:
            os.waitpid(process.pid, 0)
    _running.discard(process.pid)


def is_running(folder: Path) -> bool:
    """Return whether a process compiles for this folder now."""
    try:
        with open(folder / LOCK, "ab") as file:
            return not lock_file(file)
    except OSError:
        return False


def compile_pending(folder: Path) -> int:
    """Compile all requests of a folder, the oldest first; return how many were compiled.

    A request that cannot be compiled is dropped: the kernel is compiled where it is needed."""
    count, end = 0, time.monotonic() + MAX_SECONDS
    while time.monotonic() < end:
        waiting = _pending(folder)
        if not waiting:
            break
        path = waiting[0]
        try:
            kernel, examples = read_request(path.read_text(encoding="utf-8"))
            kernel.compile_for(examples)
            count += 1
        except Exception:  # whatever is wrong with it, the next one may be right
            pass
        with contextlib.suppress(OSError):
            path.unlink()
    return count


def compile_planned(requests: list[str], is_alone: Callable[[], bool]) -> int:
    """Compile the kernels of a list from its end, but not what other processes compile now.

    With the lowest priority when the command has ended (`is_alone`). Return how many were tried."""
    count, polite = 0, False
    for text in reversed(requests):
        if not polite and is_alone() and hasattr(os, "nice"):
            polite = True
            os.nice(19)
        with contextlib.suppress(Exception):  # whatever is wrong with it, the next one may be right
            kernel, examples = read_request(text)
            kernel.compile_for(examples, unless_claimed=True)
            count += 1
    return count


def _is_alive(process_id: int) -> bool:
    """Return whether a process that this one started still runs."""
    return process_id in _running


def _pending(folder: Path) -> list[Path]:
    """Return the requests that wait, the oldest first."""
    try:
        found = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder / PENDING)]
    except OSError:
        return []
    return [Path(path) for _, path in sorted(found) if path.endswith(".json")]


def described_request(kernel: Any, args: tuple[Any, ...]) -> str:
    """Return a kernel and its argument types as text; empty if they have no such form."""
    try:
        types = [_described(value) for value in args]
    except TypeError:
        return ""
    if len(types) != kernel.py_func.__code__.co_argcount:
        return ""
    return json.dumps({"kernel": [kernel.__module__, kernel.__qualname__], "types": types})


def _described(value: Any) -> Any:
    """Return the type of an argument in a form that JSON has."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject or value.dtype.fields:
            raise TypeError(str(value.dtype))
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return ["array", value.dtype.str, value.ndim, layout, bool(flags.writeable)]
    if isinstance(value, tuple):
        kind = type(value)
        name = [kind.__module__, kind.__qualname__] if hasattr(kind, "_fields") else None
        return ["tuple", name, [_described(item) for item in value]]
    if isinstance(value, np.generic):
        return ["scalar", value.dtype.str]
    if isinstance(value, bool | float) or value is None:
        return ["python", type(value).__name__]
    if isinstance(value, int):
        return ["python", "int" if value < 1 << 63 else "large int"]
    raise TypeError(type(value).__name__)


def read_request(text: str) -> tuple[Any, tuple[Any, ...]]:
    """Return the kernel and examples of its arguments."""
    content = json.loads(text)
    kernel = _named(*content["kernel"])
    if not isinstance(kernel, dispatch.Kernel):
        raise TypeError(f"not a kernel: {kernel}")
    return kernel, tuple(_example(kind) for kind in content["types"])


def _example(kind: Any) -> Any:
    """Return a value of a described type."""
    if kind[0] == "array":
        _, dtype, ndim, layout, writeable = kind
        if layout == "A":
            array = np.zeros((4,) * ndim, dtype)[(slice(None, None, 2),) * ndim]
        else:
            array = np.zeros((2 if layout == "F" else 1,) * ndim, dtype, order=layout)
        array.flags.writeable = writeable
        return array
    if kind[0] == "tuple":
        items = [_example(item) for item in kind[2]]
        return tuple(items) if kind[1] is None else _named(*kind[1])(*items)
    if kind[0] == "scalar":
        return np.zeros(1, kind[1])[0]
    return {"bool": True, "int": 1, "large int": 1 << 63, "float": 1.0, "NoneType": None}[kind[1]]


def _named(module: str, name: str) -> Any:
    """Return something of this package by its name."""
    if not module.startswith(_PACKAGE):
        raise ValueError(f"not of coterie: {module}")
    return getattr(importlib.import_module(module), name)


def _absolute(paths: str) -> list[str]:
    return [os.path.abspath(path) for path in paths.split(os.pathsep) if path]


def main(folder: Path, plan: str = "") -> None:
    """Compile a list of kernels, or all requests of a folder unless another process does."""
    if cache_folder() != folder:
        return
    if plan:
        parent = os.getppid()
        compile_planned(compile_plan(plan), lambda: os.getppid() != parent)
        return
    if not (folder / PENDING).is_dir():
        return
    with open(folder / LOCK, "ab") as file:
        if not lock_file(file):
            return
        if hasattr(os, "nice"):
            os.nice(19)
        compile_pending(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3])
