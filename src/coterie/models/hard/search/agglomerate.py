"""Merge many blocks into few, level by level, the cheapest pairs of blocks first.

Kernel: `kernels/hard/agglomerate.py`. Merging single elements into a few blocks already gives a
far lower entropy than moves from a random start, because identical elements are merged first, then
nearly identical ones, and so on. A level merges disjoint pairs, and only the cheaper ones: a level
that had to shrink by a fixed ratio would force badly matching blocks together, which later moves
do not repair. Large data join groups of up to 16 blocks per level as long as there are many, and
examine fewer partners per block, so that the time grows about linearly.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.base.randomness import stream_keys
from coterie.engine import Engine
from coterie.kernels.hard.agglomerate import WINDOW, cheapest_partners, choose_merges
from coterie.kernels.hard.sparse_rows import SparseRows, contract
from coterie.kernels.hard.statistics import TWO_SETS
from coterie.models.hard.label_tools import renumber_sides
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.objectives.interface import Labels

_PARTNERS = 4  # candidates per block that are scored exactly
_CHEAP = 0.7  # a merge may cost as much as this quantile of the blocks' cheapest merges
_ROWS_PER_SHARD = 256
_WORK = 200_000_000  # blocks examined per level, from 2 M entries of the block matrix on
_MIN_WINDOW = 12
_LARGE = 1_500_000  # entries of the data from which a level may join groups of blocks
_GROUP = 16  # blocks per group
_GROUPS_ABOVE = 4  # … while there are more than this many times the target


def agglomerate(
    objective: BlockObjective,
    labels: Labels,
    target: tuple[int, ...],
    rng: Generator,
    engine: Engine,
) -> Labels:
    """Merge blocks until each side has at most its target number.

    Each level merges blocks of the side that is furthest from its target."""
    labels, n_blocks = renumber_sides(labels)
    while any(k > goal for k, goal in zip(n_blocks, target, strict=True)):
        side = int(np.argmax([k / goal for k, goal in zip(n_blocks, target, strict=True)]))
        labels, n_blocks = merge_level(objective, labels, n_blocks, side, target[side], rng, engine)
    return labels


def merge_level(
    objective: BlockObjective,
    labels: Labels,
    n_blocks: tuple[int, ...],
    side: int,
    target: int,
    rng: Generator,
    engine: Engine,
) -> tuple[Labels, tuple[int, ...]]:
    """Merge cheap disjoint pairs of one side's blocks; return labels and numbers of blocks.

    At least one pair is merged, and at least `target` blocks remain. Labels 0..n_blocks-1 must
    all be in use."""
    k = n_blocks[side]
    costs, found = partners(objective, labels, n_blocks, side, rng, engine)
    order = np.argsort(costs, axis=None, kind="stable")
    large = len(objective.sides[side].indices) > _LARGE and k > _GROUPS_ABOVE * target
    into, made = choose_merges(
        found,
        costs,
        order,
        k - target,
        float(np.quantile(costs[:, 0], _CHEAP)),
        _GROUP if large else 2,
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
    """Return (costs, found): per block the few that are cheapest to merge with, cheapest first."""
    k = n_blocks[side]
    rows = rows_of(objective, labels, n_blocks, side)
    mirror = rows
    if objective.model.layout == TWO_SETS:
        mirror = rows_of(objective, labels, n_blocks, 1 - side)
    count = min(_PARTNERS, k - 1)
    found, costs = np.empty((k, count), np.int64), np.empty((k, count))
    key = stream_keys(rng, 1)[0]
    cuts = np.append(np.arange(0, k, _ROWS_PER_SHARD), k)
    window = int(np.clip(_WORK // max(1, len(rows.slots)), _MIN_WINDOW, WINDOW))

    def search(start: int, stop: int) -> None:
        cheapest_partners(objective.model, rows, mirror, key, start, stop, window, found, costs)

    engine.map(search, cuts[:-1], cuts[1:])
    return costs, found


def rows_of(
    objective: BlockObjective, labels: Labels, n_blocks: tuple[int, ...], side: int
) -> SparseRows:
    """Return the statistics of one side's blocks as sparse rows."""
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
