"""Observations cut into shards, and the sums of the shards put together again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.engine import cut_rows, merge_tree, shard_count
from coterie.kernels.grouping import count_groups, counting_order, group_starts
from coterie.kernels.soft import Shard, Stats

_OBSERVATIONS_A_COLUMN = 4


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

    def blocks(self, rows: np.ndarray) -> list[np.ndarray]:
        """The rows of each block: views."""
        return [rows[a:b] for a, b in pairwise(self.cuts)]


def groups_by_row(pairs: Pairs) -> tuple[int, int]:
    """How many distinct (row, configuration) and (column, configuration) there are."""
    order = counting_order(np.arange(len(pairs.codes)), pairs.codes, pairs.n_codes)
    return (
        count_groups(order, pairs.rows, pairs.codes),
        count_groups(order, pairs.columns, pairs.codes),
    )


def cut(pairs: Pairs, *, column_sums: bool) -> Shards:
    """Shards of nearly equal size, sorted by row, configuration and column.

    Where every shard makes sums over all columns (`column_sums`) there are no more shards than
    keep those sums within the size of the observations.
    """
    order = np.arange(len(pairs.codes))
    order = counting_order(order, pairs.columns, pairs.n_columns)
    order = counting_order(order, pairs.codes, pairs.n_codes)
    order = counting_order(order, pairs.rows, pairs.n_rows)
    starts = group_starts(order, pairs.rows, pairs.codes)
    first = order[starts[:-1]]
    row, code = pairs.rows[first], pairs.codes[first]
    column = pairs.columns[order]
    ends = np.zeros(pairs.n_rows + 1, np.int64)
    np.cumsum(np.bincount(pairs.rows, minlength=pairs.n_rows), out=ends[1:])
    count = shard_count(len(order))
    if column_sums:
        fitting = len(order) // (_OBSERVATIONS_A_COLUMN * max(pairs.n_columns, 1))
        count = min(count, max(2, fitting))
    cuts = np.unique(cut_rows(ends, min(count, max(pairs.n_rows, 1))))
    if len(cuts) == 1:  # no rows at all: one empty block
        cuts = np.array([0, 0])
    return Shards(
        [_block(starts, row, code, column, low, high) for low, high in pairwise(cuts)],
        cuts,
    )


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


def merge(stats: Sequence[Stats]) -> Stats:
    """The rows of all shards one after another, the sums added by the fixed tree."""
    total = merge_tree(stats, _add)
    return total._replace(rows=np.concatenate([part.rows for part in stats]))


def _add(a: Stats, b: Stats) -> Stats:
    # A shard's sums belong to nobody else, so the left one may hold the total.
    np.add(a.columns, b.columns, out=a.columns)
    np.add(a.eta, b.eta, out=a.eta)
    return a._replace(entropy=a.entropy + b.entropy)
