"""Swap edges to reach the original's clustering and assortativity; degrees do not change."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array, diags_array

from coterie.anonymize.draw.wiring import Wired
from coterie.anonymize.utility.communities import find_communities
from coterie.anonymize.utility.measures import local_clustering
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.kernels.anonymize import rewiring as kernel
from coterie.kernels.anonymize.wiring import WiringCells
from coterie.kernels.graphs.modularity import weighted_communities
from coterie.kernels.graphs.triangles import triangles

PROPOSALS = 25  # maximum number of proposed swaps per edge
# Stop at this distance from the goals. The distance adds four relative errors: local clustering,
# triangles by degree, all triangles, assortativity.
TOLERANCE = 0.02
_MAX_PROPOSALS = 30_000_000  # per round; bounds the time for networks of 10 M edges
_CLOSING = 0.9  # share of proposals that close an open triangle
_TRIES = 24  # neighbours tried to find the edge in the fewest triangles
_MIN_BIN = 10  # a degree bin with fewer nodes is merged with the next lower one


class _Keep(Enum):
    """What everybody keeps when edges are swapped."""

    BLOCKS = "the number of neighbours in each block"
    COMMUNITIES = "the number of neighbours in each community of blocks"
    NOTHING = "only the degree"


class _Round(NamedTuple):
    """Which swaps one round of rewiring proposes, and when it stops."""

    keep: _Keep  # what swaps must not change
    by_node: float  # share of open triangles found from a random node instead of a random edge
    partners: int  # neighbours tried to find the open triangle with the most common neighbours
    proposals: int  # per edge
    tolerance: float
    reach: int = 0  # swaps must not split fewer nodes than this off a block; 0: no such rule
    detour: int = 0  # edges of a block between two people of it whose edge is removed, at most
    # If above 0, everybody's contacts outside the community may move to other communities: to one
    # of them at most this share of the contacts in the own community.
    outer_limit: float = 0.0
    both_ends: bool = False  # try the other end of a new edge if the first has no edge to give up
    guarded: bool = False  # undone if the draw's communities would not exist in the original


class RewiringTargets(NamedTuple):
    """The statistics of the original that rewiring aims at; the audit lists them as published."""

    lowest: np.ndarray  # float64: the lowest degree of each bin
    clustering: np.ndarray  # float64: the mean local clustering of each bin
    transitivity: float  # global clustering: 3 triangles / pairs of adjacent edges
    assortativity: float

    def bins_of(self, degrees: np.ndarray) -> np.ndarray:
        """Return the degree bin of each node (int64)."""
        return np.maximum(np.searchsorted(self.lowest, degrees, side="right") - 1, 0)


# How the figures were chosen: docs/benchmarks/anonymize.md, "Communities".
_CLOSE_ENOUGH = 0.4  # where swaps that make communities less clear stop
_KEPT_COMMUNITIES = 0.875  # of the modularity, expected in the original; less undoes a round
_ROUNDS = tuple(
    _Round(
        keep, 0.8, partners, proposals, tolerance, 500, 3, limit, both_ends=True, guarded=guarded
    )
    for keep, partners, proposals, tolerance, limit, guarded in (
        (_Keep.BLOCKS, 5, 6, TOLERANCE, 0.0, False),
        (_Keep.COMMUNITIES, 8, 10, TOLERANCE, 0.0, False),
        (_Keep.COMMUNITIES, 8, 10, _CLOSE_ENOUGH, 0.25, True),
        (_Keep.COMMUNITIES, 8, 10, _CLOSE_ENOUGH, 0.25, True),
        (_Keep.NOTHING, 5, 6, _CLOSE_ENOUGH, 0.0, True),
    )
)
_PASSES = 10  # of the search for communities of blocks
_ASSORTATIVITY_WEIGHT = 5.0  # relative to the other errors: .05 is as much as 25 % of triangles


def degree_bins(degrees: np.ndarray, minimum: int = _MIN_BIN) -> np.ndarray:
    """Return the lowest degrees of bins that grow by half, each with at least `minimum` nodes.

    >>> degree_bins(np.repeat([2, 3, 4, 50], 10))
    array([ 2.,  3.,  4., 42.])
    """
    lows, low = [], 2.0
    top = float(degrees.max(initial=2))
    while low <= top:
        lows.append(low)
        low = max(low + 1, np.floor(low * 1.5))
    bins: list[float] = []
    waiting = 0
    for i, low in reversed(list(enumerate(lows))):
        high = lows[i + 1] if i + 1 < len(lows) else np.inf
        waiting += int(((degrees >= low) & (degrees < high)).sum())
        if waiting >= minimum or low == 2.0:
            bins.append(low)
            waiting = 0
    return np.array(sorted(bins))


def communities_of_blocks(block_edges: np.ndarray) -> np.ndarray:
    """Return the community of each block (int32[k]), by modularity.

    Uses nothing but the number of edges between blocks, so it discloses nothing that the blocks
    do not.

    >>> communities_of_blocks(np.array([[20, 30, 0], [30, 20, 1], [0, 1, 20]]))
    array([0, 0, 1], dtype=int32)
    """
    between = csr_array(block_edges - np.diag(np.diag(block_edges)))
    found = weighted_communities(
        between.indptr.astype(np.int64),
        between.indices.astype(np.int32),
        between.data.astype(np.int64),
        block_edges.sum(1).astype(np.int64),
        np.uint64(0),
        _PASSES,
    )
    return np.asarray(found, np.int32)


def kept_communities(graph: Graph, block: np.ndarray, block_edges: np.ndarray) -> float:
    """Return how much of the modularity the communities of a drawn graph should keep.

    The communities are found in the drawn graph. Their modularity in the original is not known
    here, but its expected value is, if the edge ends of every block belong to random members of it:
    a community has the shares s_r of the edge ends of the blocks, so e_rs s_r s_s of the edges
    between two blocks should be inside it. It is divided by the modularity of the communities of
    blocks (`communities_of_blocks`). Nothing but the number of edges between blocks is used.

    >>> two_pairs = Graph.from_edges([0, 2], [1, 3])
    >>> kept_communities(two_pairs, np.array([0, 0, 1, 1]), np.array([[2, 0], [0, 2]]))
    1.0
    >>> kept_communities(two_pairs, np.array([0, 1, 0, 1]), np.array([[2, 0], [0, 2]]))
    0.0
    """
    found = find_communities(graph, np.random.default_rng(0))
    k = len(block_edges)
    ends = csr_array((graph.degrees.astype(np.float64), (block, found)), shape=(k, found.max() + 1))
    share = csr_array(diags_array(1.0 / np.maximum(ends.sum(1), 1.0)) @ ends)
    of_blocks = communities_of_blocks(block_edges)
    whole = csr_array((np.ones(k), (np.arange(k), of_blocks)), shape=(k, of_blocks.max() + 1))
    best = _expected_modularity(whole, block_edges)
    return _expected_modularity(share, block_edges) / best if best > 0 else 1.0


def _expected_modularity(share: csr_array, block_edges: np.ndarray) -> float:
    """Return the modularity of communities that have these shares of the blocks' edge ends."""
    total = max(float(block_edges.sum()), 1.0)
    inside = share.multiply(csr_array(block_edges.astype(np.float64)) @ share).sum() / total
    ends = share.T @ block_edges.sum(1) / total
    return float(inside - (ends * ends).sum())


