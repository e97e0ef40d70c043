"""A block objective for `search="best"` on a cluster: workers plan moves, this process makes them.

The driver holds all rows, because merges, repairs and checked moves need them one after the other.
Planning a pass over all elements is a pure function of each row, and takes most of the processor
time of a pass: workers do it on their own shards (`sharded.py`). The result equals that of the
local objective, bit for bit.
"""

from __future__ import annotations

import numpy as np

from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedGraph
from coterie.models.hard.objectives.block_objective import BlockObjective, BlockState
from coterie.models.hard.objectives.interface import MovePlan
from coterie.models.hard.objectives.sharded import ShardedObjective, distribute

_SMALL_BATCH = 0.02  # of the elements; planning fewer costs less than sending the labels


class PlannedOnWorkers(BlockObjective):
    """A block objective with its rows in this process, and again on the workers of an engine."""

    def __init__(self, whole: BlockObjective, sharded: ShardedObjective) -> None:
        self.name, self.model, self.sides = whole.name, whole.model, whole.sides
        self.constant, self.score = whole.constant, whole.score
        self.n_elements = whole.n_elements
        self.sharded = sharded

    def plan_moves(
        self,
        state: BlockState,
        side: int,
        elements: np.ndarray,
        engine: Engine,
        score: str | None = None,
    ) -> MovePlan:
        """Find the best label of each element; workers do it unless there are few."""
        if len(elements) < _SMALL_BATCH * self.n_elements[side]:
            return super().plan_moves(state, side, elements, engine, score)
        order = np.argsort(elements, kind="stable")
        self.sharded.forget_labels()  # moves are made here: what the workers have is outdated
        plan = self.sharded.plan_moves(state, side, elements[order], self.sharded.engine, score)
        wanted, gains = np.empty_like(plan.wanted), np.empty_like(plan.gains)
        wanted[order], gains[order] = plan
        return MovePlan(wanted, gains)


def planned_on_workers(
    whole: BlockObjective, shards: ShardedGraph | None, engine: Engine
) -> PlannedOnWorkers:
    """Return the objective with plans made by the engine's workers.

    They read `shards` where these are stored, otherwise a copy of the rows of `whole`."""
    if shards is None:
        return PlannedOnWorkers(whole, distribute(whole, engine))
    blocks = engine.scatter(shards.shards)
    return PlannedOnWorkers(whole, ShardedObjective(whole, (blocks,), (shards.cuts,), engine))
