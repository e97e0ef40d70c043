"""`coterie doctor`: versions and settings of this installation, for a bug report."""

from __future__ import annotations

from typing import Any

from coterie.base.json_values import JsonObject
from coterie.cli.session import Session, command

_REQUIRED = (
    "numpy",
    "scipy",
    "numba",
    "pyarrow",
    "typer",
    "rich",
    "jinja2",
    "pooch",
    "safetensors",
)
_OPTIONAL = ("distributed", "networkx", "igraph", "pandas", "polars", "sklearn", "resvg_py")

EXAMPLES = "Example: coterie doctor --json > doctor.json"


@command(unused=("seed",), answers=True)
def run(session: Session) -> JsonObject:
    """Check the installation and print versions.

    Shows versions of packages, cores, memory and what is compiled, and lists problems with
    their solutions. Add the output to a bug report.
    """
    import os
    import platform
    import shutil

    import coterie
    from coterie.base.machine import available_cores, physical_memory

    findings: JsonObject = {
        "coterie": coterie.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": available_cores(),
        "memory_gb": round(physical_memory() / 1e9, 1),
        "threads": session.threads or available_cores(),
        "packages": {name: _version(name) for name in _REQUIRED},
        "optional": {name: _version(name) for name in _OPTIONAL},
        "numba": _numba(),
        "data": os.environ.get("COTERIE_DATA") or "not set (COTERIE_DATA)",
        "free_disk_gb": round(shutil.disk_usage(".").free / 1e9, 1),
    }
    findings["problems"] = _problems(findings)
    session.show_table((key, _text(value)) for key, value in findings.items())
    n_problems = len(findings["problems"])
    session.summary = f"{n_problems} problems found" if n_problems else "no problems found"
    return findings


def _version(module: str) -> str | None:
    from importlib import metadata

    distribution = {"sklearn": "scikit-learn"}.get(module, module)
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _numba() -> JsonObject:
    """Compile a kernel, unless it is stored, and report whether results can be stored."""
    import time

    import numpy as np
    from numba.core import config

    from coterie.kernels.numba.cache import cache_folder, compiled_files, prebuilt_target
    from coterie.kernels.numba.random import uniform_block

    layer = getattr(config, "THREADING_LAYER", "unknown")  # set when Numba reads its settings
    start = time.perf_counter()
    uniform_block(np.uint64(1), 8)
    taken = time.perf_counter() - start
    folder, shipped = cache_folder(), prebuilt_target()
    return {
        "compile_seconds": round(taken, 3),
        "cached": bool(uniform_block.stats.cache_hits),  # type: ignore[attr-defined]
        "cache_path": str(folder or ""),
        "cache_writable": folder is not None,
        "compiled_kernels": len({name.rsplit(".", 2)[0] for name in compiled_files()}),
        "prebuilt": shipped.cpu if shipped else None,
        "threading_layer": f"{layer} (not used: coterie has its own threads)",
    }


def _problems(findings: JsonObject) -> list[str]:
    problems = [
        f"{name} is missing: pip install {name}"
        for name, version in findings["packages"].items()
        if version is None
    ]
    if not findings["numba"]["cache_writable"]:
        problems.append(
            "compiled code cannot be stored, so every command compiles again: set NUMBA_CACHE_DIR "
            "to a folder that you can write to"
        )
    return problems


def _line(name: str, value: Any) -> str:
    """Write one entry for people.

    >>> _line("cached", False)
    'cached no (compiled now; the next run loads it from the cache)'
    >>> _line("cache_writable", True), _line("pandas", None)
    ('cache_writable yes', 'pandas not installed')
    >>> _line("compiled_kernels", 3)
    'compiled_kernels 3 (`coterie warmup` compiles all of them)'
    """
    if name == "compiled_kernels":
        return f"compiled_kernels {value} (`coterie warmup` compiles all of them)"
    if name == "prebuilt":
        return f"prebuilt {value or 'none (only a wheel made by `make wheel` has them)'}"
    if name == "cached" and not value:
        return "cached no (compiled now; the next run loads it from the cache)"
    if isinstance(value, bool):
        return f"{name} {'yes' if value else 'no'}"
    return f"{name} {'not installed' if value is None else value}"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "\n".join(_line(name, entry) for name, entry in value.items())
    if isinstance(value, list):
        return "\n".join(value) or "none found"
    return str(value)
