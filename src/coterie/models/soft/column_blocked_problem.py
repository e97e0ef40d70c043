"""EM over two node sets whose columns are too many for one worker.

Column memberships lie in blocks with the workers. A shard knows which columns it has ever seen:
before an iteration it pulls those rows from the blocks, and its sums for them go back to the
blocks. Sums are merged by the same tree as whole columns would be, and a column that a shard has
not seen would only have added 0, so the result is the same, bit for bit.
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
from coterie.models.soft.problem_interface import log_sums
from coterie.models.soft.rating_problem import RatingProblem, advance, common_of, shard_entropy
from coterie.models.soft.state import SoftShape, SoftState

_BLOCKS_OF_MOST = 4  # blocks that make up the most which a worker is given whole


class NarrowedRows(NamedTuple):
    """Some rows of a table: their numbers, rising, and what stands there."""

    places: np.ndarray
    values: np.ndarray


class Blocked(NamedTuple):
    """A state that lives with the engine, its columns in blocks."""

    rows: list[Any]  # handles of arrays
    blocks: list[Any]  # handles of arrays
    theta: Any  # handle of an array


class ColumnBlocks:
    """A RatingProblem's iterations, with columns in `count` blocks."""

    def __init__(self, problem: RatingProblem, n_columns: int, count: int) -> None:
        self.problem, self.engine = problem, problem.engine
        self.cuts = np.linspace(0, n_columns, count + 1).astype(np.int64)
        narrowed = self.engine.submit(narrow, problem.parts, repeat(self.cuts))
        self.parts, self.seen = self.engine.select(narrowed, 0), self.engine.select(narrowed, 1)
        self.wanted = [
            self.engine.submit(as_it_is, self.engine.select(self.seen, block), one_task_each=True)
            for block in range(count)
        ]

    def inside(self, state: SoftState) -> Blocked:
        rows, columns, theta = self.problem.turned(state)
        blocks = [self.engine.broadcast(columns[a:b]) for a, b in pairwise(self.cuts)]
        return Blocked(self.problem.by_shards(rows), blocks, self.engine.broadcast(theta))

    def outside(self, spread: Blocked) -> SoftState:
        count = len(spread.blocks)
        theta, *arrays = self.engine.gather([spread.theta, *spread.blocks, *spread.rows])
        state = SoftState(np.concatenate(arrays[count:]), np.concatenate(arrays[:count]), theta)
        return self.problem.turned(state)

    def step(self, spread: Blocked, rng: Generator) -> tuple[Blocked, float]:
        prior, count = self.problem.prior, len(spread.blocks)
        done = self.engine.reduce(
            advance_narrow,
            add_rows,
            self.parts,
            self.seen,
            spread.rows,
            repeat(spread.theta),
            repeat(prior),
            repeat(self.problem.samples),
            self.problem.keys(rng),
            *self._pulled(spread),
            keep=True,
            n_totals=count + 1,
        )
        blocks = self.engine.submit(
            renewed_block, done.total[:count], spread.blocks, repeat(prior), one_task_each=True
        )
        (theta,) = self.engine.submit(renewed_theta, done.total[count:], [spread.theta], [prior])
        entropies = self.engine.gather(self.engine.select(done.kept, 1))
        following = Blocked(self.engine.select(done.kept, 0), blocks, theta)
        return following, merge_tree(entropies, plus)

    def entropy(self, spread: Blocked) -> float:
        done = self.engine.reduce(
            entropy_narrow,
            plus,
            self.parts,
            spread.rows,
            repeat(spread.theta),
            *self._pulled(spread),
        )
        return float(self.engine.gather([done.total])[0])

    def penalty(self, spread: Blocked) -> float:
        if self.problem.prior == 0.0:
            return 0.0
        each = self.engine.submit(log_sums, spread.blocks, one_task_each=True)
        (theta,) = self.engine.submit(log_sums, [spread.theta])
        theta, *columns = self.engine.gather([theta, *each])
        rows = self.problem.row_log_sum(spread.rows)
        total = rows + (float(np.concatenate(columns).sum()) + float(theta.sum()))
        return -self.problem.prior * total

    def _pulled(self, spread: Blocked) -> list[list[Any]]:
        """Of each block, the rows that each shard needs: only these travel."""
        return [
            self.engine.submit(take, repeat(block), wanted, one_task_each=True)
            for block, wanted in zip(spread.blocks, self.wanted, strict=True)
        ]


def in_column_blocks(problem: RatingProblem, shape: SoftShape) -> RatingProblem | ColumnBlocks:
    """The problem itself, or with its columns in blocks where the engine wants them so."""
    columns = (shape.n_columns, shape.column_groups)
    if problem.flipped:
        columns = (shape.n_rows, shape.row_groups)
    count = blocks_needed(8 * columns[0] * columns[1], problem.engine.most_shared)
    return problem if count == 1 else ColumnBlocks(problem, columns[0], min(count, columns[0]))


def blocks_needed(size: int, most: float) -> int:
    """How many blocks something of `size` bytes is cut into if `most` go to everybody whole.

    >>> blocks_needed(10**9, 1 << 30), blocks_needed(10**10, 1 << 30)
    (1, 38)
    """
    return 1 if size <= most else math.ceil(_BLOCKS_OF_MOST * size / most)


def narrow(shard: Shard, cuts: np.ndarray) -> tuple[Shard, tuple[np.ndarray, ...]]:
    """The shard with its columns numbered by themselves, and which they are in each block."""
    seen, column = np.unique(shard.column, return_inverse=True)
    bounds = np.searchsorted(seen, cuts)
    places = tuple(
        (seen[a:b] - first).astype(np.int32)
        for (a, b), first in zip(pairwise(bounds), cuts, strict=False)
    )
    return shard._replace(column=column.astype(np.int32)), places


def as_it_is(places: np.ndarray) -> np.ndarray:
    return places


def take(block: np.ndarray, places: np.ndarray) -> np.ndarray:
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
    *pulled: np.ndarray,
) -> tuple[tuple[np.ndarray, float], tuple[NarrowedRows, ...]]:
    """`advance` with the columns that were pulled; its sums by blocks, and last those of theta."""
    common = common_of(np.concatenate(pulled), theta, samples)
    kept, sums = advance(shard, rows, common, prior, samples, key)
    bounds = np.cumsum([len(places) for places in seen])[:-1]
    by_block = map(NarrowedRows, seen, np.split(sums.columns, bounds))
    return kept, (*by_block, NarrowedRows(np.arange(len(sums.eta)), sums.eta))


def entropy_narrow(shard: Shard, rows: np.ndarray, theta: np.ndarray, *pulled: np.ndarray) -> float:
    return shard_entropy(shard, rows, common_of(np.concatenate(pulled), theta, 0))


def renewed_block(sums: NarrowedRows, old: np.ndarray, prior: float) -> np.ndarray:
    numerators = np.zeros_like(old)
    numerators[sums.places] = sums.values
    new: np.ndarray = new_memberships(numerators, old, prior)
    return new


def renewed_theta(sums: NarrowedRows, old: np.ndarray, prior: float) -> np.ndarray:
    new: np.ndarray = new_theta(sums.values, old, prior)
    return new


def add_rows(a: NarrowedRows, b: NarrowedRows) -> NarrowedRows:
    """Both together; a row that only one has is as it is there."""
    places = np.union1d(a.places, b.places)
    values = np.zeros((len(places), *a.values.shape[1:]))
    values[np.searchsorted(places, a.places)] = a.values
    values[np.searchsorted(places, b.places)] += b.values
    return NarrowedRows(places, values)
