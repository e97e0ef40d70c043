"""Join stubs (edge ends without a partner) to edges.

`wire_inner_outer` joins the stubs that stay inside a block near each other on a ring of the block,
and the others anywhere between the blocks. Nearby partners create triangles without using
anybody's real neighbourhood; because no ring is shared by several blocks, they do not create
communities across blocks. Private draws use it. `wire` is the older way, with one ring that all
blocks share. Releases with classes use `clique_wiring.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.kernels.anonymize import wiring as kernel
from coterie.kernels.graphs.pairs import rows_from_pairs

REACH = 1.0  # width of the search window, in expected neighbours
_CHUNKS = 16  # parts of the ring with similar degrees, in random order

# Sources and targets, of which the first so many are edges, and both ends of what is left open
WiredPart = tuple[np.ndarray, np.ndarray, int, np.ndarray, np.ndarray]


class Wired(NamedTuple):
    """The edges of a new graph: node v has v's class and a new degree, but not v's neighbours."""

    source: np.ndarray  # int32
    target: np.ndarray
    given_up: int  # edges for which no allowed pair was found

    def rows(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (indptr, indices) with sorted rows."""
        indptr, indices = rows_from_pairs(self.source, self.target, n_nodes)
        return indptr, indices

    def graph(self, n_nodes: int) -> Graph:
        """Return the graph of these edges."""
        return Graph(*self.rows(n_nodes), np.arange(n_nodes))


def cell_room(classes: Classes, degrees: np.ndarray, limit: float) -> kernel.WiringCells:
    """Return empty counters for the cells that could exceed `limit` of their pairs.

    The other cells need no counter: a cell can fill up only if one of its classes has more stubs
    than the cell may contain edges.
    """
    stubs = np.bincount(classes.label, degrees, classes.n_classes)
    sizes = classes.sizes.astype(np.float64)
    candidate = np.flatnonzero(stubs / sizes > limit * (sizes.min() - 1) / 2)
    n, k = sizes[candidate], stubs[candidate]
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
    """Return the nodes block by block (int32[n]), each block in ring order.

    With infinite noise the order is random. With little noise, nodes of similar degree are next
    to each other, in chunks; the random order of the chunks is the same in all blocks. This raises
    assortativity.
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
    """Join stubs to edges; return the edges and the counters of the cells.

    Each node has `degrees` stubs and each block pair gets its number of edges (`block_edges`,
    where edges inside a block count twice). Partners are near each other on the ring, except for
    a share `epsilon` of the edges.
    """
    ring = ring_of_blocks(classes, degrees, noise, rng)
    rows, columns = shuffled_pairs(block_edges, rng)
    expected = stub_shares(block_edges)
    cells = cell_room(classes, degrees, limit)
    keys = stream_keys(rng, 2)
    part = kernel.wire(ring, rows, columns, expected, cells, float(reach), float(epsilon), keys[0])
    return join_open_stubs([part], ring, block_edges, cells, keys[1]), cells


def split_stubs(
    degrees: np.ndarray,
    block: np.ndarray,
    inner_stubs: np.ndarray,
    rng: Generator,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Return how many stubs of each node stay inside its block (int64[n]).

    In each block, `inner_stubs` of its stubs are chosen at random, all equally likely, or in
    proportion to the `weight` of their node. If a block has fewer stubs, all of them are chosen.

    >>> split_stubs(np.array([2, 4]), np.array([0, 0]), np.array([6]), np.random.default_rng(0))
    array([2, 4])
    """
    owner = np.repeat(np.arange(len(degrees)), degrees)
    key = rng.random(len(owner))
    if weight is not None:  # exponential times, the earliest first
        key = -np.log1p(-key) / weight[owner]
    owner = owner[np.lexsort((key, block[owner]))]
    of_block = block[owner]
    stubs = np.bincount(of_block, minlength=len(inner_stubs))
    number = np.arange(len(owner)) - (np.cumsum(stubs) - stubs)[of_block]
    chosen = owner[number < inner_stubs[of_block]]
    return np.bincount(chosen, minlength=len(degrees)).astype(np.int64)


