"""EM over two node sets with too many columns for the memory of one worker.

Column memberships are stored in blocks on the workers. A shard knows which columns occur in it:
before an iteration it fetches those rows from the blocks, and its sums for them go back to the
blocks. Sums are merged by the same tree as in `RatingProblem`, and a column that does not occur in
a shard would only have added 0, so the result is the same, bit for bit.
"""

from __future__ import annotations

import math
from itertools import pairwise, repeat
from operator import add as plus
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.engine import merge_tree
from coterie.kernels.soft.em import Shard, new_memberships, new_theta
from coterie.models.soft.em import log_sums
from coterie.models.soft.rating_problem import RatingProblem, advance, common_of, shard_entropy
from coterie.models.soft.state import SoftShape, SoftState

_BLOCKS_PER_LIMIT = 4  # a block has a quarter of the size that may be broadcast whole


class TableRows(NamedTuple):
    """Some rows of a table: their positions, ascending, and their values."""

    places: np.ndarray
    values: np.ndarray


class BlockedEngineState(NamedTuple):
    """A state on the engine, with column memberships in blocks."""

    rows: list[Any]  # handles of arrays
    blocks: list[Any]  # handles of arrays
    theta: Any  # handle of an array


class ColumnBlockedProblem:
    """The iterations of a `RatingProblem`, with column memberships in `count` blocks."""

    def __init__(self, problem: RatingProblem, n_columns: int, count: int) -> None:
        self.problem, self.engine = problem, problem.engine
        self.cuts = np.linspace(0, n_columns, count + 1).astype(np.int64)
        narrowed = self.engine.submit(narrow, problem.parts, repeat(self.cuts))
        self.parts, self.seen = self.engine.select(narrowed, 0), self.engine.select(narrowed, 1)
        self.wanted = [
            self.engine.submit(identity, self.engine.select(self.seen, block), one_task_each=True)
            for block in range(count)
        ]

    def to_engine(self, state: SoftState) -> BlockedEngineState:
        rows, columns, theta = self.problem.oriented(state)
        blocks = [self.engine.broadcast(columns[a:b]) for a, b in pairwise(self.cuts)]
        return BlockedEngineState(
            self.problem.by_shards(rows), blocks, self.engine.broadcast(theta)
        )

    def from_engine(self, engine_state: BlockedEngineState) -> SoftState:
        count = len(engine_state.blocks)
        theta, *arrays = self.engine.gather(
            [engine_state.theta, *engine_state.blocks, *engine_state.rows]
        )
        state = SoftState(np.concatenate(arrays[count:]), np.concatenate(arrays[:count]), theta)
        return self.problem.oriented(state)

    def step(
        self, engine_state: BlockedEngineState, rng: Generator
    ) -> tuple[BlockedEngineState, float]:
        prior, count = self.problem.prior, len(engine_state.blocks)
        done = self.engine.reduce(
            advance_narrow,
            add_rows,
            self.parts,
            self.seen,
            engine_state.rows,
            repeat(engine_state.theta),
            repeat(prior),
            repeat(self.problem.samples),
            self.problem.keys(rng),
            *self._fetched_columns(engine_state),
            keep=True,
            n_totals=count + 1,
        )
        blocks = self.engine.submit(
            updated_block,
            done.total[:count],
            engine_state.blocks,
            repeat(prior),
            one_task_each=True,
        )
        (theta,) = self.engine.submit(
            updated_theta, done.total[count:], [engine_state.theta], [prior]
        )
        entropies = self.engine.gather(self.engine.select(done.kept, 1))
        following = BlockedEngineState(self.engine.select(done.kept, 0), blocks, theta)
        return following, merge_tree(entropies, plus)

    def entropy(self, engine_state: BlockedEngineState) -> float:
        done = self.engine.reduce(
            entropy_narrow,
            plus,
            self.parts,
            engine_state.rows,
            repeat(engine_state.theta),
            *self._fetched_columns(engine_state),
        )
        return float(self.engine.gather([done.total])[0])

    def penalty(self, engine_state: BlockedEngineState) -> float:
        if self.problem.prior == 0.0:
            return 0.0
        each = self.engine.submit(log_sums, engine_state.blocks, one_task_each=True)
        (theta,) = self.engine.submit(log_sums, [engine_state.theta])
        theta, *columns = self.engine.gather([theta, *each])
        rows = self.problem.row_log_sum(engine_state.rows)
        total = rows + (float(np.concatenate(columns).sum()) + float(theta.sum()))
        return -self.problem.prior * total

    def _fetched_columns(self, engine_state: BlockedEngineState) -> list[list[Any]]:
        """Return, for each block, the rows that each shard needs; only these are transferred."""
        return [
            self.engine.submit(take, repeat(block), wanted, one_task_each=True)
            for block, wanted in zip(engine_state.blocks, self.wanted, strict=True)
        ]


