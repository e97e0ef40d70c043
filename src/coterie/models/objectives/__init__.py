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

from coterie.models.objectives.base import Objective, Plan, State
from coterie.models.objectives.blocks import BlockObjective
from coterie.models.objectives.graphs import degree_corrected, directed, simple, weighted

__all__ = [
    "BlockObjective",
    "Objective",
    "Plan",
    "State",
    "degree_corrected",
    "directed",
    "simple",
    "weighted",
]
