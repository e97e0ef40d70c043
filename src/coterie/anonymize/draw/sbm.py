"""Graphs drawn from a stochastic block model, cell by cell (Prost & Yoon).

`sbm` draws every pair of a cell independently. `exact-counts` (Hay et al. 2008) keeps the number
of edges of each cell and draws only which pairs are connected.
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
    occupied_cells,
)
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine, shard_count
from coterie.kernels.anonymize.cell_draw import draw_cells
from coterie.kernels.graphs.pairs import rows_from_pairs
from coterie.models.hard.label_tools import renumber


@dataclass(frozen=True, eq=False)
class CellModel:
    """Blocks, and the number of edges of each cell (pair of blocks).

    >>> g = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    >>> model = CellModel.fit(g, np.zeros(4, np.int32), limit=0.9, exact=True)
    >>> model.draw(np.random.default_rng(0)).n_edges
    4
    """

    classes: Classes  # the classes are the blocks
    rows: np.ndarray  # int64: the two blocks of each cell, row <= column
    columns: np.ndarray
    pairs: np.ndarray  # int64: node pairs of the cell
    edges: np.ndarray  # int64: edges of the cell, less than `limit` of the pairs
    exact: bool

    @classmethod
    def fit(cls, graph: Graph, labels: np.ndarray, *, limit: float, exact: bool) -> CellModel:
        """Count the edges of every cell; counts are reduced to less than `limit` of the pairs."""
        block = renumber(labels)
        matrix = block_matrix(graph, block)
        sizes = np.bincount(block).astype(np.int64)
        rows, columns = np.nonzero(np.triu(matrix))
        inner = rows == columns
        edges = matrix[rows, columns] // np.where(inner, 2, 1)
        pairs = np.where(inner, sizes[rows] * (sizes[rows] - 1) // 2, sizes[rows] * sizes[columns])
        highest = np.ceil(limit * pairs).astype(np.int64) - 1
        return cls(Classes(block, block), rows, columns, pairs, np.clip(edges, 0, highest), exact)

    def cells(self, graph: Graph) -> ClassCells:
        """Return the cells with an original edge, and the probability of an edge in each."""
        found = occupied_cells(graph, self.classes)
        k = self.classes.n_blocks
        at = np.searchsorted(self.rows * k + self.columns, found.first * k + found.second)
        p = self.edges[at] / self.pairs[at]
        return ClassCells(found.first, found.second, found.edges, p, found.density)

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """Draw a graph; all that node v of it shares with the original v is the block."""
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
