"""The blocks of a release: communities, each divided into blocks.

Blocks that refine communities keep them: the draw keeps the number of edges between blocks, so a
community, which is a union of blocks, keeps its edges. Blocks of the degree-corrected clustering
alone may contain people of several communities.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from coterie.anonymize.utility.communities import find_communities
from coterie.anonymize.utility.measures import assortativity
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.engine import Engine
from coterie.models.hard.label_tools import renumber

# Communities with more edges are divided into communities of their own first: the clustering takes
# too long for them. This bounds the time of a release by a multiple of the edges.
_CLUSTERED_EDGES = 300_000
# Clusterings per community. More of them take most of the time and lower the entropy by less than
# .2 % (measured on four networks of 988 to 16,726 people).
_CLUSTERINGS = 6
# People per block, by default.
_LEAST_PEOPLE, _MOST_PEOPLE = 40, 100


def default_n_blocks(graph: Graph, min_class_size: int = 10, seed: int = 0) -> int:
    """Return the default number of blocks: one per 40 to 100 people, more people in denser graphs.

    A block has about five times as many people as a person has contacts, within these limits. The
    number is at least half the square root of the number of people, and at most four times the
    square root. A disassortative graph gets half the square root, because its blocks are later
    divided by degree. If there are more communities that are large enough for a block (twice the
    smallest class), each gets one, in graphs of up to 300,000 edges. How it was chosen:
    docs/benchmarks/anonymize.md, "Communities".

    >>> cliques = [i for i in range(40 * 20) for _ in range(19)]
    >>> others = [i // 20 * 20 + j for i in range(40 * 20) for j in range(20) if j != i % 20]
    >>> default_n_blocks(Graph.from_edges(cliques, others))
    40
    """
    blocks = n_blocks_by_size(graph)
    if 0 < graph.n_edges <= _CLUSTERED_EDGES and not graph.directed:
        least, most = 2 * min_class_size, graph.n_nodes
        found = communities_of_size(graph, least, most, np.random.default_rng(seed))
        blocks = max(blocks, int(found.max()) + 1)
    return blocks


def n_blocks_by_size(graph: Graph) -> int:
    """Return the default number of blocks without regard to communities.

    >>> n_blocks_by_size(Graph.from_edges([0], [1], n_nodes=10_000))
    250
    """
    n, root = graph.n_nodes, math.sqrt(graph.n_nodes)
    people = min(max(5 * 2 * graph.n_edges / max(n, 1), _LEAST_PEOPLE), _MOST_PEOPLE)
    blocks = 0.0 if assortativity(graph) < 0 else min(n / people, 4 * root)
    return max(1, round(max(root / 2, blocks)))


def cluster_for_release(
    graph: Graph,
    n_blocks: int,
    *,
    degree_corrected: bool,
    min_block_size: int,
    rng: RandomState = 0,
    engine: Engine | None = None,
    callback: Callback = silent,
) -> np.ndarray:
    """Return the block of every node (int32[n]).

    For a degree-corrected model the blocks divide communities of high modularity: each community
    gets a number of blocks in proportion to its size, found by clustering it alone. No block is
    smaller than `2 * min_block_size`, if that is possible. Otherwise the whole graph is clustered.
    """
    if not degree_corrected:
        return _cluster(graph, n_blocks, min_block_size, rng, engine, callback)
    search = _Search(2 * min_block_size, rng, engine, callback)
    return _divide_communities(graph, n_blocks, search)


class _Search(NamedTuple):
    """What the search for blocks needs at every level."""

    least: int  # people per block
    rng: RandomState
    engine: Engine | None
    callback: Callback


def _divide_communities(graph: Graph, n_blocks: int, search: _Search) -> np.ndarray:
    """Return blocks (int32[n]) that divide the communities of a graph."""
    search.callback(Progress("communities", 0))
    communities = communities_of_size(graph, search.least, n_blocks, as_generator(search.rng))
    sizes = np.bincount(communities)
    parts = _allocate_blocks(sizes, n_blocks, search.least)
    labels = np.empty(graph.n_nodes, np.int32)
    used = 0
    order = np.argsort(communities, kind="stable")
    for members, k in zip(np.split(order, np.cumsum(sizes)[:-1]), parts.tolist(), strict=True):
        within = np.zeros(len(members), np.int32)
        if k > 1:
            community = graph.subgraph(members)
            if len(sizes) > 1 and community.n_edges > _CLUSTERED_EDGES:
                within = _divide_communities(community, k, search)
            else:
                within = _cluster(
                    community,
                    k,
                    search.least,
                    search.rng,
                    search.engine,
                    search.callback,
                    objective="degree-corrected",
                    max_iter=_CLUSTERINGS,
                )
        labels[members] = used + within
        used += int(within.max(initial=0)) + 1
    return labels


def communities_of_size(
    graph: Graph, minimum: int, most: int, rng: np.random.Generator
) -> np.ndarray:
    """Return communities (int64[n]) of at least `minimum` people, at most `most` of them.

    The smallest community is merged into the one that it has most edges to, in relation to the
    degree sum, until both conditions hold.
    """
    found = find_communities(graph, rng)
    k = int(found.max(initial=-1)) + 1
    source, target = graph.edges()
    across = found[source] != found[target]
    ends = (
        np.r_[found[source[across]], found[target[across]]],
        np.r_[found[target[across]], found[source[across]]],
    )
    matrix = coo_array((np.ones(len(ends[0])), ends), shape=(k, k)).tocsr()
    near: list[dict[int, float]] = [
        dict(
            zip(
                matrix.indices[matrix.indptr[c] : matrix.indptr[c + 1]].tolist(),
                matrix.data[matrix.indptr[c] : matrix.indptr[c + 1]].tolist(),
                strict=True,
            )
        )
        for c in range(k)
    ]
    return renumber(
        _merge_smallest(
            near, np.bincount(found), np.bincount(found, graph.degrees, k), minimum, most
        )[found]
    ).astype(np.int64)


def _merge_smallest(
    near: list[dict[int, float]],
    sizes: np.ndarray,
    stubs: np.ndarray,
    minimum: int,
    most: int,
) -> np.ndarray:
    """Return the community that each community becomes; `near` has the edges to other ones."""
    size, weight = sizes.astype(np.float64), stubs.astype(np.float64)
    target = np.arange(len(size))
    waiting = [(int(n), c) for c, n in enumerate(sizes.tolist())]
    heapify(waiting)
    alive = len(waiting)
    while alive > 1:
        n, small = heappop(waiting)
        if target[small] != small or n != size[small]:
            continue  # merged, or grown since
        if n >= minimum and alive <= most:
            break
        into = max(near[small], key=lambda c: (near[small][c] / weight[c], -c), default=-1)
        if into < 0:  # no edge leads out: the next smallest community
            while target[waiting[0][1]] != waiting[0][1] or waiting[0][0] != size[waiting[0][1]]:
                heappop(waiting)
            into = waiting[0][1]
        for other, edges in near[small].items():
            near[other].pop(small)
            if other != into:
                near[into][other] = near[other][into] = near[into].get(other, 0.0) + edges
        near[small] = {}
        size[into] += size[small]
        weight[into] += weight[small]
        target[small] = into
        heappush(waiting, (int(size[into]), into))
        alive -= 1
    while (target != target[target]).any():
        target = target[target]
    return target


def _allocate_blocks(sizes: np.ndarray, n_blocks: int, least: int) -> np.ndarray:
    """Return the number of blocks of each community, in proportion to size, at least one.

    No community gets more blocks than it has room for blocks of `least` people.

    >>> _allocate_blocks(np.array([600, 300, 30]), 9, 20)
    array([5, 3, 1])
    """
    highest = np.maximum(sizes // least, 1)
    parts = np.ones(len(sizes), np.int64)
    for _ in range(n_blocks - len(sizes)):
        people = np.where(parts < highest, sizes / parts, 0.0)
        largest = int(people.argmax())
        if not people[largest]:
            break
        parts[largest] += 1
    return parts


def _cluster(
    graph: Graph,
    n_blocks: int,
    min_block_size: int,
    rng: RandomState,
    engine: Engine | None,
    callback: Callback,
    *,
    objective: str = "simple",
    max_iter: int = 300,
) -> np.ndarray:
    """Return the blocks that `search="best"` finds."""
    from coterie.models.hard.k_means import GeneralizedKMeans

    model = GeneralizedKMeans(
        n_blocks,
        objective=objective,
        search="best",
        max_iter=max_iter,
        min_block_size=min_block_size,
        rng=rng,
    )
    model.fit(graph, engine=engine or "local", callback=callback)
    if model.interrupted_:  # never release from an unfinished clustering
        raise KeyboardInterrupt
    return np.asarray(model.labels_, np.int32)
