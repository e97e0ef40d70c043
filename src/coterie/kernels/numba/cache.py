"""Compiled kernels on disk: one file per kernel, signature, processor and version.

Numba's own cache goes by the date of one source file. It does not notice a changed kernel in
another file, and forgets everything when a checkout changes the dates. Here a file name contains a
hash of the source of the kernel's module and of every kernel module that it imports, and of the
versions of Python, Numba and llvmlite, the processor and the argument types. So a file is either
right or is not found.

    kernels/prebuilt/           compiled for a whole family of processors; comes with a wheel
                                (tools/build_wheel.py; COTERIE_PREBUILT=off ignores it)
    the first of these that can be written to:
        $NUMBA_CACHE_DIR/coterie
        kernels/__pycache__     next to the sources
        the user's cache folder

A function that only other kernels call is stored as `.part`: code from which their machine code is
made, and nothing that could run (`quick_compile.py`). Wheels do not need these files.

A process that compiles a version holds a lock on the file `compiling/NAME`; others that need the
same version wait for it. So a helper (`background.py`) and a command share the work.

A file starts with the SHA-256 of the rest: a damaged one counts as missing. Like Numba's cache, it
holds machine code: keep the folder as safe as the installation.
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
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

from coterie.kernels.numba.dispatch import NotCompiledError, about_to_compile, leaves_to_others
from coterie.kernels.numba.file_lock import lock_file
from coterie.kernels.numba.quick_compile import compiling_kernels

SUFFIX = ".nbc"
LINK_ONLY_SUFFIX = ".part"  # code for other kernels, which are compiled with it
PREBUILT = Path(__file__).parents[1] / "prebuilt"
TARGET = "target.json"

_PACKAGE = "coterie.kernels"
_FOLDER = Path(__file__).parents[1]
_IMPORT = re.compile(
    rb"^\s*from (coterie\.kernels[\w.]*) import|^\s*import (coterie\.kernels[\w.]*)", re.M
)
# Changes here do not change compiled code
_NOT_COMPILED = {
    f"{_PACKAGE}.numba.{name}"
    for name in (
        "background",
        "cache",
        "compile_events",
        "compile_plans",
        "dispatch",
        "file_lock",
        "quick_compile",
    )
}
_FORMAT = 2  # of the files; also changed when the same source gives other code
_OLD = 30 * 86400.0  # seconds after which a file of another version of the source is deleted
_DIGEST = 32
_TEMPORARY = ".tmp"
_CLAIMS = "compiling"
_LONGEST_WAIT = 60.0  # seconds for another process, which may have been stopped
_LOOK_EVERY = 0.02
_claims: dict[Path, IO[bytes]] = {}  # what this process compiles now


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
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(chosen) / "coterie"] if chosen else [_FOLDER / "__pycache__", _user_folder()]
    for place in places:
        with contextlib.suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            if os.access(place, os.W_OK):
                return place
    return None


def has_file(function: Any, *, look_again: bool = False) -> bool:
    """Return whether a compiled version of this function may be on disk, for any arguments."""
    if look_again:
        _prefixes_on_disk.cache_clear()
    return _file_prefix(function) in _prefixes_on_disk()


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

    def __init__(
        self, function: Any, before_compiling: Callable[[], None], *, link_only: bool = False
    ) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._prefix = _file_prefix(function)
        self._suffix = LINK_ONLY_SUFFIX if link_only else SUFFIX
        self._before_compiling = before_compiling

    @property
    def cache_path(self) -> str:
        """The folder of new files; empty if there is none."""
        return str(cache_folder() or "")

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the compiled version for a signature, or None after preparing to compile it."""
        from numba.core.compiler import CompileResult
        from numba.core.runtime.nrt import rtsys

        # Numba refreshes the context here, which imports everything that compiling can need: most
        # of the time of a small command. Compiled code needs the memory manager only.
        with compiling_kernels(False):
            rtsys.initialize(context)
        data = self._stored(signature)
        if data is None:
            about_to_compile(self._name)
            data = self._made_by_another_process(signature)
        if data is not None:
            return CompileResult._rebuild(context, *pickle.loads(data))
        context.refresh()
        self._before_compiling()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a compiled version; silently not, where no folder can be written to."""
        from numba.core.serialize import dumps

        folder = cache_folder()
        if folder is None or result.lifted or result.library.has_dynamic_globals:
            return
        name = self._file_name(signature, host_target())
        with contextlib.suppress(OSError):
            # Without the types of all variables, which nobody reads
            _write(folder / name, dumps(result._replace(type_annotation="")._reduce()))
            self._delete_old(folder)
        _release(folder / _CLAIMS / name)

    def enable(self) -> None:
        """Do nothing; a part of Numba's interface."""

    disable = flush = enable

    def has_stored(self, signature: Any) -> bool:
        """Return whether there is a file for a signature."""
        places = ((folder, self._file_name(signature, target)) for folder, target in _places())
        return any((folder / name).is_file() for folder, name in places)

    def _stored(self, signature: Any) -> bytes | None:
        for folder, target in _places():
            data = _read(folder / self._file_name(signature, target))
            if data is not None:
                return data
        return None

    def _made_by_another_process(self, signature: Any) -> bytes | None:
        """Wait while another process compiles this version; None: this process has to.

        Kernels do not call each other in circles, so two processes never wait for each other."""
        folder = cache_folder()
        if folder is None:
            return None
        path = folder / _CLAIMS / self._file_name(signature, host_target())
        end = time.monotonic() + _LONGEST_WAIT
        while not _claim(path):
            if leaves_to_others(self):
                raise NotCompiledError(self._name)
            if time.monotonic() > end:
                return None
            time.sleep(_LOOK_EVERY)
        # The other process may have stored it just before this one got the claim
        data = self._stored(signature)
        if data is not None:
            _release(path)
        return data

    def _file_name(self, signature: Any, target: Target) -> str:
        key = repr((str(signature), tuple(target), _FORMAT)).encode()
        return f"{self._prefix}.{hashlib.sha256(key).hexdigest()[:20]}{self._suffix}"

    def _delete_old(self, folder: Path) -> None:
        """Delete old files of earlier versions of this function, and of killed processes."""
        any_version = self._prefix.rsplit("-", 1)[0]
        for file in folder.glob(f"{any_version}-*"):
            if not file.name.startswith(self._prefix) or file.suffix == _TEMPORARY:
                with contextlib.suppress(OSError):
                    if time.time() - file.stat().st_mtime > _OLD:
                        file.unlink()


