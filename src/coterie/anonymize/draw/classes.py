"""Adapt blocks to a release (none too small) and divide them into classes by degree."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from coterie.data import Graph
from coterie.kernels.anonymize.degree_classes import cut_by_degree
from coterie.models.hard.label_tools import renumber, x_log_x

BIN_FACTOR = 2.0  # within a class, the largest degree is about this factor times the smallest


def block_matrix(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """Return the number of edges per pair of blocks (int64); edges inside a block count twice.

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
    """Merge the smallest block into another until every block has `minimum` nodes.

    The partner is the block for which the degree-corrected entropy rises least. The clustering's
    `enlarge_small` is different: it works on any objective, merges several blocks per round, and
    then divides large blocks to restore the number of blocks. A release must not divide blocks.
    """
    labels = renumber(labels)
    edges = block_matrix(graph, labels).astype(np.float64)
    sizes = np.bincount(labels)
    target = np.arange(len(sizes))
    alive = np.ones(len(sizes), bool)
    while alive.sum() > 1:
        small = int(np.where(alive, sizes, sizes.max() + 1).argmin())
        if sizes[small] >= minimum:
            break
        best = int(np.where(alive, _entropy_of_merging(edges, small), np.inf).argmin())
        edges[best] += edges[small]
        edges[:, best] += edges[:, small]
        edges[small] = edges[:, small] = 0.0
        sizes[best] += sizes[small]
        alive[small] = False
        target[target == small] = best
    return renumber(target[labels])


def _entropy_of_merging(edges: np.ndarray, r: int) -> np.ndarray:
    """Return the rise of the entropy when block r is merged with each other block.

    The entropy is S = sum g(K) - 1/2 sum g(e), with g(x) = x log x, K the degree sum of a block
    and e the edges between two blocks.
    """
    stubs = edges.sum(1)
    own, across = np.diag(edges), edges[r]
    rise = x_log_x(stubs[r] + stubs) - x_log_x(stubs[r]) - x_log_x(stubs)
    apart = x_log_x(edges + across) - x_log_x(edges) - x_log_x(across)
    rise -= apart.sum(1) - np.diag(apart) - apart[:, r]
    rise -= 0.5 * (
        x_log_x(own[r] + own + 2 * across) - x_log_x(own[r]) - x_log_x(own) - 2 * x_log_x(across)
    )
    rise[r] = np.inf
    return np.asarray(rise)


def separate_small_components(graph: Graph, labels: np.ndarray, minimum: int) -> np.ndarray:
    """Divide blocks so that none has nodes both inside and outside the largest component.

    Nodes that are not connected to the largest component stay unconnected in the release. Parts
    outside it that are too small for a block are pooled; if there are fewer than `minimum` such
    nodes in total, nothing changes.

    >>> g = Graph.from_edges([0, 1, 3], [1, 2, 4])
    >>> separate_small_components(g, np.zeros(5, np.int32), minimum=2)
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    labels = renumber(labels)
    component = connected_components(graph.csr, directed=False)[1]
    outside = component != np.bincount(component).argmax()
    if outside.sum() < minimum:
        return labels
    sizes = np.bincount(labels[outside], minlength=int(labels.max()) + 1)
    pooled = (sizes < minimum) & (sizes > 0)
    if 0 < sizes[pooled].sum() < minimum and not pooled.all():
        pooled[np.where(pooled, 0, sizes).argmax()] = True
    pool = 2 * len(sizes)
    separate = np.where(pooled[labels], pool, len(sizes) + labels)
    return renumber(np.where(outside, separate, labels))


def divide_by_degree(graph: Graph, labels: np.ndarray, minimum: int, factor: float) -> np.ndarray:
    """Divide every block into parts of similar degree.

    A part is complete once it has `minimum` nodes and the next degree is at least `factor` times
    its first degree.

    >>> star = Graph.from_edges([0] * 4, [1, 2, 3, 4])
    >>> divide_by_degree(star, np.zeros(5, np.int32), minimum=1, factor=2.0)
    array([1, 0, 0, 0, 0], dtype=int32)
    """
    order = np.lexsort((graph.degrees, labels))
    parts = np.empty(graph.n_nodes, np.int32)
    parts[order] = cut_by_degree(
        labels[order].astype(np.int32), graph.degrees[order], minimum, float(factor)
    )
    return parts


@dataclass(frozen=True, eq=False)
class Classes:
    """The block and the class of every node; a class is part of one block."""

    block: np.ndarray  # int32[n]
    label: np.ndarray  # int32[n]: the class

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.block.max(initial=-1)) + 1

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.label.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of nodes per class."""
        return np.bincount(self.label, minlength=self.n_classes)

    @cached_property
    def block_of(self) -> np.ndarray:
        """The block of each class (int32[classes])."""
        block_of_class = np.zeros(self.n_classes, np.int32)
        block_of_class[self.label] = self.block
        return block_of_class


