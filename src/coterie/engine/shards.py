"""Shards follow from the data alone, so a result does not depend on who computes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

_EDGES_A_SHARD = 1 << 15
_MOST_SHARDS = 64


def shard_count(edges: int) -> int:
    """How many shards `edges` edges are cut into: enough to balance threads, few enough to merge.

    >>> shard_count(0), shard_count(100_000), shard_count(10**9)
    (1, 4, 64)
    """
    return int(min(_MOST_SHARDS, max(1, -(-edges // _EDGES_A_SHARD))))


def cut_rows(indptr: np.ndarray, shards: int) -> np.ndarray:
    """Row boundaries (shards + 1) that cut a CSR into parts of nearly equal edge count.

    >>> cut_rows(np.array([0, 4, 5, 6, 8]), 2)
    array([0, 1, 4])
    """
    wanted = np.linspace(0, indptr[-1], shards + 1)
    cuts = np.searchsorted(indptr, wanted, side="left")
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    return np.maximum.accumulate(cuts)


def merge_tree(parts: Sequence[T], merge: Callable[[T, T], T]) -> T:
    """Merge neighbours pairwise until one is left: the same order of sums on every machine.

    >>> merge_tree(["a", "b", "c"], lambda a, b: f"({a}{b})")
    '((ab)c)'
    """
    level = list(parts)
    while len(level) > 1:
        level = [
            merge(level[i], level[i + 1]) if i + 1 < len(level) else level[i]
            for i in range(0, len(level), 2)
        ]
    return level[0]
