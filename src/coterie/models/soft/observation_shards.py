"""Observations cut into shards: blocks of rows with all of their observations."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.engine import cut_rows, shard_count
from coterie.kernels.hard.row_blocks import RowBlock
from coterie.kernels.soft.em import Shard
from coterie.kernels.soft.grouping import count_groups, counting_order, group_starts

_OBSERVATIONS_PER_COLUMN = 8
_MAX_COLUMN_SUMS = 32
_CACHE = 16 << 20  # bytes; fixed, so that a result never depends on the machine
_BEYOND_CACHE = 2.6


class Pairs(NamedTuple):
    """Observed pairs with the level of each; a repeated pair is another observation."""

    rows: np.ndarray  # int32
    columns: np.ndarray  # int32
    levels: np.ndarray  # int32, level of each pair
    n_rows: int
    n_columns: int
    n_levels: int

    def transposed(self) -> Pairs:
        """Return the same observations with rows and columns exchanged."""
        return Pairs(
            self.columns, self.rows, self.levels, self.n_columns, self.n_rows, self.n_levels
        )


class Shards(NamedTuple):
    """Blocks of rows; block b holds rows cuts[b]:cuts[b + 1]."""

    parts: list[Shard]
    cuts: np.ndarray


def grouping_columns_is_cheaper(pairs: Pairs, groups: tuple[int, int]) -> bool:
    """Return whether grouping by (column, level) costs less than grouping by (row, level).

    A group costs k l, an observation three times the number of groups of the other side, and more
    if the memberships of that side and their sums do not fit the cache (measured on 10 million
    ratings).
    """
    order = counting_order(np.arange(len(pairs.levels)), pairs.levels, pairs.n_levels)

    def cost(node: np.ndarray, others: int, width: int) -> float:
        table = 2 * others * width * np.dtype(np.float64).itemsize
        slow = _BEYOND_CACHE if table > _CACHE else 1.0
        made = count_groups(order, node, pairs.levels) * groups[0] * groups[1]
        return float(made + 3 * slow * len(node) * width)

    return cost(pairs.columns, pairs.n_rows, groups[0]) < cost(
        pairs.rows, pairs.n_columns, groups[1]
    )


def cut_shards(pairs: Pairs, *, column_sums: bool, row_cost: int = 0) -> Shards:
    """Cut the observations into shards of nearly equal work, sorted by level, row and column.

    A row costs its number of observations plus `row_cost`. If every shard computes sums over all
    columns (`column_sums`), the number of shards is limited so that these sums do not exceed the
    size of the observations. The level comes first so that its k × l cells of theta and eta stay
    in cache.
    """
    degree = np.bincount(pairs.rows, minlength=pairs.n_rows)
    cuts = _cuts(pairs, degree + row_cost, column_sums)
    owner = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))[pairs.rows].astype(np.int32)
    order = counting_order(np.arange(len(owner)), pairs.columns, pairs.n_columns)
    order = counting_order(order, pairs.rows, pairs.n_rows)
    order = counting_order(order, pairs.levels, pairs.n_levels)
    order = counting_order(order, owner, len(cuts) - 1)
    starts = group_starts(order, pairs.rows, pairs.levels)
    first = order[starts[:-1]]
    row, code, column = pairs.rows[first], pairs.levels[first], pairs.columns[order]
    edge = np.concatenate([[0], np.cumsum(degree)])[cuts]
    bounds = np.searchsorted(starts, edge)
    return Shards(
        [
            Shard(
                starts[a : b + 1] - starts[a],
                row[a:b] - np.int32(low),
                np.ascontiguousarray(code[a:b]),
                column[starts[a] : starts[b]],
            )
            for (a, b), low in zip(pairwise(bounds), cuts, strict=False)
        ],
        cuts,
    )


def _cuts(pairs: Pairs, cost: np.ndarray, column_sums: bool) -> np.ndarray:
    """Return the row boundaries of the shards."""
    work = np.concatenate([[0], np.cumsum(cost)])
    count = shard_count(int(work[-1]))
    if column_sums:
        fitting = len(pairs.rows) // (_OBSERVATIONS_PER_COLUMN * max(pairs.n_columns, 1))
        count = min(count, _MAX_COLUMN_SUMS, max(2, fitting))
    cuts = np.unique(cut_rows(work, min(count, max(pairs.n_rows, 1))))
    return cuts if len(cuts) > 1 else np.array([0, 0])  # no rows: one empty block


def shard_of_rows(block: RowBlock) -> Shard:
    """Return the shard of a block of rows that is already cut."""
    row = np.repeat(np.arange(len(block.indptr) - 1, dtype=np.int32), np.diff(block.indptr))
    order = np.lexsort((block.indices, row, block.channels))
    starts = group_starts(order, row, block.channels)
    first = order[starts[:-1]]
    return Shard(starts, row[first], block.channels[first], block.indices[order])
