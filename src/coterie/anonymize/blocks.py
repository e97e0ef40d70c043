"""Blocks fit for a release: none too small, and cut by degree where the graph asks for it."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from coterie.graph import Graph
from coterie.kernels.classes import cut_by_degree


def compact(labels: np.ndarray) -> np.ndarray:
    """The same partition numbered 0..k-1 without gaps.

    >>> compact(np.array([7, 3, 7]))
    array([1, 0, 1], dtype=int32)
    """
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def block_matrix(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """e_rs: the edges between every two blocks, those inside a block counted twice (int64).

    >>> block_matrix(Graph.from_edges([0, 1, 2], [1, 2, 0]), np.array([0, 0, 1]))
    array([[2, 2],
           [2, 0]])
    """
    k = int(labels.max(initial=-1)) + 1
    rows = np.repeat(labels, graph.degrees)
    pairs = coo_array(
        (np.ones(len(rows), np.int64), (rows, labels[graph.indices])), shape=(k, k)
    ).toarray()
    return np.asarray(pairs, np.int64)


def merge_small_blocks(graph: Graph, labels: np.ndarray, minimum: int) -> np.ndarray:
    """Labels in which every block has `minimum` nodes: the smallest block joins the one with
    which the degree-corrected entropy (design 3.4) rises least, until none is too small."""
    labels = compact(labels)
    edges = block_matrix(graph, labels).astype(np.float64)
    sizes = np.bincount(labels)
    target = np.arange(len(sizes))
    alive = np.ones(len(sizes), bool)
    while alive.sum() > 1:
        small = int(np.where(alive, sizes, sizes.max() + 1).argmin())
        if sizes[small] >= minimum:
            break
        best = int(np.where(alive, _entropy_of_joining(edges, small), np.inf).argmin())
        edges[best] += edges[small]
        edges[:, best] += edges[:, small]
        edges[small] = edges[:, small] = 0.0
        sizes[best] += sizes[small]
        alive[small] = False
        target[target == small] = best
    return compact(target[labels])


def _entropy_of_joining(edges: np.ndarray, r: int) -> np.ndarray:
    """The rise of S = sum g(K) - 1/2 sum g(e) when block r joins each other block."""
    ends = edges.sum(1)
    own, across = np.diag(edges), edges[r]
    rise = _g(ends[r] + ends) - _g(ends[r]) - _g(ends)
    apart = _g(edges + across) - _g(edges) - _g(across)
    rise -= apart.sum(1) - np.diag(apart) - apart[:, r]
    rise -= 0.5 * (_g(own[r] + own + 2 * across) - _g(own[r]) - _g(own) - 2 * _g(across))
    rise[r] = np.inf
    return np.asarray(rise)


def _g(x: np.ndarray) -> np.ndarray:
    return np.asarray(x * np.log(np.where(x > 0, x, 1.0)))


def set_small_components_apart(graph: Graph, labels: np.ndarray, minimum: int) -> np.ndarray:
    """Labels in which no block holds people of the largest component and others: what is not
    connected with the rest stays so in the release. Parts of blocks outside the largest component
    that are too small for blocks of their own go together; fewer than `minimum` in all stay.

    >>> g = Graph.from_edges([0, 1, 3], [1, 2, 4])
    >>> set_small_components_apart(g, np.zeros(5, np.int32), minimum=2)
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    labels = compact(labels)
    component = connected_components(graph.csr, directed=False)[1]
    outside = component != np.bincount(component).argmax()
    if outside.sum() < minimum:
        return labels
    sizes = np.bincount(labels[outside], minlength=int(labels.max()) + 1)
    pooled = (sizes < minimum) & (sizes > 0)
    if 0 < sizes[pooled].sum() < minimum and not pooled.all():
        pooled[np.where(pooled, 0, sizes).argmax()] = True
    pool = 2 * len(sizes)
    apart = np.where(pooled[labels], pool, len(sizes) + labels)
    return compact(np.where(outside, apart, labels))


def cut_blocks(graph: Graph, labels: np.ndarray, minimum: int, factor: float) -> np.ndarray:
    """Every block cut into parts of like degree: a part closes once it has `minimum` nodes and
    the next degree is `factor` times its first.

    >>> star = Graph.from_edges([0] * 4, [1, 2, 3, 4])
    >>> cut_blocks(star, np.zeros(5, np.int32), minimum=1, factor=2.0)
    array([1, 0, 0, 0, 0], dtype=int32)
    """
    order = np.lexsort((graph.degrees, labels))
    parts = np.empty(graph.n_nodes, np.int32)
    parts[order] = cut_by_degree(
        labels[order].astype(np.int32), graph.degrees[order], minimum, float(factor)
    )
    return parts
