"""A graph as compressed sparse rows, with the ids it came with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from coterie.base.errors import InputError
from coterie.data.adjacency_builder import Cleaned, build_rows, check_weights, cut_edges
from coterie.data.ids import as_ids, number_ids, require_distinct

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    import polars

__all__ = ["Cleaned", "Graph"]


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
    ids: np.ndarray  # int64 or objects (str), as the user gave them; ids[v] names node v
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

    def edge_weights(self) -> np.ndarray:
        """The weight of every edge, in the order of `edges()`; 1 where there are none.

        >>> Graph.from_edges([1, 2], [0, 1], weights=[0.5, 2]).edge_weights()
        array([0.5, 2. ])
        """
        if self.weights is None:
            return np.ones(self.n_edges)
        if self.directed:
            return self.weights
        source = np.repeat(np.arange(self.n_nodes, dtype=self.indices.dtype), self.degrees)
        return self.weights[source < self.indices]

    def reversed(self) -> Graph:
        """Every edge turned round: rows hold who points at a node. Undirected: the graph itself."""
        if not self.directed:
            return self
        source, target = self.edges()
        rows = build_rows(cut_edges(target, source), self.weights, self.n_nodes, directed=True)
        weights = None if self.weights is None else rows.weights
        return Graph(rows.indptr, rows.indices, self.ids, weights, True, self.cleaned)

    @classmethod
    def from_edges(
        cls,
        source: Any,
        target: Any,
        *,
        weights: Any = None,
        n_nodes: int | None = None,
        ids: Any = None,
        directed: bool = False,
    ) -> Graph:
        """Build from node numbers 0..n-1, or from names: loops dropped, repeats merged, counted.

        The weights of repeats add; the two directions of an undirected pair must agree.

        >>> Graph.from_edges(["ann", "bob"], ["bob", "cat"]).ids
        array(['ann', 'bob', 'cat'], dtype=object)
        """
        s, t = as_ids(source), as_ids(target)
        if len(s) != len(t):
            raise InputError(f"{len(s)} sources and {len(t)} targets do not line up")
        w = None if weights is None else np.ascontiguousarray(weights, np.float64)
        if w is not None:
            if w.shape != s.shape:
                raise InputError(f"{len(s)} edges and {len(w)} weights do not line up")
            check_weights(w)
        if s.dtype == object or t.dtype == object:
            if ids is not None or n_nodes is not None:
                raise InputError(
                    "edges by name together with n_nodes or ids",
                    remedy="give node numbers with those, or names alone",
                )
            ids, (s, t) = number_ids([s, t])
        n = _node_count(s, t, n_nodes, ids)
        if ids is None:
            names = np.arange(n)
        else:
            names = as_ids(ids)
            require_distinct(names)
        rows = build_rows(cut_edges(s, t), w, n, directed)
        merged = None if w is None else rows.weights
        return cls(rows.indptr, rows.indices, names, merged, directed, rows.cleaned)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, weight: str | None = None) -> Graph:
        """From networkx; node names kept, `weight` names the edge attribute to read."""
        from coterie.data.networkx_igraph import graph_from_networkx

        return graph_from_networkx(graph, weight)

    def to_networkx(self) -> networkx.Graph:
        """As networkx, nodes named by their ids, weights under "weight"."""
        from coterie.data.networkx_igraph import graph_to_networkx

        return graph_to_networkx(self)

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, *, weight: str | None = None) -> Graph:
        """From igraph; ids are the vertex attribute "name" where there is one."""
        from coterie.data.networkx_igraph import graph_from_igraph

        return graph_from_igraph(graph, weight)

    def to_igraph(self) -> igraph.Graph:
        """As igraph, ids as the vertex attribute "name", weights as "weight"."""
        from coterie.data.networkx_igraph import graph_to_igraph

        return graph_to_igraph(self)

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, directed: bool | None = None, weighted: bool = False, ids: Any = None
    ) -> Graph:
        """From a square sparse matrix; directed if the matrix is not symmetric, unless said."""
        from coterie.data.matrices import graph_from_scipy

        return graph_from_scipy(matrix, directed, weighted, ids)

    def to_scipy(self) -> csr_array:
        """The adjacency matrix, a copy of its own."""
        return self.csr.copy()

    @classmethod
    def from_numpy(
        cls, matrix: Any, *, directed: bool | None = None, weighted: bool = False, ids: Any = None
    ) -> Graph:
        """From a square array of 0 and 1 (or of weights)."""
        from coterie.data.matrices import graph_from_numpy

        return graph_from_numpy(matrix, directed, weighted, ids)

    def to_numpy(self) -> np.ndarray:
        """The adjacency matrix as a square array; for small graphs."""
        return np.asarray(self.csr.toarray())

    @classmethod
    def from_pandas(
        cls,
        frame: pandas.DataFrame,
        *,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        directed: bool = False,
    ) -> Graph:
        """From a table of edges; the columns source and target, or the first two."""
        from coterie.data.dataframes import graph_from_frame

        return graph_from_frame(frame, source, target, weight, directed)

    from_polars = from_pandas

    def to_pandas(self) -> pandas.DataFrame:
        """The edges as a table source, target and, where there are some, weight."""
        from coterie.data.dataframes import edge_columns, require

        frame: pandas.DataFrame = require("pandas").DataFrame(edge_columns(self))
        return frame

    def to_polars(self) -> polars.DataFrame:
        """As `to_pandas`, in polars."""
        from coterie.data.dataframes import edge_columns, require

        frame: polars.DataFrame = require("polars").DataFrame(edge_columns(self))
        return frame

    def __repr__(self) -> str:
        kind = "directed " * self.directed + "weighted " * (self.weights is not None)
        return f"Graph({kind}{self.n_nodes:,} nodes, {self.n_edges:,} edges)"


def _node_count(s: np.ndarray, t: np.ndarray, n_nodes: int | None, ids: Any) -> int:
    if ids is not None:
        if n_nodes is not None and n_nodes != len(ids):
            raise InputError(f"n_nodes is {n_nodes} and there are {len(ids)} ids")
        return len(ids)
    if n_nodes is not None:
        if n_nodes < 0:
            raise InputError(f"n_nodes is {n_nodes}")
        return int(n_nodes)
    return int(max(s.max(), t.max())) + 1 if len(s) else 0
