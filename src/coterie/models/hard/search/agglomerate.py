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
from coterie.kernels.hard.sparse_rows import SparseRows, contract, contract_rows
from coterie.kernels.hard.statistics import TWO_SETS
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels
from coterie.models.hard.label_tools import renumber_sides

_PARTNERS = 4  # candidates per block that are scored exactly
_CHEAP = 0.7  # a merge may cost as much as this quantile of the blocks' cheapest merges
_ROWS_PER_SHARD = 256
_WORK = 200_000_000  # blocks examined per level, from 2 M entries of the block matrix on
_MIN_WINDOW = 12
_LARGE = 1_500_000  # entries of the data from which a level may join groups of blocks
_FEW = 4096  # blocks, or 1.25 times the target, down to which large data are grouped by slots
_LINKS = 3.5  # representatives that a block is connected with, on average, at least
_DENSE_SIZE = 100_000  # entries of data that may count as dense
_DENSE_DEGREE = 32  # … and entries per element
_SHRINK = 0.8  # a level of groups that leaves a larger share of the blocks is not used
_GROUP = 16  # blocks per group
_GROUPS_ABOVE = 4  # … while there are more than this many times the target
_WORTH_KEEPING = 0.5  # rows with fewer entries than this share of the data are contracted again


class Merging:
    """Blocks on their way to fewer ones: labels, and the sparse rows of the blocks of both sides.

    After a merge the rows are contracted from those of the level before, which soon have far fewer
    entries than the data."""

    def __init__(
        self, objective: BlockObjective, labels: Labels, rng: Generator, engine: Engine
    ) -> None:
        self.objective, self.rng, self.engine = objective, rng, engine
        self.labels, self.n_blocks = renumber_sides(labels)
        self._rows: dict[int, SparseRows] = {}

    def rows(self, side: int, *, rooted: bool = True) -> tuple[SparseRows, SparseRows]:
        """Return the rows of one side's blocks and of those that they are connected with.

        `rooted`: with square roots."""
        other = 1 - side if self.objective.model.layout == TWO_SETS else side
        return self._rows_of(side, rooted), self._rows_of(other, rooted)

    def _rows_of(self, side: int, rooted: bool) -> SparseRows:
        if side not in self._rows:
            self._rows[side] = rows_of(
                self.objective, self.labels, self.n_blocks, side, rooted=rooted
            )
        rows = self._rows[side]
        if rooted and len(rows.roots) < len(rows.values):
            rows = self._rows[side] = rows._replace(roots=np.sqrt(rows.values))
        return rows

    def join(self, side: int, into: np.ndarray, count: int) -> None:
        """Let block r of one side become into[r], of `count`."""
        labels, counts = list(self.labels), list(self.n_blocks)
        labels[side], counts[side] = into[labels[side]], count
        self.labels, self.n_blocks = tuple(labels), tuple(counts)
        for own, rows in list(self._rows.items()):
            del self._rows[own]
            if len(rows.slots) > _WORTH_KEEPING * len(self.objective.sides[own].indices):
                continue
            other = len(counts) - 1 - own
            same = np.arange(counts[other if own == side else own], dtype=np.int32)
            self._rows[own] = contract_rows(
                self.objective.model,
                rows,
                into if own == side else same,
                counts[own],
                into if other == side else same,
                counts[other],
                False,
            )

    def merge_level(self, side: int, target: int) -> None:
        """Merge cheap disjoint pairs of one side's blocks.

        At least one pair is merged, and at least `target` blocks remain."""
        k = self.n_blocks[side]
        costs, found = self.partners(side)
        order = np.argsort(costs, axis=None, kind="stable")
        large = len(self.objective.sides[side].indices) > _LARGE and k > _GROUPS_ABOVE * target
        into, _ = choose_merges(
            found,
            costs,
            order,
            k - target,
            float(np.quantile(costs[:, 0], _CHEAP)),
            _GROUP if large else 2,
        )
        self.join(side, *_numbered(into))

    def groups(self, side: int, few: int) -> tuple[np.ndarray, int]:
        """Group one side's blocks by shared slots, to `few` groups or more; return the group of
        each block, and how many there are."""
        model, k = self.objective.model, self.n_blocks[side]
        rows, mirror = self.rows(side, rooted=False)
        q = len(mirror.sizes)
        share = min(0.5, max(few / k, _LINKS * k / max(1, len(rows.slots))))
        count = max(1, min(q, int(share * k / len(model.signs))))
        representative = np.zeros(q, np.bool_)
        representative[self.rng.permutation(q)[:count]] = True
        most = max(2, int(2 / share))
        order = self.rng.permutation(k)
        return _numbered(group_by_slot(model, rows, mirror, order, representative, most))

    def partners(self, side: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (costs, found): per block the few that are cheapest to merge with, cheapest
        first."""
        model, k = self.objective.model, self.n_blocks[side]
        rows, mirror = self.rows(side)
        count = min(_PARTNERS, k - 1)
        found, costs = np.empty((k, count), np.int64), np.empty((k, count))
        key = stream_keys(self.rng, 1)[0]
        cuts = np.append(np.arange(0, k, _ROWS_PER_SHARD), k)
        window = int(np.clip(_WORK // max(1, len(rows.slots)), _MIN_WINDOW, WINDOW))

        def search(start: int, stop: int) -> None:
            cheapest_partners(model, rows, mirror, key, start, stop, window, found, costs)

        if len(cuts) == 2 and self.engine.threads > 1:  # nothing to share
            search(0, k)
        else:
            self.engine.map(search, cuts[:-1], cuts[1:])
        return costs, found


def agglomerate(
    objective: BlockObjective,
    labels: Labels,
    target: tuple[int, ...],
    rng: Generator,
    engine: Engine,
    after_level: Callable[[Labels], None] | None = None,
    *,
    rough: bool = False,
) -> Labels:
    """Merge blocks until each side has at most its target number.

    Each level merges blocks of the side that is furthest from its target. `after_level` is called
    with the labels after each of them: merging goes on from there with the same result. `rough`:
    blocks of dense data may become fewer than the target, down to half of it."""
    merging = Merging(objective, labels, rng, engine)
    rough = rough and is_dense(objective)
    while any(k > goal for k, goal in zip(merging.n_blocks, target, strict=True)):
        shares = [k / goal for k, goal in zip(merging.n_blocks, target, strict=True)]
        side = int(np.argmax(shares))
        k = merging.n_blocks[side]
        least = target[side] // 2 if rough else target[side]
        few = 5 * least // 4 if rough else max(_FEW, 5 * least // 4)
        large = rough or len(objective.sides[side].indices) > _LARGE
        if large and k > (few if rough else 2 * few):
            into, count = merging.groups(side, few)
            if least <= count < _SHRINK * k:
                merging.join(side, into, count)
                continue
        merging.merge_level(side, target[side])
        if after_level is not None:
            after_level(merging.labels)
    return merging.labels


def is_dense(objective: BlockObjective) -> bool:
    """Whether the single elements have so many entries that they share some with most others.

    The search for the cheapest partners then takes long and finds little."""
    entries = sum(len(side.indices) for side in objective.sides)
    return entries > max(_DENSE_SIZE, _DENSE_DEGREE * sum(objective.n_elements))


def _numbered(into: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the number of the group of each block, and how many there are.

    into[r]: the block that stands for the group of r.

    >>> _numbered(np.array([0, 1, 0, 3, 1]))
    (array([0, 1, 0, 2, 1], dtype=int32), 3)
    """
    roots = into == np.arange(len(into))
    names = np.cumsum(roots) - 1
    return names[into].astype(np.int32), int(roots.sum())


def rows_of(
    objective: BlockObjective,
    labels: Labels,
    n_blocks: tuple[int, ...],
    side: int,
    *,
    rooted: bool = True,
) -> SparseRows:
    """Return the statistics of one side's blocks as sparse rows, counted from the data."""
    other = len(labels) - 1 - side
    rows: SparseRows = contract(
        objective.model,
        objective.sides[side],
        labels[side],
        n_blocks[side],
        labels[other],
        n_blocks[other],
        rooted,
    )
    return rows


def enlarge_small(
    objective: BlockObjective,
    labels: Labels,
    n_blocks: tuple[int, ...],
    min_size: int,
    rng: Generator,
    engine: Engine,
) -> Labels:
    """Return n_blocks blocks that have at least `min_size` elements each.

    There must be at least n_blocks * min_size elements."""
    for side, wanted in enumerate(n_blocks):
        labels, found = renumber_sides(labels)
        while found[side] > 1:
            small = np.flatnonzero(np.bincount(labels[side]) < min_size)
            if not len(small):
                break
            costs, nearest = Merging(objective, labels, rng, engine).partners(side)
            into = join_small(small, nearest[:, 0], costs[:, 0], found[side])
            labels = (*labels[:side], into[labels[side]], *labels[side + 1 :])
            labels, found = renumber_sides(labels)
        full = refill(labels[side], found[side], wanted, min_size, rng)
        labels = (*labels[:side], full, *labels[side + 1 :])
    return labels


def join_small(
    small: np.ndarray, nearest: np.ndarray, costs: np.ndarray, n_blocks: int
) -> np.ndarray:
    """Return into[r], the block that r becomes part of: its partner for a small block, else r.

    The cheapest merges come first; a block that takes part in a merge waits for the next round.

    >>> join_small(np.array([0, 2]), np.array([1, 0, 0]), np.array([1.0, 1.0, 2.0]), 3)
    array([1, 1, 2])
    """
    into = np.arange(n_blocks)
    busy = np.zeros(n_blocks, np.bool_)
    for r in small[np.argsort(costs[small], kind="stable")]:
        partner = nearest[r]
        if not busy[r] and into[partner] == partner:
            into[r] = partner
            busy[r] = busy[partner] = True
    return into


def refill(
    labels: np.ndarray, found: int, wanted: int, min_size: int, rng: Generator
) -> np.ndarray:
    """Create new blocks until there are `wanted`: half of the largest block, or, if halves would be
    too small, elements of several blocks that remain large enough.

    >>> labels = refill(np.zeros(8, np.int32), 1, 4, 2, np.random.default_rng(0))
    >>> np.bincount(labels).tolist()
    [2, 2, 2, 2]
    """
    labels = labels.copy()
    for new in range(found, wanted):
        sizes = np.bincount(labels, minlength=wanted)
        largest = int(np.argmax(sizes))
        if sizes[largest] >= 2 * min_size:
            members = rng.permutation(np.flatnonzero(labels == largest))
            labels[members[: sizes[largest] // 2]] = new
        else:
            labels[_spare(labels, sizes, min_size, rng)] = new
    return labels


def _spare(labels: np.ndarray, sizes: np.ndarray, min_size: int, rng: Generator) -> np.ndarray:
    """Return `min_size` random elements whose removal leaves `min_size` in each block."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    rank = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])
    return rng.permutation(order[rank < sizes[labels[order]] - min_size])[:min_size]
