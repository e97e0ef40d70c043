"""EM over two node sets: users and items, and what was observed between them."""

from __future__ import annotations

from itertools import repeat
from operator import add

import numpy as np
from numpy.random import Generator

from coterie.engine import Engine, merge_tree
from coterie.kernels.soft import Shard, Stats, accumulate, entropy_of, new_memberships, new_theta
from coterie.models.soft.shards import Pairs, cut, groups_by_row, merge
from coterie.models.soft.state import State


class RatingProblem:
    """The observations of two node sets, and one iteration over them.

    The side that gives fewer (node, configuration) groups becomes the rows: its memberships
    stay with their shard, the other side's go out with theta and come back as sums.
    """

    def __init__(self, pairs: Pairs, prior: float) -> None:
        by_row, by_column = groups_by_row(pairs)
        self.flipped = by_column < by_row
        self.prior = prior
        self.shards = cut(pairs.transposed() if self.flipped else pairs, column_sums=True)

    def inside(self, state: State) -> State:
        """A state as this problem keeps it (its rows are the grouped side); also the way back."""
        return state.transposed() if self.flipped else state

    def step(self, state: State, engine: Engine, rng: Generator) -> tuple[State, float]:
        """The next state, and the entropy of the one given."""
        parts = self.shards
        stats = merge(
            engine.map(
                advance,
                parts.parts,
                parts.blocks(state.rows),
                repeat(state.columns),
                repeat(state.theta),
                repeat(self.prior),
            )
        )
        columns = new_memberships(stats.columns, state.columns, self.prior)
        theta = new_theta(stats.eta, state.theta, self.prior)
        return State(stats.rows, columns, theta), stats.entropy

    def entropy(self, state: State, engine: Engine) -> float:
        """S of a state, exactly."""
        parts = self.shards
        each = engine.map(
            entropy_of,
            parts.parts,
            parts.blocks(state.rows),
            repeat(state.columns),
            repeat(state.theta),
        )
        return merge_tree(each, add)


def advance(
    shard: Shard, rows: np.ndarray, columns: np.ndarray, theta: np.ndarray, prior: float
) -> Stats:
    """A shard's statistics with its own rows already brought forward: they need nobody else."""
    stats: Stats = accumulate(shard, rows, columns, theta, True)
    return stats._replace(rows=new_memberships(stats.rows, rows, prior))
