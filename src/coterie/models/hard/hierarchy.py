"""A hierarchy whose smallest blocks have a maximum size, as rows of a table."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph
from coterie.data.foreign import as_graph
from coterie.data.ids import number_ids
from coterie.models.declaration import Integer
from coterie.models.hard.block_model import BlockModel
from coterie.models.hard.k_means import GeneralizedKMeans

_MOST_PARTS = 32  # of a block that the nested model does not divide, at once


class HierarchyRow(NamedTuple):
    """One node in one block of a hierarchy."""

    node: Any
    level: int  # 0: the largest blocks
    block: int  # numbered through all levels
    parent: int  # the block of the level before that contains it; -1 on level 0


def hierarchy(edges: Any, max_size: int = 50, rng: RandomState = 0) -> list[HierarchyRow]:
    """Divide a graph into blocks of blocks, down to a maximum size.

    The blocks are those of ``BlockModel("degree-corrected", nested=True)``. Blocks that are still
    too large are fitted again on their own; what the model does not divide is cut into parts of
    similar size by `GeneralizedKMeans`. Meant for pipelines that summarise a graph block by block,
    such as GraphRAG. The same edges and seed give the same rows; a change between versions
    is announced in the changelog.

    Parameters
    ----------
    edges : array or list of pairs, table, Graph, or graph of networkx, igraph or scipy
        The edges. Directions and weights are ignored.
    max_size : int, default=50
        Maximum number of nodes of a block that is not divided further.
    rng : int, numpy.random.Generator or None, default=0
        Seed.

    Returns
    -------
    list of HierarchyRow
        ``node``, ``level`` (0: the largest blocks), ``block`` (numbered through all levels) and
        ``parent`` (-1 on level 0), sorted by block. A node has a row per level down to its
        smallest block; every block is smaller than its parent. ``pandas.DataFrame(rows)`` is a
        table.

    Raises
    ------
    InputError
        If the edges are not pairs, or `max_size` is not a positive integer.

    Examples
    --------
    >>> import networkx
    >>> import coterie as ct
    >>> rows = ct.hierarchy(networkx.karate_club_graph(), max_size=10)
    >>> rows[0]
    HierarchyRow(node=0, level=0, block=0, parent=-1)
    >>> len({row.block for row in rows if row.level == 1})
    2
    """
    if not Integer(1).accepts(max_size):
        raise InputError(f"invalid `max_size`: {max_size!r}", remedy="give a positive integer")
    random = as_generator(rng)
    graph = _plain_graph(edges)
    rows: list[HierarchyRow] = []
    blocks = 0
    waiting = deque([(graph, np.arange(graph.n_nodes), _levels(graph, max_size, random), 0, -1)])
    while waiting:
        graph, nodes, levels, level, parent = waiting.popleft()
        labels = levels[0][nodes]
        for label in np.unique(labels):
            inside = nodes[labels == label]
            ids = graph.ids[inside].tolist()
            rows += [HierarchyRow(node, level, blocks, parent) for node in ids]
            below = [z for z in levels[1:] if len(np.unique(z[inside])) > 1]
            part = graph
            if not below and len(inside) > max_size:
                part, inside = graph.subgraph(inside), np.arange(len(inside))
                below = _levels(part, max_size, random)
            if below:
                waiting.append((part, inside, below, level + 1, blocks))
            blocks += 1
    return rows


def _plain_graph(edges: Any) -> Graph:
    """Return edges in any form as an undirected graph without weights."""
    graph = as_graph(edges)
    if isinstance(graph, Graph):
        source, target = graph.edges()
        return Graph.from_edges(source, target, n_nodes=graph.n_nodes, ids=graph.ids)
    try:
        pairs = [(source, target) for source, target in edges]
    except (TypeError, ValueError) as error:
        raise InputError(
            "the edges are not pairs of nodes",
            remedy="give a list of (source, target), a table, or a graph",
        ) from error
    ids, (source, target) = number_ids([[pair[end] for pair in pairs] for end in (0, 1)])
    return Graph.from_edges(source, target, ids=ids)


def _levels(graph: Graph, max_size: int, rng: Generator) -> list[np.ndarray]:
    """Return the blocks of the nodes per level, the largest blocks first; a graph that is too large
    has at least two."""
    n = graph.n_nodes
    levels = BlockModel("degree-corrected", nested=True, rng=rng).fit(graph).levels_[::-1]
    if n <= max_size or levels[-1].max() > 0:
        return levels
    parts = min(-(-n // max_size), _MOST_PARTS)
    cut = GeneralizedKMeans(
        parts, objective="degree-corrected", min_block_size=max(1, n // (2 * parts)), rng=rng
    )
    return [np.asarray(cut.fit(graph).labels_)]
