"""Pieces that rewiring cut off joined again: the largest component gets its size back."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from coterie.anonymize.draw.wiring import Wired
from coterie.kernels.anonymize.wiring import WiringCells

_ROUNDS = 12


def reconnect(
    edges: Wired, block: np.ndarray, cells: WiringCells, share: float, rng: Generator
) -> Wired:
    """Swaps (a, b), (c, d) -> (a, d), (c, b) with (a, b) in a small piece, (c, d) in the largest
    component and b, d in one block, until that component holds `share` of the nodes. Degrees and
    block pairs stay; as the ends come from two pieces, no edge can repeat.

    Such a swap joins the two pieces if either edge can be spared, being in a cycle: so one of the
    two is always outside a spanning forest.
    """
    n = len(block)
    source, target = edges.source.copy(), edges.target.copy()
    for _ in range(_ROUNDS):
        piece, size, largest = _pieces(source, target, n)
        wanted = int(share * n) - int(size[largest])
        if wanted <= 0:
            break
        turned = rng.random(len(source)) < 0.5  # b and d may be either end
        source, target = np.where(turned, target, source), np.where(turned, source, target)
        spare = ~_in_spanning_forest(source, target, n)
        inside = piece[source] == largest
        small = _one_a_piece(rng.permutation(np.flatnonzero(~inside)), piece[source], spare)
        large = rng.permutation(np.flatnonzero(inside))
        joined = 0
        for one, other in _partners(small, large, spare, target, block):
            a, b, c, d = source[one], target[one], source[other], target[other]
            if not (_room(cells, a, d) and _room(cells, c, b)):
                continue
            for u, v, change in ((a, b, -1), (c, d, -1), (a, d, 1), (c, b, 1)):
                _count(cells, u, v, change)
            target[one], target[other] = d, b
            joined += int(size[piece[a]])
            if joined >= wanted:
                break
    return Wired(source, target, edges.given_up)


def _pieces(source: np.ndarray, target: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(piece of every node, size of every piece, number of the largest)"""
    ones = np.ones(len(source), np.int8)
    piece = connected_components(coo_array((ones, (source, target)), shape=(n, n)), False)[1]
    size = np.bincount(piece)
    return piece, size, int(size.argmax())


def _in_spanning_forest(source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    """bool: whether an edge is of a forest that spans every piece; all others can be spared."""
    number = np.arange(1, len(source) + 1)  # the weights are the edges' numbers: no ties
    tree = minimum_spanning_tree(coo_array((number, (source, target)), shape=(n, n)))
    held = np.zeros(len(source), bool)
    held[np.rint(tree.data).astype(np.int64) - 1] = True
    return held


def _one_a_piece(outside: np.ndarray, piece: np.ndarray, spare: np.ndarray) -> np.ndarray:
    """One edge of every small piece, one that can be spared where there is one."""
    ordered = outside[np.argsort(~spare[outside], kind="stable")]
    return np.asarray(ordered[np.unique(piece[ordered], return_index=True)[1]])


def _partners(
    few: np.ndarray, pool: np.ndarray, spare: np.ndarray, target: np.ndarray, block: np.ndarray
) -> list[tuple[int, int]]:
    """For each edge of `few` another of `pool` whose target is in the same block, each once; one of
    the two can be spared."""
    waiting: dict[tuple[int, bool], list[int]] = {}
    needed = np.unique(block[target[few]])
    for edge in pool[np.isin(block[target[pool]], needed)].tolist():
        waiting.setdefault((int(block[target[edge]]), bool(spare[edge])), []).append(edge)
    pairs = []
    for edge in few.tolist():
        for spared in (False, True) if spare[edge] else (True,):
            there = waiting.get((int(block[target[edge]]), spared))
            if there:
                pairs.append((edge, there.pop()))
                break
    return pairs


def _room(cells: WiringCells, u: int, v: int) -> bool:
    a, b = cells.tight[u], cells.tight[v]
    return bool(a < 0 or b < 0 or cells.filled[a, b] < cells.room[a, b])


def _count(cells: WiringCells, u: int, v: int, change: int) -> None:
    a, b = cells.tight[u], cells.tight[v]
    if a >= 0 and b >= 0:
        cells.filled[a, b] += change
        if a != b:
            cells.filled[b, a] += change
