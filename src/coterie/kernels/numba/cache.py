"""Compiled kernels on disk: one file per kernel, signature, processor and version.

Numba's own cache goes by the date of one source file. It does not notice a changed kernel in
another file, and forgets everything when a checkout changes the dates. Here a file name contains a
hash of the source of the kernel's module and of every kernel module that it imports, and of the
versions of Python, Numba and llvmlite, the processor and the argument types. So a file is either
right or is not found.

    kernels/prebuilt/           compiled for a whole family of processors; comes with a wheel
                                (tools/build_wheel.py; COTERIE_PREBUILT=off ignores it)
    $NUMBA_CACHE_DIR/coterie    if this variable is set; otherwise
    kernels/__pycache__         next to the sources, and
    the user's cache folder     new files are written to the first folder that allows it

A file starts with the SHA-256 of the rest: a damaged one counts as missing. Like Numba's cache, it
holds machine code: keep the folder as safe as the installation. Two processes that need the same
version at the same time both compile it, and one of two equal files stays.

Of Numba's internals this uses what its own cache does: the attribute `_cache` of a dispatcher with
`load_overload` and `save_overload`, `CompileResult._reduce` and `_rebuild`, its pickling of types,
and the name of the processor. And one more: a process that only loads compiled versions initialises
the memory manager instead of the whole compiler.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

SUFFIX = ".nbc"
PREBUILT = Path(__file__).parents[1] / "prebuilt"
TARGET = "target.json"

_PACKAGE = "coterie.kernels"
_FOLDER = Path(__file__).parents[1]
_IMPORT = re.compile(
    rb"^\s*from (coterie\.kernels[\w.]*) import|^\s*import (coterie\.kernels[\w.]*)", re.M
)
# Changes here do not change compiled code
_NOT_COMPILED = {f"{_PACKAGE}.numba.cache", f"{_PACKAGE}.numba.compile"}
_FORMAT = 3  # of the files; also changed when the same source gives other code
_OLD = 30 * 86400.0  # seconds after which a file of another version of the source is deleted
_DIGEST = 32
_TEMPORARY = ".tmp"
_observers: list[Callable[[str], None]] = []


class Target(NamedTuple):
    """What compiled code requires."""

    python: str
    numba: str
    llvmlite: str
    triple: str
    cpu: str
    features: str


@functools.cache
def cache_folder() -> Path | None:
    """Return the folder for new files, or None if no folder can be written to."""
    for folder in _possible_folders():
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return None


@contextmanager
def watch_compilations(observer: Callable[[str], None]) -> Iterator[None]:
    """Call `observer(name of the kernel)` before each compilation in a block of code."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


@functools.cache
def source_hash(module: str) -> str:
    """Return a hash of the sources that a kernel of this module can consist of."""
    found: dict[str, bytes] = {}
    _collect_sources(module, found)
    digest = hashlib.sha256()
    for name in sorted(found):
        digest.update(name.encode() + b"\0" + found[name] + b"\0")
    return digest.hexdigest()[:16]


