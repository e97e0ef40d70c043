"""Ends joined on a ring: closeness without anybody's neighbourhood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.base.randomness import stream_keys
from coterie.kernels.anonymize import wiring as kernel
from coterie.kernels.graphs.rows import rows_from_pairs

REACH = 1.0  # the window, in expected neighbours
_CHUNKS = 16  # of like degree each, shuffled around the ring


class Wired(NamedTuple):
    """A graph made of stubs: node v of it has v's class and new degree, nobody's neighbours."""

    source: np.ndarray  # int32
    target: np.ndarray
    given_up: int  # edges that found no place

    def rows(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """(indptr, indices), every row sorted."""
        indptr, indices = rows_from_pairs(self.source, self.target, n_nodes)
        return indptr, indices


def cell_room(classes: Classes, degrees: np.ndarray, limit: float) -> kernel.WiringCells:
    """An empty count of the cells that could pass `limit` of their pairs; the others need none.

    A cell can fill up only if either class has more ends than the cell may hold edges.
    """
    ends = np.bincount(classes.label, degrees, classes.n_classes)
    sizes = classes.sizes.astype(np.float64)
    candidate = np.flatnonzero(ends / sizes > limit * (sizes.min() - 1) / 2)
    n, k = sizes[candidate], ends[candidate]
    pairs = np.outer(n, n)
    np.fill_diagonal(pairs, n * (n - 1) / 2)
    most = np.minimum(k[:, None], k[None, :])
    np.fill_diagonal(most, k / 2)
    tight = (most > limit * pairs).any(1)
    number = np.full(classes.n_classes, -1, np.int32)
    number[candidate[tight]] = np.arange(tight.sum())
    room = np.floor(limit * pairs[np.ix_(tight, tight)]).astype(np.int32)
    return kernel.WiringCells(number[classes.label], np.zeros_like(room), room)


def ring_order(classes: Classes, degrees: np.ndarray, noise: float, rng: Generator) -> np.ndarray:
    """int32[n]: the nodes block after block, each block in the order it stands on the ring.

    With endless noise the order is random. With little, nodes of like degree stand together, in
    chunks that lie in one shuffled order on all blocks: that raises assortativity.
    """
    n = len(degrees)
    if np.isinf(noise):
        return np.lexsort((rng.random(n), classes.block)).astype(np.int32)
    score = np.log1p(degrees) + noise * rng.standard_normal(n)
    order = np.lexsort((score, classes.block))
    sizes = np.bincount(classes.block, minlength=classes.n_blocks)
    start = np.r_[0, np.cumsum(sizes)[:-1]]
    within = (np.arange(n) - start[classes.block[order]]) / sizes[classes.block[order]]
    chunk = rng.permutation(_CHUNKS)[(within * _CHUNKS).astype(np.int64)]
    return order[np.lexsort((within, chunk, classes.block[order]))].astype(np.int32)


def wire(
    classes: Classes,
    degrees: np.ndarray,
    block_edges: np.ndarray,
    *,
    noise: float,
    epsilon: float,
    limit: float,
    rng: Generator,
    reach: float = REACH,
) -> tuple[Wired, kernel.WiringCells]:
    """Join the ends: e_rs edges a block pair (`block_edges`, inner edges twice), `degrees` ends a
    node, near on the ring but for a share `epsilon`. Gives the edges and the count of the cells."""
    place = ring_order(classes, degrees, noise, rng)
    rank = np.empty_like(place)
    rank[place] = np.arange(len(place), dtype=np.int32)
    sizes = np.bincount(classes.block, minlength=classes.n_blocks)
    ring = kernel.Ring(
        place, rank, np.r_[0, np.cumsum(sizes)].astype(np.int64), classes.block, degrees
    )
    r, s = np.nonzero(np.triu(block_edges))
    count = block_edges[r, s] // np.where(r == s, 2, 1)
    shuffled = rng.permutation(int(count.sum()))
    rows, columns = (np.repeat(x, count)[shuffled].astype(np.int32) for x in (r, s))
    expected = block_edges / np.maximum(block_edges.sum(1, keepdims=True), 1)
    cells = cell_room(classes, degrees, limit)
    keys = stream_keys(rng, 2)
    source, target, made, open_u, open_v = kernel.wire(
        ring, rows, columns, expected, cells, float(reach), float(epsilon), keys[0]
    )
    made, given_up = kernel.repair(
        ring, source, target, made, open_u, open_v, expected, cells, keys[1]
    )
    return Wired(source[:made], target[:made], given_up), cells
