"""EM over two node sets: users and items, and what was observed between them."""

from __future__ import annotations

from itertools import repeat
from operator import add as plus
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator

from coterie.base.randomness import stream_keys
from coterie.engine import Engine
from coterie.engine.sharded import ShardedRatings
from coterie.kernels.alias import Tables, alias_tables
from coterie.kernels.soft import Shard, accumulate, entropy_of, new_memberships, new_theta
from coterie.kernels.soft_sampled import accumulate_sampled
from coterie.models.soft.problem import Sums, add, log_sum
from coterie.models.soft.shards import Pairs, columns_are_cheaper, cut, of_rows
from coterie.models.soft.state import State


class Common(NamedTuple):
    """What every shard reads: the columns, theta, and, for draws, the columns' tables."""

    columns: np.ndarray
    theta: np.ndarray
    tables: Tables | None


class Spread(NamedTuple):
    """A state whose rows lie in blocks with their shards (handles of the engine)."""

    rows: list[np.ndarray]
    columns: np.ndarray
    theta: np.ndarray


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
        self.parts = engine.hold(shards.parts)
        self.engine, self.prior, self.samples = engine, prior, samples

    @classmethod
    def of_shards(
        cls, ratings: ShardedRatings, engine: Engine, *, prior: float = 0.0, samples: int = 0
    ) -> Self:
        """Ratings that lie in shards of users: each is put in order by the task that loads it."""
        problem = cls.__new__(cls)
        problem.flipped, problem.cuts = False, ratings.cuts
        problem.parts = engine.submit(of_rows, engine.hold(ratings.shards))
        problem.engine, problem.prior, problem.samples = engine, prior, samples
        return problem

    def inside(self, state: State) -> Spread:
        rows, columns, theta = state.transposed() if self.flipped else state
        return Spread(np.split(rows, self.cuts[1:-1]), columns, theta)

    def outside(self, spread: Spread) -> State:
        rows = np.concatenate(self.engine.collect(spread.rows))
        state = State(rows, spread.columns, spread.theta)
        return state.transposed() if self.flipped else state

    def step(self, spread: Spread, rng: Generator) -> tuple[Spread, float]:
        keys = stream_keys(rng, len(self.parts)) if self.samples else repeat(np.uint64(0))
        done = self.engine.submit(
            advance,
            self.parts,
            spread.rows,
            repeat(self._common(spread)),
            repeat(self.prior),
            repeat(self.samples),
            keys,
        )
        sums = self.engine.merge(self.engine.pick(done, 1), add)
        columns = new_memberships(sums.columns, spread.columns, self.prior)
        theta = new_theta(sums.eta, spread.theta, self.prior)
        return Spread(self.engine.pick(done, 0), columns, theta), sums.entropy

    def entropy(self, spread: Spread) -> float:
        each = self.engine.submit(
            shard_entropy, self.parts, spread.rows, repeat(self._common(spread))
        )
        return float(self.engine.merge(each, plus))

    def penalty(self, spread: Spread) -> float:
        if self.prior == 0.0:
            return 0.0
        rows = float(self.engine.merge(self.engine.submit(log_sum, spread.rows), plus))
        return -self.prior * (rows + log_sum(spread.columns) + log_sum(spread.theta))

    def _common(self, spread: Spread) -> Common:
        tables = alias_tables(spread.columns) if self.samples else None
        common: Common = self.engine.share(Common(spread.columns, spread.theta, tables))
        return common


def advance(
    shard: Shard, rows: np.ndarray, common: Common, prior: float, samples: int, key: np.uint64
) -> tuple[np.ndarray, Sums]:
    """A shard's rows brought forward, which needs nobody else, and its sums for the others."""
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
    return new_memberships(stats.rows, rows, prior), Sums(stats.columns, stats.eta, entropy)


def shard_entropy(shard: Shard, rows: np.ndarray, common: Common) -> float:
    """The shard's part of the exact entropy."""
    return float(entropy_of(shard, rows, common.columns, common.theta))
