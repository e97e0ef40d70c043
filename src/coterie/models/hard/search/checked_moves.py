"""Moves until nothing moves: batches planned by all threads, every move checked before it is made.

The first pass looks at every element, later ones only at those with a neighbour that moved, and
when these are quiet a pass over everything has the last word: if no element wants to move then,
the clustering is locally optimal in the paper's sense (sec. cl:sec2.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.engine import Engine
from coterie.kernels.hard.checked_moves import mark_neighbours, apply_checked_moves
from coterie.models.hard.objectives.block_objective import BlockObjective, BlockState

_BATCHES = 5  # of a full pass: statistics go stale within one, tables are rebuilt for each


class Settled(NamedTuple):
    moved: int
    gained: float
    locally_optimal: bool


def settle(
    objective: BlockObjective,
    state: BlockState,
    rng: Generator,
    engine: Engine,
    *,
    passes: int | None = None,
    enough: float = 0.0,
    min_block_size: int = 0,
) -> Settled:
    """Sweep until locally optimal, or for `passes` passes over what is awake, or until one over
    everything gains `enough` or less (as a share of S); S never rises."""
    awake = [np.ones(n, np.bool_) for n in objective.n_elements]
    moved, gained, done = 0, 0.0, 0
    enough *= abs(objective.entropy(state)) if enough > 0.0 else 0.0
    while passes is None or done < passes:
        everything = all(a.all() for a in awake)
        stirred = [np.zeros(n, np.bool_) for n in objective.n_elements]
        quiet, before = True, gained
        for side, looking in enumerate(awake):
            elements = rng.permutation(np.flatnonzero(looking))
            movers, better = _pass(objective, state, side, elements, engine, min_block_size)
            quiet = quiet and not len(movers)
            moved += len(movers)
            gained += better
            stirred[side][movers] = True
            mark_neighbours(objective.sides[side], movers, stirred[len(stirred) - 1 - side])
        if quiet and everything:
            return Settled(moved, gained, True)
        if everything and gained - before < enough:
            break
        awake = [np.ones_like(s) for s in stirred] if quiet else stirred
        done += 1
    return Settled(moved, gained, False)


def _pass(
    objective: BlockObjective,
    state: BlockState,
    side: int,
    elements: np.ndarray,
    engine: Engine,
    min_block_size: int,
) -> tuple[np.ndarray, float]:
    """(elements that moved, entropy gained) of one pass over `elements`, in their order"""
    batches = -(-_BATCHES * len(elements) // max(1, objective.n_elements[side]))
    movers, gained = [], 0.0
    for batch in np.array_split(elements, max(1, batches)):
        objective.prepare(state, side, engine)
        wanted = objective.plan(state, side, batch, engine).wanted
        before = state.labels[side][batch]
        keen = wanted != before
        gained += _take(objective, state, side, batch[keen], wanted[keen], min_block_size)
        movers.append(batch[state.labels[side][batch] != before])
    return np.concatenate(movers), gained


def _take(
    objective: BlockObjective,
    state: BlockState,
    side: int,
    elements: np.ndarray,
    wanted: np.ndarray,
    min_block_size: int,
) -> float:
    slots = len(state.counts[side])
    _, gained = apply_checked_moves(
        objective.model,
        objective.sides[side],
        state.stats(side),
        state.labels[side],
        state.labels[len(state.labels) - 1 - side],
        elements,
        wanted,
        float(min_block_size),
        np.zeros(slots),
        np.empty(slots, np.int64),
    )
    return float(gained)
