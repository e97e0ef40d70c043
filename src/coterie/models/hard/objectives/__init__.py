"""What Generalized k-means minimises: one objective a model of the data, one shape for all.

A search (`models/search/`) knows nothing of graphs or ratings. It holds a `State` and calls

    objective.n_elements                    elements of each side: (n,) or (users, items)
    state = objective.start(labels, k)      statistics counted from labels, one array a side
    S     = objective.entropy(state)        from the statistics alone, never from the data
    S     = objective.prepare(state, side, engine)      the tables of an iteration; gives S for free
    plan  = objective.plan(state, side, elements, engine)    the best label and its gain for each
                                            element against fixed statistics: a pure function
    moved = objective.apply(state, side, elements, wanted, min_block_size)   statistics follow
    moved, gained = objective.sweep(state, side, order, min_block_size)      sequential and exact:
                                            a move sees all moves before it, S never rises

`prepare` must come before `plan` and after any `apply`; `sweep` prepares by itself and leaves valid
tables behind. `gained` and the gains of a plan are exact changes of S, positive when S falls.

For searches that need more than moves, a `BlockObjective` shows its statistics: in one node set
`state.counts[0][j, y]` is the block matrix (float64 that hold integers; inner edges once),
`state.sizes[0]` the block sizes; degree correction has one more row, the degree sums;
`objective.model` is what kernels take first (`kernels/blocks.py` explains all of it,
`kernels/cells.py` has the cost of a cell for every kind: a merge is a sum of `cell` differences).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph, Ratings
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.objectives.gaussian import GaussianObjective
from coterie.models.hard.objectives.graphs import degree_corrected, directed, simple, weighted
from coterie.models.hard.objectives.interface import ClusterState, MovePlan, Objective
from coterie.models.hard.objectives.two_node_sets import binomial, likes, multinomial

__all__ = [
    "OBJECTIVES",
    "BlockObjective",
    "ClusterState",
    "GaussianObjective",
    "MovePlan",
    "Objective",
    "binomial",
    "degree_corrected",
    "directed",
    "likes",
    "make_objective",
    "multinomial",
    "simple",
    "weighted",
]

# what a user calls it -> what it is fitted to, and how it is made
OBJECTIVES: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "simple": (Graph, simple),
    "degree-corrected": (Graph, degree_corrected),
    "directed": (Graph, directed),
    "weighted": (Graph, weighted),
    "ratings": (Ratings, multinomial),
    "binomial": (Ratings, binomial),
    "likes": (Ratings, likes),
    "gaussian": (np.ndarray, GaussianObjective),
}


def make_objective(name: str, data: Any, score: str | None = None) -> Any:
    """The objective called `name` on `data`; without `score` its own default.

    >>> make_objective("simple", Graph.from_edges([0], [1])).score
    'exact'
    """
    if name not in OBJECTIVES:
        raise InputError(f"objective={name!r} is unknown", remedy=f"take one of {list(OBJECTIVES)}")
    if score not in (None, "exact", "fixed"):
        raise InputError(f"score={score!r} is unknown", remedy="take 'exact' or 'fixed'")
    kind, make = OBJECTIVES[name]
    if kind is np.ndarray:
        data = np.asarray(data)
    if not isinstance(data, kind):
        raise InputError(
            f"objective {name!r} is fitted to {kind.__name__}, not to {type(data).__name__}",
            remedy=f"give a {kind.__name__}, or another objective",
        )
    objective = make(data)
    if score is not None:
        objective.score = score
    return objective