def products_over_edges(degrees: np.ndarray, assortativity: float) -> float:
    """Return the sum of d_u d_v over the edges of a graph with these degrees and assortativity."""
    d = degrees.astype(np.float64)
    m = max(d.sum() / 2, 1.0)
    mean = (d**2).sum() / (2 * m)
    return float(m * (mean**2 + assortativity * ((d**3).sum() / (2 * m) - mean**2)))


def rewiring_targets(
    degrees: np.ndarray, triangle_counts: np.ndarray, assortativity: float
) -> RewiringTargets:
    """Return the three aggregate statistics of the original that rewiring needs."""
    lows = degree_bins(degrees)
    where = np.searchsorted(lows, degrees, side="right") - 1
    inside = where >= 0
    local = local_clustering(degrees, triangle_counts)
    sums = np.bincount(where[inside], local[inside], len(lows))
    counts = np.bincount(where[inside], minlength=len(lows))
    pairs = (degrees * (degrees - 1) / 2).sum()
    transitivity = float(triangle_counts.sum() / pairs) if pairs else 0.0
    # Rounded, because the last digits of a sum depend on the order of the nodes.
    means = np.round(sums / np.maximum(counts, 1), 9)
    return RewiringTargets(lows, means, transitivity, assortativity)


def rewire(
    wired: Wired,
    block: np.ndarray,
    cells: WiringCells,
    targets: RewiringTargets,
    rng: Generator,
    *,
    proposals: int = PROPOSALS,
    tolerance: float = TOLERANCE,
    triangle_weight: float = 1.0,
    by_node: float = 0.0,
) -> Wired:
    """Swap edges to bring clustering by degree, triangles and assortativity close to the targets.

    Degrees and edges per block pair do not change. Clustering never exceeds the original's.
    `by_node` is the share of open triangles that are found from a random node.
    """
    return _rewire_in_rounds(
        wired,
        block,
        cells,
        targets,
        rng,
        [_Round(_Keep.NOTHING, by_node, 1, proposals, tolerance)],
        triangle_weight,
    )


