"""Join stubs to edges: inner stubs of a block in cliques, outer stubs anywhere between blocks."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.rewiring import RewiringTargets, communities_of_blocks
from coterie.anonymize.draw.wiring import (
    REACH,
    Wired,
    cell_room,
    join_open_stubs,
    ring_of_blocks,
    shuffled_pairs,
    split_stubs,
    stub_shares,
)
from coterie.base.randomness import stream_keys
from coterie.kernels.anonymize import clique_wiring as clique_kernel
from coterie.kernels.anonymize import wiring as kernel
from coterie.kernels.graphs.pairs import rows_from_pairs

# How it was chosen: docs/benchmarks/anonymize.md, "Communities".
_OUTER_SHARE = 0.5  # of the stubs of somebody with contacts outside the block
_SHARE_IN_BLOCK = 0.2  # contacts in a block of another community, of those in the own block
_TOGETHER_FROM = 0.4  # mean local clustering; with less, there would be too many triangles
_LEAST_WEIGHT = 0.02  # of a stub, when the other outer stubs are chosen


def wire_cliques(
    classes: Classes,
    degrees: np.ndarray,
    block_edges: np.ndarray,
    targets: RewiringTargets,
    *,
    limit: float,
    rng: Generator,
    cliques: bool = True,
    together: bool = True,
) -> tuple[Wired, kernel.WiringCells]:
    """Join stubs to edges; return the edges and the counters of the cells.

    Each node has `degrees` stubs and each block pair gets its number of edges (`block_edges`,
    where edges inside a block count twice). Inner stubs are joined in cliques that are as large as
    the local clustering of the original at this degree requires; the rest connects the cliques of
    the block. Outer stubs are joined anywhere between the two blocks; if `together`, several
    contacts that somebody has in another block know each other, unless clustering is low. Without
    `cliques` the partners of inner stubs are random members of the block.
    """
    ring = ring_of_blocks(classes, degrees, np.inf, rng)
    cells = cell_room(classes, degrees, limit)
    keys = stream_keys(rng, 4)
    between = block_edges - np.diag(np.diag(block_edges))
    clustering = np.where(degrees > 1, targets.clustering[targets.bins_of(degrees)], 0.0)
    outer = choose_outer_stubs(degrees, classes.block, between.sum(1), clustering, rng)
    stubs = degrees - outer
    source, target = (np.empty(int(stubs.sum()) // 2, np.int32) for _ in range(2))
    n_inner = 0
    if cliques:
        wanted = clustering * degrees * (degrees - 1) / 2
        n_inner = clique_kernel.join_cliques(ring, stubs, wanted, cells, source, target, keys[0])
    n_inner, *open_inner = clique_kernel.join_rest(
        ring, stubs, cells, source, target, n_inner, keys[1]
    )
    # Inner and outer edges never connect the same two nodes, so the two calls cannot collide.
    if together and clustering.sum() >= _TOGETHER_FROM * (degrees > 1).sum():
        most = np.floor(_SHARE_IN_BLOCK * (degrees - outer)).astype(np.int64)
        rows = rows_from_pairs(source[:n_inner], target[:n_inner], len(degrees))
        outer_part = clique_kernel.join_outer(
            ring,
            communities_of_blocks(block_edges),
            outer,
            *rows,
            *shuffled_pairs(between, rng),
            between,
            clustering,
            most,
            cells,
            keys[2],
        )
    else:
        outer_part = kernel.wire(
            ring._replace(degree=outer),
            *shuffled_pairs(between, rng),
            stub_shares(between),
            cells,
            REACH,
            1.0,
            keys[2],
        )
    inner = (source, target, n_inner, *open_inner)
    return join_open_stubs([inner, outer_part], ring, block_edges, cells, keys[3]), cells


def choose_outer_stubs(
    degrees: np.ndarray,
    block: np.ndarray,
    outer_stubs: np.ndarray,
    clustering: np.ndarray,
    rng: Generator,
) -> np.ndarray:
    """Return how many stubs of each node leave its block (int64[n]), `outer_stubs` per block.

    A share of them, as large as the mean of `clustering` (the local clustering that each node
    should have), belongs to some people, who give up to half of their stubs; the better connected
    somebody is, the more likely. So most people, above all those with few contacts, have all
    contacts inside their block, where these can know each other. The others are random stubs of
    the block; those of people whose contacts should know each other are chosen less often.

    >>> choose_outer_stubs(
    ...     np.array([1, 1, 9]),
    ...     np.zeros(3, int),
    ...     np.array([4]),
    ...     np.array([0.0, 0.0, 1.0]),
    ...     np.random.default_rng(0),
    ... )
    array([0, 0, 4])
    """
    n, n_blocks = len(degrees), len(outer_stubs)
    concentrated = min(float(clustering.sum()) / max(int((degrees > 1).sum()), 1), 1.0)
    most = np.floor(_OUTER_SHARE * degrees + rng.random(n)).astype(np.int64)
    most = np.clip(most, 0, np.maximum(degrees - 1, 0))
    order = np.lexsort((rng.standard_exponential(n) / np.maximum(degrees, 1), block))
    given, of = most[order], block[order]
    sizes = np.bincount(block, minlength=n_blocks)
    until = np.cumsum(given)
    before_block = np.r_[0, until][np.cumsum(sizes) - sizes]
    outer = np.empty(n, np.int64)
    first = np.floor(concentrated * outer_stubs).astype(np.int64)
    outer[order] = np.clip(first[of] - (until - given - before_block[of]), 0, given)
    missing = outer_stubs - np.bincount(block, outer, n_blocks).astype(np.int64)
    if missing.any():
        weight = np.maximum(1.0 - clustering, _LEAST_WEIGHT)
        outer += split_stubs(degrees - outer, block, missing, rng, weight)
    return outer
