"""Blocks fit for a release: none too small, and cut by degree where the graph asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from coterie.data import Graph
from coterie.kernels.anonymize.degree_classes import cut_by_degree


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


BIN_FACTOR = 2.0  # a class spans degrees up to about this factor


@dataclass(frozen=True, eq=False)
class Classes:
    """Every node's block and class; a class lies inside one block."""

    block: np.ndarray  # int32[n]
    label: np.ndarray  # int32[n]: the class

    @property
    def n_blocks(self) -> int:
        return int(self.block.max(initial=-1)) + 1

    @property
    def n_classes(self) -> int:
        return int(self.label.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.label, minlength=self.n_classes)

    @cached_property
    def block_of(self) -> np.ndarray:
        """int32[classes]: the block a class lies in."""
        home = np.zeros(self.n_classes, np.int32)
        home[self.label] = self.block
        return home


@dataclass(frozen=True, eq=False)
class ClassCells:
    """The cells (pairs of classes) that hold an original edge, and p_AB of each (design 3.5)."""

    first: np.ndarray  # int64: class A, A <= B
    second: np.ndarray  # int64: class B
    edges: np.ndarray  # int64: original edges in the cell
    probability: np.ndarray  # float64: k_A k_B e_rs / (K_r K_s)


def classes_of(graph: Graph, labels: np.ndarray, min_size: int) -> Classes:
    """Blocks as given, each cut into classes of at least `min_size` nodes of like degree."""
    block = compact(labels)
    return Classes(block, cut_blocks(graph, block, min_size, BIN_FACTOR))


def occupied_cells(graph: Graph, classes: Classes) -> ClassCells:
    """The cells with an original edge, and what the model says of a pair in each."""
    source, target = graph.edges()
    a, b = classes.label[source].astype(np.int64), classes.label[target].astype(np.int64)
    low, high = np.minimum(a, b), np.maximum(a, b)
    key, edges = np.unique(low * classes.n_classes + high, return_counts=True)
    first, second = np.divmod(key, classes.n_classes)
    return ClassCells(first, second, edges, cell_probability(graph, classes, first, second))


def cell_probability(
    graph: Graph, classes: Classes, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """p_AB = k_A k_B e_rs / (K_r K_s) of these cells, k_A the mean degree of class A."""
    ends = np.bincount(classes.label, graph.degrees, classes.n_classes)
    mean = ends / classes.sizes
    matrix = block_matrix(graph, classes.block)
    total = matrix.sum(1)
    r, s = classes.block_of[first], classes.block_of[second]
    p = mean[first] * mean[second] * matrix[r, s] / np.maximum(total[r] * total[s], 1)
    return np.asarray(p, np.float64)


def limit_cells(graph: Graph, classes: Classes, limit: float, min_size: int) -> Classes:
    """Classes in which no cell that holds an original edge has p_AB >= `limit`.

    Of a cell above it the smaller class joins the next lower class of its block; where there is
    none, the two blocks join and their classes are cut anew. Every round leaves fewer classes or
    fewer blocks, so it ends; with one class it may still be above (a graph that is nearly
    complete), which the policy then refuses.
    """
    while True:
        cells = occupied_cells(graph, classes)
        above = np.flatnonzero(cells.probability >= limit)
        if not len(above) or classes.n_classes == 1:
            return classes
        above = above[np.argsort(-cells.probability[above], kind="stable")]
        merged = _merge_downward(graph, classes, cells, above)
        if merged is None:
            worst = above[0]
            r, s = classes.block_of[[cells.first[worst], cells.second[worst]]]
            if r == s:  # the lowest class with itself: the next block of most edges takes it in
                matrix = block_matrix(graph, classes.block)
                matrix[r, r] = -1
                s = int(matrix[r].argmax())
                if r == s:
                    return classes
            merged = classes_of(graph, np.where(classes.block == r, s, classes.block), min_size)
        classes = merged


def _merge_downward(
    graph: Graph, classes: Classes, cells: ClassCells, above: np.ndarray
) -> Classes | None:
    """Join the smaller class of each cell with the next lower one of its block, each class once a
    round; None if no class has a lower one."""
    mean = np.bincount(classes.label, graph.degrees, classes.n_classes) / classes.sizes
    order = np.lexsort((mean, classes.block_of))
    lower = np.full(classes.n_classes, -1)
    same = classes.block_of[order[1:]] == classes.block_of[order[:-1]]
    lower[order[1:][same]] = order[:-1][same]
    joined = np.arange(classes.n_classes)
    busy = np.zeros(classes.n_classes, bool)
    for cell in above:
        pair = sorted((cells.first[cell], cells.second[cell]), key=lambda c: classes.sizes[c])
        for c in pair:
            if lower[c] >= 0:
                if not (busy[c] or busy[lower[c]]):
                    joined[c] = lower[c]
                    busy[c] = busy[lower[c]] = True
                break
    if not busy.any():
        return None
    return Classes(classes.block, compact(joined[classes.label]))
