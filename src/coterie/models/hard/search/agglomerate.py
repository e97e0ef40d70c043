"""Merge many blocks into few, level by level, the cheapest pairs of blocks first.

Kernel: `kernels/hard/agglomerate.py`. Merging single elements into a few blocks already gives a
far lower entropy than moves from a random start, because identical elements are merged first, then
nearly identical ones, and so on. A level merges disjoint pairs, and only the cheaper ones: a level
that had to shrink by a fixed ratio would force badly matching blocks together, which later moves
do not repair.

Large data first form groups of blocks that are connected with the same block, in time proportional
to the entries, until a few thousand blocks remain. The search for the cheapest partners of a
million single nodes would take many times longer, and finds little: two nodes of one block of ten
thousand rarely have a neighbour in common, so that the cheapest partner is any node with few edges.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from coterie.base.randomness import stream_keys
from coterie.engine import Engine
from coterie.kernels.hard.agglomerate import (
    WINDOW,
    cheapest_partners,
    choose_merges,
    group_by_slot,
)
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
_FEW = 4096  # blocks, or 1.25 times the target, down to which large data are grouped by slots
_LINKS = 3.5  # representatives that a block is connected with, on average, at least
_SHRINK = 0.8  # a level of groups that leaves a larger share of the blocks is not used
_GROUP = 16  # blocks per group
_GROUPS_ABOVE = 4  # … while there are more than this many times the target


def agglomerate(
    objective: BlockObjective,
    labels: Labels,
    target: tuple[int, ...],
    rng: Generator,
    engine: Engine,
    after_level: Callable[[Labels], None] | None = None,
) -> Labels:
    """Merge blocks until each side has at most its target number.

    Each level merges blocks of the side that is furthest from its target. `after_level` is called
    with the labels after each of them: merging goes on from there with the same result."""
    labels, n_blocks = renumber_sides(labels)
    while any(k > goal for k, goal in zip(n_blocks, target, strict=True)):
        side = int(np.argmax([k / goal for k, goal in zip(n_blocks, target, strict=True)]))
        few = max(_FEW, 5 * target[side] // 4)
        if len(objective.sides[side].indices) > _LARGE and n_blocks[side] > 2 * few:
            grouped = group_level(objective, labels, n_blocks, side, few, rng)
            if target[side] <= grouped[1][side] < _SHRINK * n_blocks[side]:
                labels, n_blocks = grouped
                continue
        labels, n_blocks = merge_level(objective, labels, n_blocks, side, target[side], rng, engine)
        if after_level is not None:
            after_level(labels)
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
    into, _ = choose_merges(
        found,
        costs,
        order,
        k - target,
        float(np.quantile(costs[:, 0], _CHEAP)),
        _GROUP if large else 2,
    )
    return _joined(labels, n_blocks, side, into)


def group_level(
    objective: BlockObjective,
    labels: Labels,
    n_blocks: tuple[int, ...],
    side: int,
    few: int,
    rng: Generator,
) -> tuple[Labels, tuple[int, ...]]:
    """Group one side's blocks by shared slots, to `few` groups or more; return labels and numbers
    of blocks."""
    k = n_blocks[side]
    rows = rows_of(objective, labels, n_blocks, side)
    mirror = _mirror(objective, rows, labels, n_blocks, side)
    q = len(mirror.sizes)
    share = min(0.5, max(few / k, _LINKS * k / max(1, len(rows.slots))))
    count = max(1, min(q, int(share * k / len(objective.model.signs))))
    representative = np.zeros(q, np.bool_)
    representative[rng.permutation(q)[:count]] = True
    most = max(2, int(2 / share))
    into = group_by_slot(objective.model, rows, mirror, rng.permutation(k), representative, most)
    return _joined(labels, n_blocks, side, into)


def _joined(
    labels: Labels, n_blocks: tuple[int, ...], side: int, into: np.ndarray
) -> tuple[Labels, tuple[int, ...]]:
    """Return labels and numbers of blocks after block r of one side became part of into[r]."""
    roots = into == np.arange(len(into))
    names = np.cumsum(roots) - 1
    merged, counts = list(labels), list(n_blocks)
    merged[side] = names[into].astype(np.int32)[labels[side]]
    counts[side] = int(roots.sum())
    return tuple(merged), tuple(counts)


def _mirror(
    objective: BlockObjective,
    rows: SparseRows,
    labels: Labels,
    n_blocks: tuple[int, ...],
    side: int,
) -> SparseRows:
    """Return the rows of the other end: `rows` itself with one node set."""
    if objective.model.layout != TWO_SETS:
        return rows
    return rows_of(objective, labels, n_blocks, 1 - side)


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
    mirror = _mirror(objective, rows, labels, n_blocks, side)
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
