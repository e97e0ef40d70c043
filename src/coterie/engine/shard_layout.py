"""Cut data into shards, and merge results in a fixed order.

Both follow from the data alone, so a result does not depend on the number of threads or workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")
Forest = dict[tuple[int, int], T]  # (level, place on that level) -> the merged parts below it

_EDGES_PER_SHARD = 1 << 15
_MAX_SHARDS = 64


def shard_count(edges: int) -> int:
    """Return the number of shards: enough to balance threads, few enough to merge quickly.

    >>> shard_count(0), shard_count(100_000), shard_count(10**9)
    (1, 4, 64)
    """
    return int(min(_MAX_SHARDS, max(1, -(-edges // _EDGES_PER_SHARD))))


def cut_rows(indptr: np.ndarray, shards: int) -> np.ndarray:
    """Return row boundaries (shards + 1) that give every shard nearly the same number of edges.

    >>> cut_rows(np.array([0, 4, 5, 6, 8]), 2)
    array([0, 1, 4])
    """
    wanted = np.linspace(0, indptr[-1], shards + 1)
    cuts = np.searchsorted(indptr, wanted, side="left")
    cuts[0], cuts[-1] = 0, len(indptr) - 1
    return np.maximum.accumulate(cuts)


def merge_tree(parts: Sequence[T], merge: Callable[[T, T], T]) -> T:
    """Merge neighbours pairwise until one is left: the same order of summation everywhere.

    >>> merge_tree(["a", "b", "c"], lambda a, b: f"({a}{b})")
    '((ab)c)'
    """
    forest = {(0, number): part for number, part in enumerate(parts)}
    merge_forest(forest, len(parts), merge)
    (root,) = forest.values()
    return root


def merge_forest(forest: Forest[T], leaves: int, merge: Callable[[T, T], T]) -> None:
    """Merge every pair of the tree that has both parts in the forest; changes the forest.

    A run of neighbours can be merged where it was computed, whatever its bounds. Merging several
    runs gives the same bits as merging all parts at once.

    >>> run = {(0, 1): "b", (0, 2): "c", (0, 3): "d"}
    >>> merge_forest(run, 5, lambda a, b: f"({a}{b})")
    >>> run
    {(0, 1): 'b', (1, 1): '(cd)'}
    """
    level, width = 0, leaves
    while width > 1:
        for left in range(0, width, 2):
            is_last = left + 1 == width
            if (level, left) in forest and (is_last or (level, left + 1) in forest):
                part = forest.pop((level, left))
                if not is_last:
                    part = merge(part, forest.pop((level, left + 1)))
                forest[level + 1, left // 2] = part
        level, width = level + 1, (width + 1) // 2


def spans(count: int, groups: int) -> list[range]:
    """Cut `count` shards into at most `groups` runs of neighbours of nearly equal length.

    >>> spans(7, 3), spans(2, 3)
    ([range(0, 2), range(2, 4), range(4, 7)], [range(0, 1), range(1, 2)])
    """
    groups = max(1, min(count, groups))
    cuts = [count * place // groups for place in range(groups + 1)]
    return [range(first, last) for first, last in pairwise(cuts) if last > first]


def merge_run(
    results: Iterable[Any], first: int, leaves: int, merge: Callable[[Any, Any], Any], keep: bool
) -> tuple[list[Any], Forest[Any]]:
    """Merge the results of neighbouring shards as they arrive; return (kept, forest).

    With `keep` a result is a pair: the first entry is kept, the second is merged."""
    kept: list[Any] = []
    forest: Forest[Any] = {}
    for number, result in enumerate(results, first):
        if keep:
            kept.append(result[0])
        forest[0, number] = result[1] if keep else result
        merge_forest(forest, leaves, merge)
    return kept, forest


def merge_runs(forests: Iterable[Forest[T]], leaves: int, merge: Callable[[T, T], T]) -> Forest[T]:
    """Merge several runs; all runs together give one tree."""
    whole = {node: part for forest in forests for node, part in forest.items()}
    merge_forest(whole, leaves, merge)
    return whole


def merge_each(merge: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a function that merges tuples entry by entry.

    >>> merge_each(max)((1, 5), (2, 3))
    (2, 5)
    """
    return lambda a, b: tuple(map(merge, a, b))
