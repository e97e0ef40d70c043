"""Classes: what of a person survives in a release. A class is a (block, degree bin)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coterie.anonymize.blocks import block_matrix, compact, cut_blocks
from coterie.graph import Graph

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
class Cells:
    """The cells (pairs of classes) that hold an original edge, and p_AB of each (design 3.5)."""

    first: np.ndarray  # int64: class A, A <= B
    second: np.ndarray  # int64: class B
    edges: np.ndarray  # int64: original edges in the cell
    probability: np.ndarray  # float64: k_A k_B e_rs / (K_r K_s)


def classes_of(graph: Graph, labels: np.ndarray, min_size: int) -> Classes:
    """Blocks as given, each cut into classes of at least `min_size` nodes of like degree."""
    block = compact(labels)
    return Classes(block, cut_blocks(graph, block, min_size, BIN_FACTOR))


def occupied_cells(graph: Graph, classes: Classes) -> Cells:
    """The cells with an original edge, and what the model says of a pair in each."""
    source, target = graph.edges()
    a, b = classes.label[source].astype(np.int64), classes.label[target].astype(np.int64)
    low, high = np.minimum(a, b), np.maximum(a, b)
    key, edges = np.unique(low * classes.n_classes + high, return_counts=True)
    first, second = np.divmod(key, classes.n_classes)
    return Cells(first, second, edges, cell_probability(graph, classes, first, second))


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
    graph: Graph, classes: Classes, cells: Cells, above: np.ndarray
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
