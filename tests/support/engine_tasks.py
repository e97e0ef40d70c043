"""Tasks for the engine tests, in a module that workers can import."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coterie.engine.shard_storage import ShardRef, write_manifest, write_shard


class Part(NamedTuple):
    """A shard of test data."""

    numbers: np.ndarray
    number: int
    weights: np.ndarray | None = None


def step(part: Part, rows: np.ndarray, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute one iteration: (rows to keep, part to sum up)."""
    rows = np.sin(rows + part.numbers * shared.sum() + part.number)
    return rows, rows[:2] * 1e-3


def renewed(total: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Return the value that the next iteration broadcasts; computed on a worker."""
    return total + 0.1 * shared


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Add two arrays."""
    return a + b


def die_once(part: Part, marker: str) -> int:
    """Kill the worker that runs this task, the first time it is called."""
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return part.number
    os.kill(os.getpid(), 9)
    return -1


def sleep(seconds: float) -> float:
    """Wait, then return the seconds."""
    time.sleep(seconds)
    return seconds


def write_shards(
    folder: Path, parts: Iterable[Any], kind: type[Any], whole: dict[str, Any]
) -> list[ShardRef]:
    """Write the parts one after another and, last, the manifest."""
    refs = [write_shard(folder, number, part) for number, part in enumerate(parts)]
    write_manifest(folder, refs, kind, whole)
    return refs
