"""Move elements until no move helps: threads plan batches, and every move is checked when made.

Kernel: `apply_moves` in `kernels/hard/scores.py`. The first pass visits every element, later passes
only those with a neighbour that moved. When these do not move any more, a pass visits the elements
that were close to moving when they were last scored (only in large graphs, and only if the result
has to be locally optimal: elsewhere it saves nothing). When these do not move either, a pass over
all elements decides: if no element moves, the clustering is locally optimal as Prost & Yoon define
it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.engine import Engine
from coterie.kernels.hard.scores import mark_neighbours
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.block_state import BlockState

_CLOSE = 2.0  # nats: an element whose best other label costs less than this more is close to moving
_CLOSE_FROM = 5_000  # elements from which passes over those close to moving are made
_ALL, _TOUCHED, _CLOSE_ONES = "all", "next to moved ones", "close to moving"  # a pass visits
_BATCHES = 5  # per full pass: statistics become outdated within a batch, tables are rebuilt after


class Settled(NamedTuple):
    """The result of `settle`."""

    moved: int
    gained: float  # how much S fell
    locally_optimal: bool


def settle(
    objective: BlockObjective,
    state: BlockState,
    rng: Generator,
    engine: Engine,
    *,
    passes: int | None = None,
    min_gain: float = 0.0,
    min_block_size: int = 0,
) -> Settled:
    """Make passes until no single move lowers S, at most `passes`; S never rises.

    A pass over all elements that lowers S by less than the share `min_gain` also ends it."""
    to_the_end = passes is None and min_gain == 0.0
    visit_close = to_the_end and sum(objective.n_elements) >= _CLOSE_FROM
    gains = [np.zeros(n) for n in objective.n_elements]  # of the best other label, when last scored
    active, visits = [np.ones(n, np.bool_) for n in objective.n_elements], _ALL
    moved, gained, done = 0, 0.0, 0
    min_gain *= abs(objective.entropy(state)) if min_gain > 0.0 else 0.0
    while passes is None or done < passes:
        touched = [np.zeros(n, np.bool_) for n in objective.n_elements]
        quiet, before = True, gained
        for side, chosen in enumerate(active):
            elements = rng.permutation(np.flatnonzero(chosen))
            movers, better = _pass(
                objective, state, side, elements, engine, min_block_size, gains[side]
            )
            quiet = quiet and not len(movers)
            moved += len(movers)
            gained += better
            touched[side][movers] = True
            mark_neighbours(objective.sides[side], movers, touched[len(touched) - 1 - side])
        if quiet and visits == _ALL:
            return Settled(moved, gained, True)
        if visits == _ALL and gained - before < min_gain:
            break
        if not quiet:
            active, visits = touched, _TOUCHED
        elif visits == _TOUCHED and visit_close:
            active, visits = [gain > -_CLOSE for gain in gains], _CLOSE_ONES
        else:
            active, visits = [np.ones_like(t) for t in touched], _ALL
        done += 1
    return Settled(moved, gained, False)


def _pass(
    objective: BlockObjective,
    state: BlockState,
    side: int,
    elements: np.ndarray,
    engine: Engine,
    min_block_size: int,
    gains: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Make one pass over `elements` in their order; return (those that moved, entropy gained).

    gains (OUT): of each element's best other label before it moved."""
    batches = -(-_BATCHES * len(elements) // max(1, objective.n_elements[side]))
    movers, gained = [], 0.0
    for batch in np.array_split(elements, max(1, batches)):
        objective.prepare(state, side, engine, score="exact")
        wanted, gains[batch] = objective.plan_moves(state, side, batch, engine, score="exact")
        before = state.labels[side][batch]
        moving = wanted != before
        gained += objective.make_moves(
            state, side, batch[moving], wanted[moving], min_block_size, checked=True
        )[1]
        movers.append(batch[state.labels[side][batch] != before])
    return np.concatenate(movers), gained
