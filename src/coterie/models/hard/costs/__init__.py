"""The objectives of Generalized k-means: one per model of the data, with one interface for all.

`objective_for` builds the objective by name, where the engine works. A search
(`models/hard/search`) knows nothing about graphs or ratings. It holds a state and calls

    objective.n_elements                    elements per side: (n,) or (users, items)
    state = objective.start(labels, k)      statistics counted from labels, one array per side
    S     = objective.entropy(state)        from the statistics alone, never from the data
    S     = objective.prepare(state, side, engine)      the tables of an iteration; returns S
    plan  = objective.plan_moves(state, side, elements, engine)     the best label and its gain per
                                            element against fixed statistics: a pure function
    moved = objective.apply(state, side, elements, wanted, min_block_size)   updates statistics
    moved, gained = objective.sweep(state, side, order, min_block_size)      sequential and exact:
                                            each move sees all moves before it, S never rises

Call `prepare` before `plan_moves` and after any `apply`; `sweep` prepares by itself and leaves
valid tables. `gained` and the gains of a plan are changes of S, positive if S falls.

For searches that need more than moves, a `BlockObjective` exposes its statistics: with one node
set `state.counts[0][j, y]` is the block matrix (float64 that hold integers; inner edges once) and
`state.sizes[0]` the block sizes; degree correction has one more row, the degree sums.
`objective.model` is the first argument of kernels (`kernels/hard/statistics.py` explains all of
it, `kernels/hard/cell_costs.py` has the cost of a cell for every kind).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine
from coterie.engine.sharded_data import ShardedGraph
from coterie.models.foreign_data import conversion, is_sparse, type_name
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.gaussian import GaussianObjective
from coterie.models.hard.costs.graphs import degree_corrected, directed, simple, weighted
from coterie.models.hard.costs.interface import Objective
from coterie.models.hard.costs.two_node_sets import binomial, likes, multinomial
from coterie.models.hard.costs.worker_rows import WorkerRows

__all__ = [
    "OBJECTIVES",
    "BlockObjective",
    "GaussianObjective",
    "Objective",
    "binomial",
    "degree_corrected",
    "directed",
    "likes",
    "make_objective",
    "multinomial",
    "objective_for",
    "simple",
    "weighted",
]


class ObjectiveKind(NamedTuple):
    """What an objective is: its data, the function that builds it, and its assumption in words."""

    data: type
    build: Callable[[Any], Any]
    assumption: str


OBJECTIVES = {
    "simple": ObjectiveKind(
        Graph,
        simple,
        "The probability of an edge depends only on the blocks of its two nodes. Pairs are "
        "independent; edges have no direction and no weight.",
    ),
    "degree-corrected": ObjectiveKind(
        Graph,
        degree_corrected,
        "Every node keeps its own number of edges; the blocks decide only whom it is connected to "
        "(the degree-corrected model of Karrer and Newman).",
    ),
    "directed": ObjectiveKind(
        Graph,
        directed,
        "The probability of an edge from one node to another depends only on their two blocks; the "
        "two directions of a pair are independent.",
    ),
    "weighted": ObjectiveKind(
        Graph,
        weighted,
        "The weight of a pair is a count (Poisson) whose mean depends only on the two blocks; a "
        "pair that is not in the file has weight 0.",
    ),
    "ratings": ObjectiveKind(
        Ratings,
        multinomial,
        "The distribution of a rating depends only on the block of the user and the block of the "
        "item; pairs without a rating carry no information.",
    ),
    "binomial": ObjectiveKind(
        Ratings,
        binomial,
        "A rating is a number of successes whose probability depends only on the two blocks; pairs "
        "without a rating carry no information.",
    ),
    "likes": ObjectiveKind(
        Ratings, likes, "Every pair that is not in the file counts as not liked."
    ),
    "gaussian": ObjectiveKind(
        np.ndarray,
        GaussianObjective,
        "The points of a block are scattered around its centre, equally far in all directions and "
        "in all blocks (normal distributions with the same variance).",
    ),
}


def objective_for(
    name: str,
    data: Any,
    score: str,
    engine: Engine,
    *,
    sequential: bool = False,
    shards: ShardedGraph | None = None,
) -> Objective:
    """Build the objective `name` where the engine works.

    Threads work on rows in this process. For a cluster, and for data that are stored in shards,
    the engine stores the rows. A `sequential` search also needs them in this process; then `shards`
    are those that `data` were loaded from, if any. `score` is "exact", "fixed" or "auto" (the
    objective's default).
    """
    if isinstance(data, ShardedGraph):
        no_weights = np.empty(0) if data.weighted else None
        empty = Graph.from_edges([], [], weights=no_weights, directed=data.directed)
        workers = WorkerRows.stored(data, engine)
        like: BlockObjective = make_objective(name, empty, score)
        like.constant = workers.constant() if data.weighted else like.constant
        return like.with_rows_on(workers, here=False)
    objective = make_objective(name, data, score)
    if isinstance(engine, LocalEngine):
        return objective  # type: ignore[no-any-return]
    stored = None if shards is None else WorkerRows.stored(shards, engine)
    workers = stored or WorkerRows.of(objective.sides, engine)
    return objective.with_rows_on(workers, here=sequential)  # type: ignore[no-any-return]


def make_objective(name: str, data: Any, score: str = "auto") -> Any:
    """Build the objective `name` on data in this process.

    >>> make_objective("simple", Graph.from_edges([0], [1])).score
    'exact'
    """
    if name not in OBJECTIVES:
        raise InputError(
            f"unknown objective: {name!r}", remedy=f"choose one of {', '.join(OBJECTIVES)}"
        )
    kind = OBJECTIVES[name]
    if kind.data is np.ndarray:
        if is_sparse(data):
            raise InputError(
                f"objective {name!r} does not support sparse data", remedy="use X.toarray()"
            )
        data = np.asarray(data)
    if not isinstance(data, kind.data):
        raise InputError(
            f"objective {name!r} is fitted to {type_name(kind.data)}, not to "
            f"{type_name(type(data))}",
            remedy=conversion(data, kind.data) or "convert the data or choose another `objective`",
        )
    objective = kind.build(data)
    if score != "auto":
        objective.score = score
    return objective
