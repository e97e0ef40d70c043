"""A graph as compressed sparse rows, with the ids it came with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from coterie.base.errors import InputError


class Cleaned(NamedTuple):
    """What building a graph removed or merged."""

    self_loops: int = 0
    duplicates: int = 0
    reciprocal: int = 0

    def __str__(self) -> str:
        parts = [f"{n:,} {name.replace('_', '-')}" for name, n in self._asdict().items() if n]
        return ", ".join(parts) if parts else "nothing to clean"


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A graph without self-loops or repeated edges.

    Row v of the CSR holds v's neighbours in rising order. An undirected edge is stored in both
    rows and counted once; a directed one only in its source's row.

    >>> g = Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2], n_nodes=4)
    >>> g
    Graph(4 nodes, 3 edges)
    >>> g.cleaned.self_loops, g.degrees
    (1, array([2, 2, 2, 0]))
    """

    indptr: np.ndarray  # int64, n + 1
    indices: np.ndarray  # int32 where it fits, else int64
    ids: np.ndarray  # int64 or str objects, as the user gave them; ids[v] names node v
    weights: np.ndarray | None = None  # float64, beside indices
    directed: bool = False
    cleaned: Cleaned = field(default_factory=Cleaned)

    @property
    def n_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        return len(self.indices) if self.directed else len(self.indices) // 2

    @property
    def degrees(self) -> np.ndarray:
        """Stored neighbours of each node: the degree, or the out-degree of a directed graph."""
        return np.diff(self.indptr)

    @property
    def csr(self) -> csr_array:
        """The adjacency matrix as scipy sees it; shares the arrays."""
        data = self.weights if self.weights is not None else np.ones(len(self.indices))
        return csr_array((data, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """(source, target) of every edge once; source < target where undirected."""
        source = np.repeat(np.arange(self.n_nodes, dtype=self.indices.dtype), self.degrees)
        if self.directed:
            return source, self.indices
        once = source < self.indices
        return source[once], self.indices[once]

    def reversed(self) -> Graph:
        """Every edge turned round: rows hold who points at a node. Undirected: the graph itself."""
        if not self.directed:
            return self
        turned = self.csr.T.tocsr()
        turned.sort_indices()
        return Graph(
            turned.indptr.astype(np.int64),
            turned.indices.astype(self.indices.dtype),
            self.ids,
            None if self.weights is None else turned.data,
            True,
            self.cleaned,
        )

    @classmethod
    def from_edges(
        cls,
        source: np.ndarray | list[int],
        target: np.ndarray | list[int],
        *,
        weights: np.ndarray | list[float] | None = None,
        n_nodes: int | None = None,
        ids: np.ndarray | None = None,
        directed: bool = False,
    ) -> Graph:
        """Build from node numbers 0..n-1: loops dropped, repeats merged, both counted."""
        s, t = np.asarray(source, np.int64), np.asarray(target, np.int64)
        n = int(n_nodes if n_nodes is not None else (max(s.max(), t.max()) + 1 if len(s) else 0))
        if len(s) and (min(s.min(), t.min()) < 0 or max(s.max(), t.max()) >= n):
            raise InputError(f"an edge names a node outside 0..{n - 1}")
        keep = s != t
        w = np.ones(len(s)) if weights is None else np.asarray(weights, np.float64)
        s, t, w = s[keep], t[keep], w[keep]
        one_way, first, where = np.unique(s * n + t, return_index=True, return_inverse=True)
        w = np.bincount(where, w, len(one_way))
        s, t = s[first], t[first]
        cleaned = Cleaned(int((~keep).sum()), len(keep) - int((~keep).sum()) - len(s))
        if not directed:
            low, high = np.minimum(s, t), np.maximum(s, t)
            pair, first = np.unique(low * n + high, return_index=True)
            cleaned = cleaned._replace(reciprocal=len(low) - len(pair))
            low, high, w = low[first], high[first], w[first]
            s, t, w = np.r_[low, high], np.r_[high, low], np.r_[w, w]
        order = np.lexsort((t, s))
        indptr = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(s, minlength=n), out=indptr[1:])
        return cls(
            indptr,
            t[order].astype(np.int32 if n < 2**31 else np.int64),
            np.arange(n) if ids is None else np.asarray(ids),
            None if weights is None else w[order],
            directed,
            cleaned,
        )

    def __repr__(self) -> str:
        kind = "directed " * self.directed + "weighted " * (self.weights is not None)
        return f"Graph({kind}{self.n_nodes:,} nodes, {self.n_edges:,} edges)"
