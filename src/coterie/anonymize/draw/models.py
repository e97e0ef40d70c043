"""The release models by name, and the stochastic block model (Prost & Yoon).

`sbm` draws every pair of a cell independently. `exact-counts` (Hay et al. 2008) keeps the number
of edges of each cell and draws only which pairs are connected.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.bipartite import BipartiteModel
from coterie.anonymize.draw.class_limits import limit_cells
from coterie.anonymize.draw.classes import (
    ClassCells,
    Classes,
    block_matrix,
    merge_small_blocks,
    occupied_cells,
)
from coterie.anonymize.draw.dcsbm import Steps, StubModel
from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import stream_keys
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine, shard_count
from coterie.kernels.anonymize.cell_draw import draw_cells
from coterie.kernels.graphs.pairs import rows_from_pairs
from coterie.models.hard.label_tools import renumber

MODELS = ("dcsbm", "sbm", "exact-counts")


class ReleaseModel(Protocol):
    """A model that graphs are drawn from: it knows everyone's class and nobody's neighbours."""

    @property
    def classes(self) -> Classes:
        """The classes of the people."""
        ...

    def cells(self, graph: Graph) -> ClassCells:
        """Return the cells with an original edge, and the probability of an edge in each."""
        ...

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """Draw a graph; all that node v of it shares with the original v is the class."""
        ...


def check_model(name: str) -> None:
    """Raise InputError for an unknown model."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}", remedy=f"use one of {', '.join(MODELS)}")


def build_model(
    name: str,
    graph: Graph,
    labels: np.ndarray,
    *,
    min_size: int,
    limit: float,
    rng: Generator,
    steps: Steps | None = None,
    core_share: float = np.inf,
    merge_cores: bool = False,
    sides: np.ndarray | None = None,
    callback: Callback = silent,
) -> ReleaseModel:
    """Build the model called `name` from a graph and its blocks.

    Every class has at least `min_size` nodes. Where possible, no original edge is in a cell with
    an edge probability or a density of `limit` or more. For `core_share` and
    `merge_cores` see `release_classes`.
    With `sides` (bool per node), edges join the two sides only, whatever the name.
    """
    check_model(name)
    if sides is not None:
        return BipartiteModel.fit(graph, labels, sides, min_size=min_size, limit=limit, rng=rng)
    if name == "dcsbm":
        return StubModel.fit(
            graph,
            labels,
            min_size=min_size,
            limit=limit,
            steps=steps,
            core_share=core_share,
            merge_cores=merge_cores,
            callback=callback,
        )
    merged = merge_small_blocks(graph, labels, min_size)
    limited = limit_cells(graph, Classes(merged, merged), limit, min_size, by_degree=False)
    return CellModel.fit(graph, limited.block, limit=limit, exact=name == "exact-counts")


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
