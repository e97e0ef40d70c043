"""The paper's release: a stochastic block model drawn anew, cell by cell.

`sbm` draws every pair of a cell independently; `exact-counts` (Hay et al.) keeps the number of
edges between every two blocks and draws only their places.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import (
    ClassCells,
    Classes,
    block_matrix,
    compact,
    occupied_cells,
)
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine, shard_count
from coterie.kernels.anonymize.cell_draw import draw_cells
from coterie.kernels.graphs.rows import rows_from_pairs


@dataclass(frozen=True, eq=False)
class CellModel:
    """Blocks, and a number of edges for each pair of them.

    >>> g = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> model = CellModel.fit(g, np.zeros(4, np.int32), limit=0.9, exact=True)
    >>> model.draw(np.random.default_rng(0)).n_edges
    4
    """

    classes: Classes  # the classes are the blocks
    rows: np.ndarray  # int64: the blocks of each cell, row <= column
    columns: np.ndarray
    pairs: np.ndarray  # int64: D_ij
    edges: np.ndarray  # int64: d_ij, no more than `limit` of the pairs
    exact: bool

    @classmethod
    def fit(cls, graph: Graph, labels: np.ndarray, *, limit: float, exact: bool) -> CellModel:
        """Count the edges of every cell; what passes `limit` of its pairs is brought below it."""
        block = compact(labels)
        matrix = block_matrix(graph, block)
        sizes = np.bincount(block).astype(np.int64)
        rows, columns = np.nonzero(np.triu(matrix))
        inner = rows == columns
        edges = matrix[rows, columns] // np.where(inner, 2, 1)
        pairs = np.where(inner, sizes[rows] * (sizes[rows] - 1) // 2, sizes[rows] * sizes[columns])
        highest = np.ceil(limit * pairs).astype(np.int64) - 1
        return cls(Classes(block, block), rows, columns, pairs, np.clip(edges, 0, highest), exact)

    def cells(self, graph: Graph) -> ClassCells:
        """The cells that hold an original edge, with the probability they are drawn with."""
        found = occupied_cells(graph, self.classes)
        k = self.classes.n_blocks
        at = np.searchsorted(self.rows * k + self.columns, found.first * k + found.second)
        p = self.edges[at] / self.pairs[at]
        return ClassCells(found.first, found.second, found.edges, p)

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """A new graph; node v of it has v's block, and nothing else of v."""
        counts = self.edges
        if not self.exact:
            counts = rng.binomial(self.pairs, self.edges / np.maximum(self.pairs, 1))
        n = len(self.classes.block)
        members = np.argsort(self.classes.block, kind="stable").astype(np.int32)
        start = np.r_[0, np.cumsum(self.classes.sizes)].astype(np.int64)
        shards = shard_count(int(counts.sum()))
        cuts = np.searchsorted(np.cumsum(counts), np.linspace(0, counts.sum(), shards + 1))
        cuts[0], cuts[-1] = 0, len(counts)
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        keys = stream_keys(rng, shards)

        def part(cells: slice, key: np.uint64) -> tuple[np.ndarray, np.ndarray]:
            source, target = draw_cells(
                members, start, self.rows[cells], self.columns[cells], counts[cells], key
            )
            return source, target

        drawn = (engine or LocalEngine(1)).map(part, parts, keys)
        source, target = (np.concatenate(side) for side in zip(*drawn, strict=True))
        indptr, indices = rows_from_pairs(source, target, n)
        return Graph(indptr, indices, np.arange(n))
