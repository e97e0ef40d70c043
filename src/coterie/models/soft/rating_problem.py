"""EM over two node sets: users and items, and what was observed between them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import add as plus
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from coterie.base.randomness import stream_keys
from coterie.engine import Engine, merge_tree
from coterie.engine.sharded_data import ShardedRatings
from coterie.kernels.numba.alias import AliasTables, alias_tables
from coterie.kernels.soft.em import Shard, accumulate, entropy_of, new_memberships, new_theta
from coterie.kernels.soft.monte_carlo import accumulate_sampled
from coterie.models.soft.observation_shards import Pairs, columns_are_cheaper, cut, of_rows
from coterie.models.soft.problem_interface import add, log_sum
from coterie.models.soft.state import SoftState


class RatingCommon(NamedTuple):
    """What every shard reads: the columns, theta, and, for draws, the columns' tables."""

    columns: np.ndarray
    theta: np.ndarray
    tables: AliasTables | None


class RatingSums(NamedTuple):
    """What is added up over shards."""

    columns: np.ndarray  # columns × l, the columns' numerators
    eta: np.ndarray  # configurations × k × l


class Spread(NamedTuple):
    """A state that lives with the engine: rows in blocks with their shards, the rest shared."""

    rows: list[Any]  # handles of arrays
    common: Any  # handle of a RatingCommon


class RatingProblem:
    """The observations of two node sets, and one iteration over them.

    The side on which it is cheaper to group becomes the rows: its memberships stay with their
    shard, the other side's go out with theta and come back as sums. `samples` draws an
    observation make the Monte-Carlo update, 0 the exact one.
    """

    def __init__(
        self,
        pairs: Pairs,
        groups: tuple[int, int],
        engine: Engine,
        *,
        prior: float = 0.0,
        samples: int = 0,
        flipped: bool | None = None,
    ) -> None:
        """`flipped` makes the columns the grouped side, whatever it costs."""
        self.flipped = columns_are_cheaper(pairs, groups) if flipped is None else flipped
        shards = cut(pairs.transposed() if self.flipped else pairs, column_sums=True)
        self.cuts = shards.cuts
        self.parts = engine.scatter(shards.parts)
        self.engine, self.prior, self.samples = engine, prior, samples

    @classmethod
    def of_shards(
        cls, ratings: ShardedRatings, engine: Engine, *, prior: float = 0.0, samples: int = 0
    ) -> Self:
        """Ratings that lie in shards of users: each is put in order by the task that loads it."""
        problem = cls.__new__(cls)
        problem.flipped, problem.cuts = False, ratings.cuts
        problem.parts = engine.submit(of_rows, engine.scatter(ratings.shards))
        problem.engine, problem.prior, problem.samples = engine, prior, samples
        return problem

    def inside(self, state: SoftState) -> Spread:
        rows, columns, theta = self.turned(state)
        common = common_of(columns, theta, self.samples)
        return Spread(self.by_shards(rows), self.engine.broadcast(common))

    def outside(self, spread: Spread) -> SoftState:
        common, *rows = self.engine.gather([spread.common, *spread.rows])
        return self.turned(SoftState(np.concatenate(rows), common.columns, common.theta))

    def step(self, spread: Spread, rng: Generator) -> tuple[Spread, float]:
        done = self.engine.reduce(
            advance,
            add,
            self.parts,
            spread.rows,
            repeat(spread.common),
            repeat(self.prior),
            repeat(self.samples),
            self.keys(rng),
            keep=True,
        )
        (common,) = self.engine.submit(
            renewed, [done.total], [spread.common], [self.prior], [self.samples]
        )
        # While they work on, the driver has what it looks at.
        entropies = self.engine.gather(self.engine.select(done.kept, 1))
        return Spread(self.engine.select(done.kept, 0), common), merge_tree(entropies, plus)

    def entropy(self, spread: Spread) -> float:
        done = self.engine.reduce(
            shard_entropy, plus, self.parts, spread.rows, repeat(spread.common)
        )
        return float(self.engine.gather([done.total])[0])

    def penalty(self, spread: Spread) -> float:
        if self.prior == 0.0:
            return 0.0
        (shared,) = self.engine.gather(self.engine.submit(common_log_sum, [spread.common]))
        return -self.prior * float(self.row_log_sum(spread.rows) + shared)

    def turned(self, state: SoftState) -> SoftState:
        """A state seen from the side that is grouped; and back."""
        return state.transposed() if self.flipped else state

    def by_shards(self, rows: np.ndarray) -> list[np.ndarray]:
        return np.split(rows, self.cuts[1:-1])

    def keys(self, rng: Generator) -> Iterable[np.uint64]:
        """A random stream for each shard, if there are draws."""
        return stream_keys(rng, len(self.parts)) if self.samples else repeat(np.uint64(0))

    def row_log_sum(self, rows: list[Any]) -> float:
        return float(self.engine.gather([self.engine.reduce(log_sum, plus, rows).total])[0])


def common_of(columns: np.ndarray, theta: np.ndarray, samples: int) -> RatingCommon:
    return RatingCommon(columns, theta, alias_tables(columns) if samples else None)


def advance(
    shard: Shard, rows: np.ndarray, common: RatingCommon, prior: float, samples: int, key: np.uint64
) -> tuple[tuple[np.ndarray, float], RatingSums]:
    """A shard's rows brought forward, which needs nobody else, its part of the entropy, and its
    sums for the others."""
    columns, theta, tables = common
    sums = np.zeros_like(columns)
    if samples:
        stats = accumulate_sampled(
            shard, rows, columns, theta, alias_tables(rows), tables, samples, key, sums
        )
        entropy = shard_entropy(shard, rows, common)
    else:
        stats = accumulate(shard, rows, columns, theta, sums)
        entropy = stats.entropy
    following = new_memberships(stats.rows, rows, prior)
    return (following, entropy), RatingSums(stats.columns, stats.eta)


def renewed(sums: RatingSums, common: RatingCommon, prior: float, samples: int) -> RatingCommon:
    """Columns and theta after the iteration that made the sums."""
    columns = new_memberships(sums.columns, common.columns, prior)
    theta = new_theta(sums.eta, common.theta, prior)
    return common_of(columns, theta, samples)


def shard_entropy(shard: Shard, rows: np.ndarray, common: RatingCommon) -> float:
    """The shard's part of the exact entropy."""
    return float(entropy_of(shard, rows, common.columns, common.theta))


def common_log_sum(common: RatingCommon) -> float:
    return log_sum(common.columns) + log_sum(common.theta)