@dataclass(frozen=True, eq=False)
class ClassCells:
    """The cells (pairs of classes) with an original edge, and the edge probability of each."""

    first: np.ndarray  # int64: class A, A <= B
    second: np.ndarray  # int64: class B
    edges: np.ndarray  # int64: original edges in the cell
    probability: np.ndarray  # float64: of an edge between two members of A and B


def divide_into_classes(graph: Graph, labels: np.ndarray, min_size: int) -> Classes:
    """Divide each block into classes of at least `min_size` nodes of similar degree."""
    block = renumber(labels)
    return Classes(block, divide_by_degree(graph, block, min_size, BIN_FACTOR))


def occupied_cells(graph: Graph, classes: Classes) -> ClassCells:
    """Return the cells with an original edge, and the edge probability of each."""
    source, target = graph.edges()
    a, b = classes.label[source].astype(np.int64), classes.label[target].astype(np.int64)
    low, high = np.minimum(a, b), np.maximum(a, b)
    key, edges = np.unique(low * classes.n_classes + high, return_counts=True)
    first, second = np.divmod(key, classes.n_classes)
    return ClassCells(first, second, edges, cell_probability(graph, classes, first, second))


def cell_probability(
    graph: Graph, classes: Classes, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return the edge probability p_AB = k_A k_B e_rs / (K_r K_s) of these cells.

    k_A is the mean degree of class A in block r, K_r the degree sum of block r, and e_rs the number
    of edges between blocks r and s.
    """
    mean = np.bincount(classes.label, graph.degrees, classes.n_classes) / classes.sizes
    matrix = block_matrix(graph, classes.block)
    total = matrix.sum(1)
    r, s = classes.block_of[first], classes.block_of[second]
    p = mean[first] * mean[second] * matrix[r, s] / np.maximum(total[r] * total[s], 1)
    return np.asarray(p, np.float64)


def limit_cells(graph: Graph, classes: Classes, limit: float, min_size: int) -> Classes:
    """Merge classes until no cell with an original edge has a probability of `limit` or more.

    The smaller class of such a cell is merged with the next lower class of its block. If there is
    none, the two blocks are merged and divided into classes again. Every round leaves fewer
    classes or fewer blocks, so the loop ends. A single class may still exceed the limit (the graph
    is nearly complete); the policy then refuses the release.
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
            if r == s:  # the lowest class with itself: merge with the block of most edges
                matrix = block_matrix(graph, classes.block)
                matrix[r, r] = -1
                s = int(matrix[r].argmax())
                if r == s:
                    return classes
            merged = divide_into_classes(
                graph, np.where(classes.block == r, s, classes.block), min_size
            )
        classes = merged


def _merge_downward(
    graph: Graph, classes: Classes, cells: ClassCells, above: np.ndarray
) -> Classes | None:
    """Merge the smaller class of each cell with the next lower one of its block, each class once
    per round; return None if no class has a lower one."""
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
    return Classes(classes.block, renumber(joined[classes.label]))
