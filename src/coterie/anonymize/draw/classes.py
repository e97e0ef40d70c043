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

_DENSE_COUNTS = 4_000_000  # cells that are counted in an array, whatever the number of edges
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
        best = int(np.where(alive, entropy_of_merging(edges, small), np.inf).argmin())
        edges[best] += edges[small]
        edges[:, best] += edges[:, small]
        edges[small] = edges[:, small] = 0.0
        sizes[best] += sizes[small]
        alive[small] = False
        target[target == small] = best
    return renumber(target[labels])


def entropy_of_merging(edges: np.ndarray, r: int) -> np.ndarray:
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


def in_largest_component(graph: Graph) -> np.ndarray:
    """Return whether each node is in the largest component (bool[n])."""
    component = connected_components(graph.csr, directed=False)[1]
    return np.asarray(component == np.bincount(component).argmax())


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
    outside = ~in_largest_component(graph)
    if outside.sum() < minimum:
        return labels
    sizes = np.bincount(labels[outside], minlength=int(labels.max()) + 1)
    pooled = (sizes < minimum) & (sizes > 0)
    if 0 < sizes[pooled].sum() < minimum and not pooled.all():
        pooled[np.where(pooled, 0, sizes).argmax()] = True
    pool = 2 * len(sizes)
    separate = np.where(pooled[labels], pool, len(sizes) + labels)
    return renumber(np.where(outside, separate, labels))


def divide_by_degree(
    graph: Graph,
    labels: np.ndarray,
    minimum: int,
    factor: float,
    nodes: np.ndarray | None = None,
) -> np.ndarray:
    """Divide every block into parts of similar degree.

    A part is complete once it has `minimum` nodes and the next degree is at least `factor` times
    its first degree. `labels` are the blocks of these nodes (default: of all).

    >>> star = Graph.from_edges([0] * 4, [1, 2, 3, 4])
    >>> divide_by_degree(star, np.zeros(5, np.int32), minimum=1, factor=2.0)
    array([1, 0, 0, 0, 0], dtype=int32)
    """
    degrees = graph.degrees if nodes is None else graph.degrees[nodes]
    order = np.lexsort((degrees, labels))
    parts = np.empty(len(degrees), np.int32)
    parts[order] = cut_by_degree(
        labels[order].astype(np.int32), degrees[order], minimum, float(factor)
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
    probability: np.ndarray  # float64: of an edge between two members of A and B in a draw
    density: np.ndarray  # float64: share of the cell's pairs that are original edges


def divide_into_classes(graph: Graph, labels: np.ndarray, min_size: int) -> Classes:
    """Divide each block into classes of at least `min_size` nodes of similar degree."""
    block = renumber(labels)
    return Classes(block, divide_by_degree(graph, block, min_size, BIN_FACTOR))


def occupied_cells(graph: Graph, classes: Classes) -> ClassCells:
    """Return the cells with an original edge, their edge probability and their true density."""
    return count_cells(*graph.edges(), graph.degrees, classes)


def count_cells(
    source: np.ndarray, target: np.ndarray, degrees: np.ndarray, classes: Classes
) -> ClassCells:
    """Return the cells of these edges; `occupied_cells` for callers that keep the edges."""
    n_classes, sizes = classes.n_classes, classes.sizes
    a, b = classes.label[source].astype(np.int64), classes.label[target].astype(np.int64)
    key = np.minimum(a, b) * n_classes + np.maximum(a, b)
    if n_classes**2 <= _DENSE_COUNTS + 2 * len(key):
        counts = np.bincount(key, minlength=n_classes**2)
        cell = np.flatnonzero(counts)
        edges = counts[cell]
    else:
        cell, edges = np.unique(key, return_counts=True)
    first, second = np.divmod(cell, max(n_classes, 1))
    pairs = np.where(
        first == second, sizes[first] * (sizes[first] - 1) / 2, sizes[first] * sizes[second]
    )
    matrix = _block_edges(classes, first, second, edges)
    p = _probability(degrees, classes, matrix, first, second)
    return ClassCells(first, second, edges, p, edges / pairs)


def cell_probability(
    graph: Graph, classes: Classes, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return the edge probability p_AB = k_A k_B e_rs / (K_r K_s) of these cells.

    k_A is the mean degree of class A in block r, K_r the degree sum of block r, and e_rs the number
    of edges between blocks r and s, edges inside a block counted twice.
    """
    matrix = block_matrix(graph, classes.block)
    return _probability(graph.degrees, classes, matrix, first, second)


def block_edges(classes: Classes, cells: ClassCells) -> np.ndarray:
    """Return the same as `block_matrix`, as floats, from the cells of all edges."""
    return _block_edges(classes, cells.first, cells.second, cells.edges)


def _block_edges(
    classes: Classes, first: np.ndarray, second: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    k = classes.n_blocks
    cell = classes.block_of[first].astype(np.int64) * k + classes.block_of[second]
    matrix = np.bincount(cell, edges, k * k).reshape(k, k)
    return np.asarray(matrix + matrix.T)


def _probability(
    degrees: np.ndarray,
    classes: Classes,
    matrix: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> np.ndarray:
    mean = np.bincount(classes.label, degrees, classes.n_classes) / np.maximum(classes.sizes, 1)
    total = matrix.sum(1)
    r, s = classes.block_of[first], classes.block_of[second]
    p = mean[first] * mean[second] * matrix[r, s] / np.maximum(total[r] * total[s], 1)
    return np.asarray(p, np.float64)
