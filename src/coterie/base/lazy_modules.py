"""Modules that are loaded when they are first used: it takes long, and is often not needed."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import LazyLoader, find_spec, module_from_spec
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


def delay_submodules_of_numpy() -> None:
    """Have `numpy.f2py` and `numpy.testing` loaded when something in them is looked up.

    SciPy refers to every submodule of NumPy, and with these two takes half as long again to load.
    """
    import numpy as np

    for name in ("f2py", "testing"):
        full_name = f"numpy.{name}"
        spec = find_spec(full_name) if full_name not in sys.modules else None
        if spec is None or spec.loader is None:
            continue
        spec.loader = LazyLoader(spec.loader)
        module = sys.modules[full_name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(np, name, module)


_igraph_draws = True


def leave_out_drawing_of_igraph() -> None:
    """Have `load_igraph` load igraph without matplotlib: only where nobody else uses igraph."""
    global _igraph_draws
    _igraph_draws = False


def load_igraph() -> Any:
    """Return igraph, which loads all of matplotlib for drawing; that takes a third of a second."""
    hides = not (_igraph_draws or {"igraph", "matplotlib"} & sys.modules.keys())
    modules: dict[str, Any] = sys.modules
    if hides:
        modules["matplotlib"] = None  # the documented way to make an import fail
    try:
        return import_module("igraph")
    finally:
        if hides:
            del modules["matplotlib"]


pyarrow_compute = LazyModule("pyarrow.compute")
scipy_lapack = LazyModule("scipy.linalg.lapack")
scipy_csgraph = LazyModule("scipy.sparse.csgraph")
scipy_optimize = LazyModule("scipy.optimize")
scipy_sparse = LazyModule("scipy.sparse")
scipy_sparse_linalg = LazyModule("scipy.sparse.linalg")
