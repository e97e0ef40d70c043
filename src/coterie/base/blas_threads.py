"""Limit the threads of the BLAS libraries that NumPy and SciPy bring with them.

The vectors of an eigenvalue solver are too short for several threads: these wait for each other
while they keep a core busy, and take several times the processor time of one thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads")


class _Library(NamedTuple):
    """How one library is asked for its number of threads, and told another."""

    get: Callable[[], int]
    set: Callable[[int], None]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread inside this block.

    It applies to the whole process, and to the OpenBLAS in the wheels of NumPy and SciPy if it is
    loaded: with any other BLAS nothing changes.
    """
    found = _libraries()
    before = [library.get() for library in found]
    for library in found:
        library.set(1)
    try:
        yield
    finally:
        for library, threads in zip(found, before, strict=True):
            library.set(threads)


def _libraries() -> list[_Library]:
    """Return the libraries that are loaded."""
    found = []
    only_loaded = getattr(os, "RTLD_NOLOAD", 0) | ctypes.DEFAULT_MODE
    for package in ("numpy", "scipy"):
        home = Path(str(import_module(package).__file__)).parent.parent
        for path in sorted((home / f"{package}.libs").glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path), only_loaded)
            except OSError:  # nothing has used it so far
                continue
            for name in _NAMES:
                if hasattr(library, name.format("set")):
                    get, change = (getattr(library, name.format(verb)) for verb in ("get", "set"))
                    found.append(_Library(get, change))
                    break
    return found
