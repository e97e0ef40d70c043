"""Pieces that rewiring cut off joined again: the largest component gets its size back."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from coterie.anonymize.wiring import Wired
from coterie.kernels.wire import Cells

_ROUNDS = 4


def reconnect(edges: Wired, block: np.ndarray, cells: Cells, share: float, rng: Generator) -> Wired:
    """Swaps (a, b), (c, d) -> (a, d), (c, b) with (a, b) in a small piece, (c, d) in the largest
    component and b, d in one block, until that component holds `share` of the nodes. Degrees and
    block pairs stay; as the ends come from two pieces, no edge can repeat."""
    n = len(block)
    source, target = edges.source.copy(), edges.target.copy()
    degrees = np.bincount(np.r_[source, target], minlength=n)
    for _ in range(_ROUNDS):
        piece, size, largest = _pieces(source, target, n)
        wanted = int(share * n) - int(size[largest])
        if wanted <= 0:
            break
        inside = piece[source] == largest
        # An edge whose ends both have other edges is seldom a bridge: taking it cuts nothing off.
        loose = inside & (degrees[source] > 1) & (degrees[target] > 1)
        pool = rng.permutation(np.flatnonzero(loose))
        outside = rng.permutation(np.flatnonzero(~inside))
        one_a_piece = outside[np.unique(piece[source[outside]], return_index=True)[1]]
        joined = 0
        for small, large in _partners(one_a_piece, pool, target, block):
            a, b, c, d = source[small], target[small], source[large], target[large]
            if not (_room(cells, a, d) and _room(cells, c, b)):
                continue
            for u, v, change in ((a, b, -1), (c, d, -1), (a, d, 1), (c, b, 1)):
                _count(cells, u, v, change)
            target[small], target[large] = d, b
            joined += int(size[piece[a]])
            if joined >= wanted:
                break
        if not joined:
            break
    return Wired(source, target, edges.given_up)


def _pieces(source: np.ndarray, target: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(piece of every node, size of every piece, number of the largest)"""
    ones = np.ones(len(source), np.int8)
    piece = connected_components(coo_array((ones, (source, target)), shape=(n, n)), False)[1]
    size = np.bincount(piece)
    return piece, size, int(size.argmax())


def _partners(
    few: np.ndarray, pool: np.ndarray, target: np.ndarray, block: np.ndarray
) -> list[tuple[int, int]]:
    """For each edge of `few` another of `pool` whose target is in the same block, each once."""
    by_block: dict[int, list[int]] = {}
    needed = set(block[target[few]].tolist())
    for edge in pool[np.isin(block[target[pool]], list(needed))].tolist():
        by_block.setdefault(int(block[target[edge]]), []).append(edge)
    pairs = []
    for edge in few.tolist():
        waiting = by_block.get(int(block[target[edge]]))
        if waiting:
            pairs.append((edge, waiting.pop()))
    return pairs


def _room(cells: Cells, u: int, v: int) -> bool:
    a, b = cells.tight[u], cells.tight[v]
    return bool(a < 0 or b < 0 or cells.filled[a, b] < cells.room[a, b])


def _count(cells: Cells, u: int, v: int, change: int) -> None:
    a, b = cells.tight[u], cells.tight[v]
    if a >= 0 and b >= 0:
        cells.filled[a, b] += change
        if a != b:
            cells.filled[b, a] += change
