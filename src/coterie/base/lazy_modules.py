"""Modules that are loaded when they are first used: it takes long, and is often not needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module and loads it when something in it is looked up.

    >>> LazyModule("math").sqrt(4.0)
    2.0
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


pyarrow_compute = LazyModule("pyarrow.compute")
scipy_lapack = LazyModule("scipy.linalg.lapack")
scipy_csgraph = LazyModule("scipy.sparse.csgraph")
scipy_optimize = LazyModule("scipy.optimize")
scipy_sparse = LazyModule("scipy.sparse")
scipy_sparse_linalg = LazyModule("scipy.sparse.linalg")
