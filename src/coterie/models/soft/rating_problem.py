"""EM over two node sets: users and items, and the observations between them."""

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
from coterie.models.soft.em import add, log_sum
from coterie.models.soft.observation_shards import (
    Pairs,
    cut_shards,
    grouping_columns_is_cheaper,
    shard_of_rows,
)
from coterie.models.soft.state import SoftState


class RatingCommon(NamedTuple):
    """The data that every shard reads: column memberships, theta, and alias tables to draw from."""

    columns: np.ndarray
    theta: np.ndarray
    tables: AliasTables | None


class RatingSums(NamedTuple):
    """Sums over shards."""

    columns: np.ndarray  # columns × l, numerators of column memberships
    eta: np.ndarray  # levels × k × l


class RatingEngineState(NamedTuple):
    """A state on the engine: row memberships with their shards, the rest broadcast."""

    rows: list[Any]  # handles of arrays
    common: Any  # handle of a RatingCommon


class RatingProblem:
    """The observations of two node sets, and one iteration over them.

    The side that is cheaper to group becomes the rows: its memberships stay with their shard, those
    of the other side are broadcast with theta and updated from sums. `samples` is the number of
    draws per observation of the Monte Carlo update; 0 is the exact update.
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
        """Cut the pairs into shards; `flipped` forces which side is grouped (True: the columns)."""
        self.flipped = grouping_columns_is_cheaper(pairs, groups) if flipped is None else flipped
        shards = cut_shards(pairs.transposed() if self.flipped else pairs, column_sums=True)
        self.cuts = shards.cuts
        self.parts = engine.scatter(shards.parts)
        self.engine, self.prior, self.samples = engine, prior, samples

    @classmethod
    def of_shards(
        cls, ratings: ShardedRatings, engine: Engine, *, prior: float = 0.0, samples: int = 0
    ) -> Self:
        """Use ratings stored in shards of users; the task that loads a shard also sorts it."""
        problem = cls.__new__(cls)
        problem.flipped, problem.cuts = False, ratings.cuts
        problem.parts = engine.submit(shard_of_rows, engine.scatter(ratings.shards))
        problem.engine, problem.prior, problem.samples = engine, prior, samples
        return problem

    def to_engine(self, state: SoftState) -> RatingEngineState:
        rows, columns, theta = self.oriented(state)
        common = common_of(columns, theta, self.samples)
        return RatingEngineState(self.by_shards(rows), self.engine.broadcast(common))

    def from_engine(self, engine_state: RatingEngineState) -> SoftState:
        common, *rows = self.engine.gather([engine_state.common, *engine_state.rows])
        return self.oriented(SoftState(np.concatenate(rows), common.columns, common.theta))

    def step(
        self, engine_state: RatingEngineState, rng: Generator
    ) -> tuple[RatingEngineState, float]:
        done = self.engine.reduce(
            advance,
            add,
            self.parts,
            engine_state.rows,
            repeat(engine_state.common),
            repeat(self.prior),
            repeat(self.samples),
            self.keys(rng),
            keep=True,
        )
        (common,) = self.engine.submit(
            updated_common, [done.total], [engine_state.common], [self.prior], [self.samples]
        )
        # The driver can use the entropies while the workers compute the update.
        entropies = self.engine.gather(self.engine.select(done.kept, 1))
        following = RatingEngineState(self.engine.select(done.kept, 0), common)
        return following, merge_tree(entropies, plus)

    def entropy(self, engine_state: RatingEngineState) -> float:
        done = self.engine.reduce(
            shard_entropy, plus, self.parts, engine_state.rows, repeat(engine_state.common)
        )
        return float(self.engine.gather([done.total])[0])

    def penalty(self, engine_state: RatingEngineState) -> float:
        if self.prior == 0.0:
            return 0.0
        (shared,) = self.engine.gather(self.engine.submit(common_log_sum, [engine_state.common]))
        return -self.prior * float(self.row_log_sum(engine_state.rows) + shared)

    def oriented(self, state: SoftState) -> SoftState:
        """Exchange rows and columns of a state if the columns are the grouped side."""
        return state.transposed() if self.flipped else state

    def by_shards(self, rows: np.ndarray) -> list[np.ndarray]:
        """Split row memberships at the boundaries of the shards."""
        return np.split(rows, self.cuts[1:-1])

    def keys(self, rng: Generator) -> Iterable[np.uint64]:
        """Return the key of a random stream per shard; all 0 without draws."""
        return stream_keys(rng, len(self.parts)) if self.samples else repeat(np.uint64(0))

    def row_log_sum(self, rows: list[Any]) -> float:
        """Return the sum of logarithms of all row memberships."""
        return float(self.engine.gather([self.engine.reduce(log_sum, plus, rows).total])[0])


def common_of(columns: np.ndarray, theta: np.ndarray, samples: int) -> RatingCommon:
    """Return the data that every shard reads, with alias tables if there are draws."""
    return RatingCommon(columns, theta, alias_tables(columns) if samples else None)


def advance(
    shard: Shard, rows: np.ndarray, common: RatingCommon, prior: float, samples: int, key: np.uint64
) -> tuple[tuple[np.ndarray, float], RatingSums]:
    """Return a shard's new row memberships, its part of the entropy, and its sums.

    The rows of a shard depend on no other shard, so they are final.
    """
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


def updated_common(
    sums: RatingSums, common: RatingCommon, prior: float, samples: int
) -> RatingCommon:
    """Return column memberships and theta after an iteration, from its sums."""
    columns = new_memberships(sums.columns, common.columns, prior)
    theta = new_theta(sums.eta, common.theta, prior)
    return common_of(columns, theta, samples)


def shard_entropy(shard: Shard, rows: np.ndarray, common: RatingCommon) -> float:
    """Return the shard's part of the exact entropy."""
    return float(entropy_of(shard, rows, common.columns, common.theta))


def common_log_sum(common: RatingCommon) -> float:
    """Return the sum of logarithms of column memberships and theta."""
    return log_sum(common.columns) + log_sum(common.theta)