def in_column_blocks(
    problem: RatingProblem, shape: SoftShape
) -> RatingProblem | ColumnBlockedProblem:
    """Return the problem, with columns in blocks if they are too large to broadcast."""
    columns = (shape.n_columns, shape.column_groups)
    if problem.flipped:
        columns = (shape.n_rows, shape.row_groups)
    count = blocks_needed(8 * columns[0] * columns[1], problem.engine.max_broadcast_bytes)
    if count == 1:
        return problem
    return ColumnBlockedProblem(problem, columns[0], min(count, columns[0]))


def blocks_needed(size: int, max_bytes: float) -> int:
    """Return the number of blocks for `size` bytes if `max_bytes` can be broadcast whole.

    >>> blocks_needed(10**9, 1 << 30), blocks_needed(10**10, 1 << 30)
    (1, 38)
    """
    return 1 if size <= max_bytes else math.ceil(_BLOCKS_PER_LIMIT * size / max_bytes)


def narrow(shard: Shard, cuts: np.ndarray) -> tuple[Shard, tuple[np.ndarray, ...]]:
    """Renumber the columns that occur in a shard; also return their positions in each block."""
    seen, column = np.unique(shard.column, return_inverse=True)
    bounds = np.searchsorted(seen, cuts)
    places = tuple(
        (seen[a:b] - first).astype(np.int32)
        for (a, b), first in zip(pairwise(bounds), cuts, strict=False)
    )
    return shard._replace(column=column.astype(np.int32)), places


def identity(places: np.ndarray) -> np.ndarray:
    """Return the argument, so that a selected result becomes a separate task."""
    return places


def take(block: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return these rows of a block."""
    rows: np.ndarray = block[places]
    return rows


def advance_narrow(
    shard: Shard,
    seen: tuple[np.ndarray, ...],
    rows: np.ndarray,
    theta: np.ndarray,
    prior: float,
    samples: int,
    key: np.uint64,
    *fetched: np.ndarray,
) -> tuple[tuple[np.ndarray, float], tuple[TableRows, ...]]:
    """Run `advance` with the fetched columns; return its sums by block, and those of theta last."""
    common = common_of(np.concatenate(fetched), theta, samples)
    kept, sums = advance(shard, rows, common, prior, samples, key)
    bounds = np.cumsum([len(places) for places in seen])[:-1]
    by_block = map(TableRows, seen, np.split(sums.columns, bounds))
    return kept, (*by_block, TableRows(np.arange(len(sums.eta)), sums.eta))


def entropy_narrow(
    shard: Shard, rows: np.ndarray, theta: np.ndarray, *fetched: np.ndarray
) -> float:
    """Return the shard's part of the entropy with the fetched columns."""
    return shard_entropy(shard, rows, common_of(np.concatenate(fetched), theta, 0))


def updated_block(sums: TableRows, old: np.ndarray, prior: float) -> np.ndarray:
    """Return a block of column memberships after an iteration."""
    numerators = np.zeros_like(old)
    numerators[sums.places] = sums.values
    new: np.ndarray = new_memberships(numerators, old, prior)
    return new


def updated_theta(sums: TableRows, old: np.ndarray, prior: float) -> np.ndarray:
    """Return theta after an iteration."""
    new: np.ndarray = new_theta(sums.values, old, prior)
    return new


def add_rows(a: TableRows, b: TableRows) -> TableRows:
    """Add two sets of rows; a row that only one has keeps its values."""
    places = np.union1d(a.places, b.places)
    values = np.zeros((len(places), *a.values.shape[1:]))
    values[np.searchsorted(places, a.places)] = a.values
    values[np.searchsorted(places, b.places)] += b.values
    return TableRows(places, values)
