"""Cut data into shards, and merge results in a fixed order.

Both follow from the data alone, so a result does not depend on the number of threads or workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
Forest = dict[tuple[int, int], T]  # (level, place on that level) -> the merged parts below it
Merge = Callable[[Any, Any], Any]

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


class Reduction(NamedTuple):
    """The way in which the results of a run of neighbouring calls are merged."""

    merge: Merge
    run: range  # the calls among all
    leaves: int  # all calls
    keep: bool = False  # a result is a pair: the first entry is kept, the second is merged
    n_totals: int = 0  # if positive, parts are tuples of that length, merged entry by entry

    @property
    def parts_only(self) -> bool:
        """Whether a run returns nothing but the merged parts."""
        return not (self.keep or self.n_totals)

    def merged(self, results: Iterable[Any], first: int) -> tuple[list[Any], Forest[Any]]:
        """Merge results as they arrive; `first` counts from the start of the run.

        Return what is kept, and the merged parts."""
        kept: list[Any] = []
        forest: Forest[Any] = {}
        for number, result in enumerate(results, self.run.start + first):
            if self.keep:
                kept.append(result[0])
            forest[0, number] = result[1] if self.keep else result
            merge_forest(forest, self.leaves, self.merge_parts)
        return kept, forest

    def merge_parts(self, a: Any, b: Any) -> Any:
        """Merge two parts."""
        return tuple(map(self.merge, a, b)) if self.n_totals else self.merge(a, b)


def merge_runs(forests: Iterable[Forest[T]], leaves: int, merge: Callable[[T, T], T]) -> Forest[T]:
    """Merge several runs; all runs together give one tree."""
    whole = {node: part for forest in forests for node, part in forest.items()}
    merge_forest(whole, leaves, merge)
    return whole