def release_claims() -> None:
    """Give up what this process claimed but did not store, after an error."""
    for path in tuple(_claims):
        _release(path)


def _claim(path: Path) -> bool:
    """Return whether this process may compile a version: no other process does now.

    True where files cannot be locked."""
    try:
        path.parent.mkdir(exist_ok=True)
        file = open(path, "ab")  # noqa: SIM115  closed by `_release`
    except OSError:
        return True
    try:
        if lock_file(file):
            _claims[path] = file
            return True
    except OSError:
        file.close()
        return True
    file.close()
    return False


def _release(path: Path) -> None:
    file = _claims.pop(path, None)
    if file is not None:
        with contextlib.suppress(OSError):
            path.unlink()
        file.close()


def _places() -> list[tuple[Path, Target]]:
    """Return where to look, and for which target."""
    places = []
    folder, shipped = cache_folder(), prebuilt_target()
    if folder is not None:
        places.append((folder, host_target()))
    if shipped is not None:
        places.append((PREBUILT, shipped))
    return places


def _file_prefix(function: Any) -> str:
    name = f"{function.__module__.removeprefix(_PACKAGE + '.')}.{function.__qualname__}"
    return f"{name.replace('<', '').replace('>', '')}-{source_hash(function.__module__)}"


@functools.cache
def _prefixes_on_disk() -> frozenset[str]:
    prefixes = set()
    for folder in (cache_folder(), PREBUILT):
        if folder is not None and folder.is_dir():
            names = (name for name in os.listdir(folder) if name.endswith(SUFFIX))
            prefixes |= {name.rsplit(".", 2)[0] for name in names}
    return frozenset(prefixes)


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
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{_TEMPORARY}")
    try:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _user_folder() -> Path:
    """Return the folder of this user for files that can be made again."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "coterie" / "kernels"
