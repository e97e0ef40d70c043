"""From many blocks to few: the cheapest pairs of blocks are merged, level by level.

From single elements down to a few blocks this already ends far below what moves from a random
start reach, because twins meet first, then near-twins, and so on. A level merges disjoint pairs,
and only those that are cheap among their kind: a level that must shrink by a fixed ratio forces
the last, ill-matched blocks together, which no later move repairs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.randomness import stream_keys
from coterie.engine import Engine
from coterie.kernels.hard.agglomerate import cheapest_partners, choose_merges
from coterie.kernels.hard.sparse_rows import SparseRows, contract
from coterie.kernels.hard.statistics import TWO_SETS
from coterie.models.hard.label_tools import renumber_sides
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.objectives.interface import Labels

_FEW = 4  # partners of a block that are scored exactly
_CHEAP = 0.7  # a merge may cost as much as this quantile of the blocks' cheapest merges
_ROWS_A_SHARD = 256


def agglomerate(
    objective: BlockObjective,
    labels: Labels,
    target: tuple[int, ...],
    rng: Generator,
    engine: Engine,
    tell: Callable[[tuple[int, ...]], None] = lambda n_blocks: None,
) -> Labels:
    """Merge blocks until each side has at most its target; sides take turns, the one that is
    further from its target first. `tell` hears the numbers of blocks after each level."""
    labels, n_blocks = renumber_sides(labels)
    while any(k > goal for k, goal in zip(n_blocks, target, strict=True)):
        side = int(np.argmax([k / goal for k, goal in zip(n_blocks, target, strict=True)]))
        labels, n_blocks = merge_level(objective, labels, n_blocks, side, target[side], rng, engine)
        tell(n_blocks)
    return labels


def require_whole(objective: BlockObjective, what: str) -> None:
    """Refuse data whose rows live elsewhere: any block may meet any other in a merge."""
    if not hasattr(objective, "sides"):
        raise InputError(
            f"{what} needs all the data in one process",
            remedy="use engine='local', or search='paper' with a number of blocks",
        )


def merge_level(
    objective: BlockObjective,
    labels: Labels,
    n_blocks: tuple[int, ...],
    side: int,
    target: int,
    rng: Generator,
    engine: Engine,
) -> tuple[Labels, tuple[int, ...]]:
    """Merge cheap disjoint pairs of one side's blocks, not below `target` blocks and at least one
    pair; labels 0..n_blocks-1 must all be in use. Gives labels and numbers of blocks."""
    k = n_blocks[side]
    costs, found = partners(objective, labels, n_blocks, side, rng, engine)
    order = np.argsort(costs, axis=None, kind="stable")
    into, made = choose_merges(
        found, costs, order, k - target, float(np.quantile(costs[:, 0], _CHEAP))
    )
    merged = list(labels)
    names = np.cumsum(into == np.arange(k)) - 1
    merged[side] = names[into].astype(np.int32)[labels[side]]
    counts = list(n_blocks)
    counts[side] = k - int(made)
    return tuple(merged), tuple(counts)


def partners(
    objective: BlockObjective,
    labels: Labels,
    n_blocks: tuple[int, ...],
    side: int,
    rng: Generator,
    engine: Engine,
) -> tuple[np.ndarray, np.ndarray]:
    """(costs, found): for each block the few it is cheapest to merge with, the cheapest first."""
    k = n_blocks[side]
    rows = rows_of(objective, labels, n_blocks, side)
    mirror = rows
    if objective.model.layout == TWO_SETS:
        mirror = rows_of(objective, labels, n_blocks, 1 - side)
    few = min(_FEW, k - 1)
    found, costs = np.empty((k, few), np.int64), np.empty((k, few))
    key = stream_keys(rng, 1)[0]
    cuts = np.append(np.arange(0, k, _ROWS_A_SHARD), k)

    def search(start: int, stop: int) -> None:
        cheapest_partners(objective.model, rows, mirror, key, start, stop, found, costs)

    engine.map(search, cuts[:-1], cuts[1:])
    return costs, found


def rows_of(
    objective: BlockObjective, labels: Labels, n_blocks: tuple[int, ...], side: int
) -> SparseRows:
    other = len(labels) - 1 - side
    rows: SparseRows = contract(
        objective.model,
        objective.sides[side],
        labels[side],
        n_blocks[side],
        labels[other],
        n_blocks[other],
    )
    return rows