@functools.cache
def prebuilt_target() -> Target | None:
    """Return the target of the shipped kernels if they run here, else None."""
    if os.environ.get("COTERIE_PREBUILT") == "off":
        return None
    try:
        target = Target(**json.loads((PREBUILT / TARGET).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return target if runs_here(target, host_target()) else None


def runs_here(target: Target, host: Target) -> bool:
    """Return whether code for `target` runs on `host`: same versions, no feature missing."""
    same = target._replace(cpu="", features="") == host._replace(cpu="", features="")
    return same and _enabled(target.features) <= _enabled(host.features)


@functools.cache
def host_target() -> Target:
    """Return the target for which this process compiles."""
    import llvmlite
    import numba
    from numba.core.registry import cpu_target

    triple, cpu, features = cpu_target.target_context.codegen().magic_tuple()
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    return Target(python, numba.__version__, llvmlite.__version__, triple, cpu, features)


def compiled_files() -> set[str]:
    """Return the names of the files in the cache folder that belong to the present sources."""
    folder = cache_folder()
    return {f.name for f in folder.glob(f"*{SUFFIX}") if _is_current(f.name)} if folder else set()


class KernelCache:
    """The compiled versions of one function: what a dispatcher of Numba uses as its cache."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @functools.cached_property
    def _prefix(self) -> str:
        """The beginning of the names of its files."""
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        name = name.removeprefix(_PACKAGE + ".").replace("<", "").replace(">", "")
        return f"{name}-{source_hash(self._function.__module__)}"

    @property
    def cache_path(self) -> str:
        """The folder of new files; empty if there is none."""
        return str(cache_folder() or "")

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled version for a signature, or None: Numba compiles it then."""
        from numba.core.compiler import CompileResult
        from numba.core.runtime.nrt import rtsys

        for folder, target in _places():
            data = _read(folder / self._file_name(signature, target))
            if data is not None:
                # Numba's own cache refreshes the context here, which imports everything that
                # compiling can need. Compiled code needs the memory manager only.
                rtsys.initialize(context)
                return CompileResult._rebuild(context, *pickle.loads(data))
        for observer in tuple(_observers):
            observer(self._prefix)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a compiled version; silently not, where no folder can be written to."""
        from numba.core.serialize import dumps

        folder = cache_folder()
        if folder is None or result.lifted or result.library.has_dynamic_globals:
            return
        with contextlib.suppress(OSError):
            # Without the types of all variables, which nobody reads
            content = dumps(result._replace(type_annotation="")._reduce())
            _write(folder / self._file_name(signature, host_target()), content)
            self._delete_old(folder)

    def enable(self) -> None:
        """Do nothing; a part of Numba's interface."""

    disable = flush = enable

    def _file_name(self, signature: Any, target: Target) -> str:
        key = repr((str(signature), tuple(target), _FORMAT)).encode()
        return f"{self._prefix}.{hashlib.sha256(key).hexdigest()[:20]}{SUFFIX}"

    def _delete_old(self, folder: Path) -> None:
        """Delete old files of earlier versions of this function, and of killed processes."""
        any_version = self._prefix.rsplit("-", 1)[0]
        for file in folder.glob(f"{any_version}-*"):
            if not file.name.startswith(self._prefix) or file.suffix == _TEMPORARY:
                with contextlib.suppress(OSError):
                    if time.time() - file.stat().st_mtime > _OLD:
                        file.unlink()


def _places() -> list[tuple[Path, Target]]:
    """Return where to look, and for which target."""
    shipped = prebuilt_target()
    places = [(folder, host_target()) for folder in _possible_folders() if folder.is_dir()]
    return places if shipped is None else [*places, (PREBUILT, shipped)]


def _is_current(file_name: str) -> bool:
    name, _, rest = file_name.rpartition("-")
    module = f"{_PACKAGE}.{name.rpartition('.')[0]}"
    return rest.split(".")[0] == source_hash(module)


def _collect_sources(module: str, found: dict[str, bytes]) -> None:
    """Add the source of a module and of every kernel module that it imports."""
    if module in found or module in _NOT_COMPILED:
        return
    parts = module.removeprefix(_PACKAGE).strip(".").split(".")
    path = _FOLDER.joinpath(*parts).with_suffix(".py")
    # A module elsewhere (a test) is known by its name only
    found[module] = path.read_bytes() if path.is_file() else b""
    for match in _IMPORT.finditer(found[module]):
        _collect_sources(match[1].decode(), found)


def _enabled(features: str) -> set[str]:
    return {name for name in features.split(",") if name.startswith("+")}


def _read(path: Path) -> bytes | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    content = data[_DIGEST:]
    return content if hashlib.sha256(content).digest() == data[:_DIGEST] else None


def _write(path: Path, content: bytes) -> None:
    """Write a file that other processes see whole or not at all."""
    temporary = path.with_name(f"{path.name}.{os.getpid():x}-{time.time_ns():x}{_TEMPORARY}")
    try:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _possible_folders() -> list[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return [Path(chosen) / "coterie"] if chosen else [_FOLDER / "__pycache__", _user_folder()]


def _user_folder() -> Path:
    """Return the folder of this user for files that can be made again."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "coterie" / "kernels"