def rewire_within_communities(
    wired: Wired,
    block: np.ndarray,
    community: np.ndarray,
    cells: WiringCells,
    targets: RewiringTargets,
    block_edges: np.ndarray,
    rng: Generator,
) -> Wired:
    """Rewire as `rewire` does, and keep communities where they are.

    `community` is a partition of the nodes whose parts are unions of blocks. The rounds give more
    and more freedom. In the first, the number of neighbours that a node has in each block does
    not change; in the second, the number in each community; in the third and fourth, the number in
    its own community. The last may change it too. The last three stop as soon as the clustering is
    close enough, because their swaps make communities less clear, and are undone if too little of
    the communities would be left (`kept_communities`). No swap divides a block into
    parts that would look like communities: two people of a block whose edge is removed are still
    connected by a short path inside the block.
    """
    return _rewire_in_rounds(
        wired,
        block,
        cells,
        targets,
        rng,
        _ROUNDS,
        community=community,
        block_edges=block_edges,
        assortativity_weight=_ASSORTATIVITY_WEIGHT,
    )


def _rewire_in_rounds(
    wired: Wired,
    block: np.ndarray,
    cells: WiringCells,
    targets: RewiringTargets,
    rng: Generator,
    rounds: Sequence[_Round],
    triangle_weight: float = 1.0,
    assortativity_weight: float = 1.0,
    community: np.ndarray | None = None,
    block_edges: np.ndarray | None = None,
) -> Wired:
    n = len(block)
    indptr, neighbours = wired.rows(n)
    degrees = np.diff(indptr)
    bins = targets.bins_of(degrees)
    pairs = degrees * (degrees - 1) / 2
    share = np.divide(1.0, pairs, out=np.zeros(n), where=pairs > 0)
    goal_sums = targets.clustering * np.bincount(bins, pairs > 0, len(targets.clustering))
    # The number of triangles is a goal too: most of them may belong to the few largest hubs, and
    # their bin has little influence on the mean clustering.
    corners = targets.transitivity * pairs.sum()
    goals = kernel.Goals(
        bins.astype(np.int32),
        share,
        np.r_[goal_sums, corners],
        np.r_[_weights(goal_sums, bins, pairs), triangle_weight / max(corners, 1.0)],
        products_over_edges(degrees, targets.assortativity),
        assortativity_weight / max(_span_of_products(degrees), 1.0),
    )
    at_nodes = triangles(indptr, neighbours)
    sums = np.r_[np.bincount(bins, at_nodes * share, len(goal_sums)), at_nodes.sum()]
    owner = np.repeat(np.arange(n, dtype=np.int32), degrees)
    d = degrees.astype(np.float64)
    everybody = np.zeros_like(block)
    partition = {
        _Keep.BLOCKS: block,
        _Keep.COMMUNITIES: everybody if community is None else community,
        _Keep.NOTHING: everybody,
    }
    for step, key in zip(rounds, stream_keys(rng, len(rounds)), strict=True):
        products = float((d[owner] * d[neighbours]).sum() / 2)
        if _distance(goals, sums, products) <= step.tolerance:
            continue
        before = (neighbours.copy(), sums.copy(), cells.filled.copy()) if step.guarded else None
        kernel.rewire(
            indptr,
            neighbours,
            owner,
            block,
            partition[step.keep],
            cells,
            goals,
            sums,
            products,
            kernel.SwapRules(
                min(step.proposals * len(wired.source), _MAX_PROPOSALS),
                step.tolerance,
                _CLOSING,
                step.by_node,
                step.partners,
                _TRIES,
                step.reach,
                step.detour,
                step.outer_limit,
                step.both_ends,
            ),
            key,
        )
        if before is not None and block_edges is not None:
            drawn = Graph(indptr, _sorted_rows(owner, neighbours), np.arange(n))
            if kept_communities(drawn, block, block_edges) < _KEPT_COMMUNITIES:
                neighbours, sums, cells.filled[:] = before
                break
    upper = owner < neighbours
    return Wired(owner[upper], neighbours[upper], wired.given_up)


def _distance(goals: kernel.Goals, sums: np.ndarray, products: float) -> float:
    """Return the distance from the goals."""
    of_products = goals.product_weight * abs(products - goals.products)
    return float(of_products + (goals.weight * np.abs(sums - goals.sums)).sum())


def _sorted_rows(owner: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """Return the neighbours of each owner in order."""
    return np.asarray(neighbours[np.lexsort((neighbours, owner))])


def _weights(goal_sums: np.ndarray, bins: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the weight of one unit of each bin's sum.

    It adds the bin's part of the mean local clustering, which low degrees dominate, and its part
    of the triangles, which high degrees dominate, both relative to their goals.
    """
    per_node = np.bincount(bins, pairs, len(goal_sums)) / np.maximum(
        np.bincount(bins, pairs > 0, len(goal_sums)), 1
    )
    return np.asarray(
        1.0 / max(goal_sums.sum(), 1e-9) + per_node / max((goal_sums * per_node).sum(), 1e-9)
    )


def _span_of_products(degrees: np.ndarray) -> float:
    """Return the change of the sum of d_u d_v when assortativity rises from 0 to 1."""
    return products_over_edges(degrees, 1.0) - products_over_edges(degrees, 0.0)
