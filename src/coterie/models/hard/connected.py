"""Connected blocks: split blocks that fall apart, and merge adjacent parts again.

A block model groups nodes with similar neighbours, so a block may consist of parts that are not
connected to each other. Here every such part becomes a block; then pairs of adjacent blocks are
merged, always the pair that raises the entropy least, down to the requested number of blocks or to
the shortest description. Merging two connected blocks with an edge between them gives a connected
block, so all results are connected.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.base.lazy_modules import scipy_csgraph, scipy_sparse
from coterie.data import Graph
from coterie.models.hard.label_tools import renumber

_FEW_EDGES = 20_000  # a loop over them takes less time than loading SciPy
_LEVELS = 60  # numbers of blocks at which the description length is computed


def connected_parts(graph: Graph, labels: np.ndarray) -> np.ndarray:
    """Return labels in which every connected part of a block is a block (directions ignored).

    >>> connected_parts(Graph.from_edges([0, 2], [1, 3]), np.array([0, 0, 0, 0])).tolist()
    [0, 0, 1, 1]
    """
    source, target = graph.edges()
    inside = labels[source] == labels[target]
    if len(source) <= _FEW_EDGES:
        return _parts_of_few(graph.n_nodes, source[inside].tolist(), target[inside].tolist())
    shape = (graph.n_nodes, graph.n_nodes)
    edges = (np.ones(int(inside.sum()), np.int8), (source[inside], target[inside]))
    matrix = scipy_sparse.coo_array(edges, shape=shape)
    return np.asarray(scipy_csgraph.connected_components(matrix, directed=False)[1])


def _parts_of_few(n: int, source: list[int], target: list[int]) -> np.ndarray:
    """Return the component of every node, in the order of their first nodes, without SciPy."""
    root = list(range(n))
    for u, v in zip(source, target, strict=True):
        while root[u] != u:
            root[u] = u = root[root[u]]
        while root[v] != v:
            root[v] = v = root[root[v]]
        root[max(u, v)] = min(u, v)
    for node in range(n):  # a root is smaller than its nodes
        root[node] = root[root[node]]
    return np.unique(np.array(root, np.int64), return_inverse=True)[1].astype(np.int32)


def disconnected_blocks(graph: Graph, labels: np.ndarray) -> int:
    """Return the number of blocks that are not connected inside.

    >>> disconnected_blocks(Graph.from_edges([0, 2], [1, 3]), np.array([0, 0, 0, 1]))
    1
    """
    if not graph.n_nodes:
        return 0
    parts = connected_parts(graph, labels)
    first = np.unique(parts, return_index=True)[1]
    return int((np.bincount(labels[first]) > 1).sum())


def connect(
    objective: str,
    graph: Graph,
    labels: np.ndarray,
    n_blocks: int | None,
    length: Callable[[np.ndarray], float] | None = None,
) -> np.ndarray:
    """Return labels of connected blocks.

    `n_blocks` is the maximum number (more only if the graph has more components); without it, the
    number for which `length`, a function of the labels, is shortest.
    """
    parts = renumber(connected_parts(graph, labels))
    count = int(parts.max(initial=-1)) + 1
    if n_blocks is not None and count <= n_blocks:
        return parts
    steps = _merge_order(_Merger(objective, graph, parts), count - (n_blocks or 1))
    if n_blocks is not None or length is None:
        return _after(parts, steps, len(steps))
    levels = np.unique(np.linspace(0, len(steps), _LEVELS).astype(int)).tolist()
    lengths = {level: length(_after(parts, steps, level)) for level in levels}
    while True:  # narrow the gaps around the best level
        ranked = sorted(lengths)
        at = ranked.index(min(lengths, key=lambda level: (lengths[level], level)))
        around = ranked[max(at - 1, 0) : at + 2]
        between = [(a + b) // 2 for a, b in pairwise(around) if b - a > 1]
        if not between:
            return _after(parts, steps, ranked[at])
        lengths |= {level: length(_after(parts, steps, level)) for level in between}


class _Cell(NamedTuple):
    """Edges from one block to another, and back (directed graphs)."""

    out: float
    back: float


def _g(x: float) -> float:
    return x * float(np.log(x)) if x > 0 else 0.0


class _Merger:
    """Block statistics that merges of two blocks update."""

    def __init__(self, objective: str, graph: Graph, labels: np.ndarray) -> None:
        self.objective = objective
        self.ordered = objective == "directed"
        k = int(labels.max(initial=-1)) + 1
        self.size = np.bincount(labels, minlength=k).astype(float).tolist()
        weights = graph.edge_weights() if objective == "weighted" else np.ones(graph.n_edges)
        source, target = (labels[ends] for ends in graph.edges())
        self.cells: list[dict[int, _Cell]] = [{} for _ in range(k)]
        self.inner = np.zeros(k)
        codes, cell = np.unique(source.astype(np.int64) * k + target, return_inverse=True)
        for code, value in zip(
            codes.tolist(), np.bincount(cell, weights).tolist() if len(codes) else [], strict=True
        ):
            r, s = divmod(code, k)
            if r == s:
                self.inner[r] += value
                continue
            for a, b, forth, back in ((r, s, value, 0.0), (s, r, 0.0, value)):
                old = self.cells[a].get(b, _Cell(0.0, 0.0))
                self.cells[a][b] = _Cell(old.out + forth, old.back + back)
        self.degree = [
            2 * float(self.inner[r]) + sum(c.out + c.back for c in row.values())
            for r, row in enumerate(self.cells)
        ]

    def cost(self, r: int, s: int) -> float:
        """Return the change of the entropy if r and s are merged."""
        inner, row = self._merged(r, s)
        size, degree = self.size[r] + self.size[s], self.degree[r] + self.degree[s]
        change = self._block(inner, size, degree) + self._row(row, size)
        for one in (r, s):
            change -= self._block(float(self.inner[one]), self.size[one], self.degree[one])
            change -= self._row(self.cells[one], self.size[one])
        return change + self._between(self.cells[r][s], self.size[r], self.size[s])

    def merge(self, r: int, s: int) -> None:
        """Merge s into r."""
        self.inner[r], self.cells[r] = self._merged(r, s)
        self.size[r] += self.size[s]
        self.degree[r] += self.degree[s]
        for t in self.cells[s].keys() - {r}:
            del self.cells[t][s]
        for t, cell in self.cells[r].items():
            self.cells[t][r] = _Cell(cell.back, cell.out)
        self.cells[s] = {}

    def _merged(self, r: int, s: int) -> tuple[float, dict[int, _Cell]]:
        """Return the inner edges and the row of r and s as one block."""
        row = {t: cell for t, cell in self.cells[r].items() if t != s}
        for t, cell in self.cells[s].items():
            if t != r:
                old = row.get(t, _Cell(0.0, 0.0))
                row[t] = _Cell(old.out + cell.out, old.back + cell.back)
        return float(self.inner[r] + self.inner[s]) + sum(self.cells[r][s]), row

    @property
    def _degree_corrected(self) -> bool:
        return self.objective not in ("simple", "directed", "weighted")

    def _row(self, row: dict[int, _Cell], size: float) -> float:
        """Return the entropy of the cells between a block and all others."""
        return sum(self._between(cell, size, self.size[t]) for t, cell in row.items())

    def _between(self, cell: _Cell, n: float, m: float) -> float:
        if self.ordered:
            return self._cell(cell.out, n * m) + self._cell(cell.back, n * m)
        return self._cell(cell.out + cell.back, n * m)

    def _block(self, edges: float, n: float, degree: float) -> float:
        """Return the entropy of the edges inside a block, and of its degrees."""
        if self._degree_corrected:
            return _g(degree) - _g(2 * edges) / 2
        return self._cell(edges, n * (n - 1) * (1.0 if self.ordered else 0.5))

    def _cell(self, d: float, pairs: float) -> float:
        """Return the entropy of a cell with d edges over so many pairs."""
        if self._degree_corrected:
            return -_g(d)
        if d == 0:
            return 0.0
        if self.objective == "weighted":
            return d - d * float(np.log(d / pairs))
        return _g(pairs) - _g(d) - _g(pairs - d)


def _merge_order(merger: _Merger, count: int) -> list[tuple[int, int]]:
    """Return up to `count` merges (kept block, merged block), each the cheapest at its time."""
    version = [0] * len(merger.size)
    heap = [
        (merger.cost(r, s), r, s, 0, 0) for r, row in enumerate(merger.cells) for s in row if r < s
    ]
    heapq.heapify(heap)
    steps: list[tuple[int, int]] = []
    while heap and len(steps) < count:
        _, r, s, of_r, of_s = heapq.heappop(heap)
        if (of_r, of_s) != (version[r], version[s]):
            continue  # one of them has changed or is gone
        if len(merger.cells[r]) < len(merger.cells[s]):
            r, s = s, r  # move the shorter row
        merger.merge(r, s)
        version[r] += 1
        version[s] = -1
        steps.append((r, s))
        for t in merger.cells[r]:
            a, b = min(r, t), max(r, t)
            heapq.heappush(heap, (merger.cost(a, b), a, b, version[a], version[b]))
    return steps


def _after(parts: np.ndarray, steps: list[tuple[int, int]], count: int) -> np.ndarray:
    """Return the labels after the first `count` merges."""
    into = np.arange(int(parts.max(initial=-1)) + 1)
    for kept, merged in reversed(steps[:count]):  # the last merges first: into[kept] is final
        into[merged] = into[kept]
    return renumber(into[parts])