def wire_inner_outer(
    classes: Classes,
    degrees: np.ndarray,
    block_edges: np.ndarray,
    *,
    noise: float,
    epsilon: float,
    limit: float,
    rng: Generator,
    outer_epsilon: float = 1.0,
    reach: float = REACH,
) -> tuple[Wired, kernel.WiringCells]:
    """Join stubs to edges; return the edges and the counters of the cells.

    Each node has `degrees` stubs and each block pair gets its number of edges (`block_edges`,
    where edges inside a block count twice). In each block as many stubs as it has edges inside,
    chosen at random, are inner: their partners are near each other on the ring of the block,
    except for a share `epsilon`. The others are outer: of their partners a share `outer_epsilon`
    is anywhere in the other block, and the rest is near the same relative place of its ring.
    """
    ring = ring_of_blocks(classes, degrees, noise, rng)
    cells = cell_room(classes, degrees, limit)
    keys = stream_keys(rng, 3)
    inside = np.diag(np.diag(block_edges))
    inner = split_stubs(degrees, classes.block, np.diag(block_edges), rng)
    # Inner and outer edges never connect the same two nodes, so the two calls cannot collide.
    parts = [
        kernel.wire(
            ring._replace(degree=stubs),
            *shuffled_pairs(edges, rng),
            stub_shares(edges),
            cells,
            float(reach),
            float(anywhere),
            key,
        )
        for stubs, edges, anywhere, key in (
            (inner, inside, epsilon, keys[0]),
            (degrees - inner, block_edges - inside, outer_epsilon, keys[1]),
        )
    ]
    return join_open_stubs(parts, ring, block_edges, cells, keys[2]), cells


def join_open_stubs(
    parts: Sequence[WiredPart],
    ring: kernel.Ring,
    block_edges: np.ndarray,
    cells: kernel.WiringCells,
    key: np.uint64,
) -> Wired:
    """Put the edges of all parts together, and join the stubs that each of them left open."""
    sources, targets, made, *left_open = zip(*parts, strict=True)
    open_u, open_v = (np.concatenate(ends) for ends in left_open)
    unused = np.empty(len(open_u), np.int32)
    source, target = (
        np.concatenate([*(end[:n] for end, n in zip(ends, made, strict=True)), unused])
        for ends in (sources, targets)
    )
    n_edges, given_up = kernel.repair(
        ring,
        source,
        target,
        sum(made),
        open_u,
        open_v,
        stub_shares(block_edges),
        cells,
        key,
    )
    return Wired(source[:n_edges], target[:n_edges], given_up)


def ring_of_blocks(
    classes: Classes, degrees: np.ndarray, noise: float, rng: Generator
) -> kernel.Ring:
    """Return the nodes of each block in the order of `ring_order`, for the kernels."""
    place = ring_order(classes, degrees, noise, rng)
    rank = np.empty_like(place)
    rank[place] = np.arange(len(place), dtype=np.int32)
    sizes = np.bincount(classes.block, minlength=classes.n_blocks)
    start = np.r_[0, np.cumsum(sizes)].astype(np.int64)
    return kernel.Ring(place, rank, start, classes.block, degrees)


def shuffled_pairs(block_edges: np.ndarray, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the block pair of each edge to make (two times int32[m]), in random order."""
    r, s = np.nonzero(np.triu(block_edges))
    count = block_edges[r, s] // np.where(r == s, 2, 1)
    shuffled = rng.permutation(int(count.sum()))
    rows, columns = (np.repeat(x, count)[shuffled].astype(np.int32) for x in (r, s))
    return rows, columns


def stub_shares(block_edges: np.ndarray) -> np.ndarray:
    """Return the share of each block's stubs that go to each block (float64[blocks, blocks])."""
    return np.asarray(block_edges / np.maximum(block_edges.sum(1, keepdims=True), 1))
