"""Enforce a minimum block size: merge small blocks with their cheapest partner, cut large ones."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.engine import Engine
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels
from coterie.models.hard.label_tools import renumber_sides
from coterie.models.hard.search.agglomerate import Merging


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
