"""Observations cut into shards: blocks of rows with all that was observed of them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.engine import cut_rows, shard_count
from coterie.kernels.grouping import count_groups, counting_order, group_starts
from coterie.kernels.soft import Shard

_OBSERVATIONS_A_COLUMN = 8
_MOST_COLUMN_SUMS = 32
_CACHE = 16 << 20  # bytes; fixed, so that a result never depends on the machine
_BEYOND_CACHE = 2.6


class Pairs(NamedTuple):
    """Observed pairs: who, with whom, in which configuration; repeats are observations too."""

    rows: np.ndarray  # int32
    columns: np.ndarray  # int32
    codes: np.ndarray  # int32
    n_rows: int
    n_columns: int
    n_codes: int

    def transposed(self) -> Pairs:
        """The same observations with rows and columns exchanged."""
        return Pairs(self.columns, self.rows, self.codes, self.n_columns, self.n_rows, self.n_codes)


class Shards(NamedTuple):
    """Blocks of rows; block b holds the rows cuts[b]:cuts[b + 1]."""

    parts: list[Shard]
    cuts: np.ndarray


def columns_are_cheaper(pairs: Pairs, groups: tuple[int, int]) -> bool:
    """Whether to group by (column, configuration) rather than by (row, configuration).

    A group costs k l, an observation thrice the width of the other side's memberships, and more
    where those and their sums leave the caches (measured: 10 million ratings).
    """
    order = counting_order(np.arange(len(pairs.codes)), pairs.codes, pairs.n_codes)

    def cost(node: np.ndarray, others: int, width: int) -> float:
        table = 2 * others * width * np.dtype(np.float64).itemsize
        slow = _BEYOND_CACHE if table > _CACHE else 1.0
        made = count_groups(order, node, pairs.codes) * groups[0] * groups[1]
        return float(made + 3 * slow * len(node) * width)

    return cost(pairs.columns, pairs.n_rows, groups[0]) < cost(
        pairs.rows, pairs.n_columns, groups[1]
    )


def cut(pairs: Pairs, *, column_sums: bool, row_cost: int = 0) -> Shards:
    """Shards of nearly equal work, sorted by row, configuration and column.

    A row costs its observations and `row_cost`. Where every shard makes sums over all columns
    (`column_sums`) there are no more shards than keep those within the size of the observations.
    """
    order = np.arange(len(pairs.codes))
    order = counting_order(order, pairs.columns, pairs.n_columns)
    order = counting_order(order, pairs.codes, pairs.n_codes)
    order = counting_order(order, pairs.rows, pairs.n_rows)
    starts = group_starts(order, pairs.rows, pairs.codes)
    first = order[starts[:-1]]
    row, code = pairs.rows[first], pairs.codes[first]
    column = pairs.columns[order]
    work = np.zeros(pairs.n_rows + 1, np.int64)
    np.cumsum(np.bincount(pairs.rows, minlength=pairs.n_rows) + row_cost, out=work[1:])
    count = shard_count(int(work[-1]))
    if column_sums:
        fitting = len(order) // (_OBSERVATIONS_A_COLUMN * max(pairs.n_columns, 1))
        count = min(count, _MOST_COLUMN_SUMS, max(2, fitting))
    cuts = np.unique(cut_rows(work, min(count, max(pairs.n_rows, 1))))
    if len(cuts) == 1:  # no rows at all: one empty block
        cuts = np.array([0, 0])
    parts = [_block(starts, row, code, column, low, high) for low, high in pairwise(cuts)]
    return Shards(parts, cuts)


def _block(
    starts: np.ndarray,
    row: np.ndarray,
    code: np.ndarray,
    column: np.ndarray,
    low: int,
    high: int,
) -> Shard:
    a, b = np.searchsorted(row, [low, high])
    edges = slice(starts[a], starts[b])
    return Shard(
        starts[a : b + 1] - starts[a],
        row[a:b] - np.int32(low),
        np.ascontiguousarray(code[a:b]),
        column[edges],
    )
