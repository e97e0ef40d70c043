"""A graph as compressed sparse rows, with the ids of the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data import foreign
from coterie.data.adjacency_builder import Cleaned, build_rows, check_weights, cut_edges
from coterie.data.column_roles import WantedColumns
from coterie.data.foreign import AsFrames, TableColumns
from coterie.data.ids import as_ids, number_ids, require_distinct

if TYPE_CHECKING:
    import igraph
    import networkx
    import pandas
    from scipy.sparse import csr_array

__all__ = ["Cleaned", "Graph"]


@dataclass(frozen=True, eq=False, repr=False)
class Graph(AsFrames):
    """A graph without self-loops and repeated edges.

    Build a graph with `read_graph` or one of the `from_...` methods, not with the constructor:
    they drop self-loops, merge repeated edges and count both. The graph is stored as compressed
    sparse rows: row v lists the neighbours of node v in increasing order. An undirected edge is
    stored in the rows of both nodes and counted once; a directed edge is stored in the row of its
    source.

    Parameters
    ----------
    indptr : ndarray of int64 of shape (n_nodes + 1,)
        Where each row begins in `indices`.
    indices : ndarray of int32 or int64
        The neighbours, row after row.
    ids : ndarray of int64 or object of shape (n_nodes,)
        The id of each node, as the data had it.
    weights : ndarray of float64, optional
        The weight of each entry of `indices`.
    directed : bool, default=False
        Whether edges have a direction.
    cleaned : Cleaned, optional
        How many self-loops and repeated edges were removed.

    Attributes
    ----------
    n_nodes : int
        Number of nodes.
    n_edges : int
        Number of edges; an undirected edge is counted once.
    degrees : ndarray of shape (n_nodes,)
        Number of neighbours of each node; of a directed graph, its out-degree.
    csr : scipy.sparse.csr_array
        The adjacency matrix; it shares the arrays of the graph.

    See Also
    --------
    read_graph : Read a graph from a file.
    write_graph : Write a graph to a file.

    Examples
    --------
    >>> import coterie as ct
    >>> g = ct.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 2], n_nodes=4)
    >>> g
    Graph(4 nodes, 3 edges)
    >>> g.cleaned.self_loops, g.degrees
    (1, array([2, 2, 2, 0]))
    """

    indptr: np.ndarray
    indices: np.ndarray
    ids: np.ndarray
    weights: np.ndarray | None = None
    directed: bool = False
    cleaned: Cleaned = field(default_factory=Cleaned)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge is counted once."""
        return len(self.indices) if self.directed else len(self.indices) // 2

    @property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of each node; of a directed graph, its out-degree."""
        return np.diff(self.indptr)

    @property
    def csr(self) -> csr_array:
        """The adjacency matrix; it shares the arrays of the graph."""
        data = self.weights if self.weights is not None else np.ones(len(self.indices))
        from scipy.sparse import csr_array  # here: loading it takes 0.2 s

        return csr_array((data, self.indices, self.indptr), shape=(self.n_nodes, self.n_nodes))

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the two ends of every edge, once per edge.

        Returns
        -------
        source, target : ndarray of shape (n_edges,)
            Node numbers. Of an undirected edge, the smaller number is the source.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.Graph.from_edges([2, 0], [1, 1]).edges()
        (array([0, 1], dtype=int32), array([1, 2], dtype=int32))
        """
        source = np.repeat(np.arange(self.n_nodes, dtype=self.indices.dtype), self.degrees)
        if self.directed:
            return source, self.indices
        once = source < self.indices
        return source[once], self.indices[once]

    def edge_weights(self) -> np.ndarray:
        """Return the weight of every edge, in the order of `edges`.

        Returns
        -------
        ndarray of float64 of shape (n_edges,)
            The weights; 1 for every edge if the graph has no weights.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.Graph.from_edges([1, 2], [0, 1], weights=[0.5, 2]).edge_weights()
        array([0.5, 2. ])
        """
        if self.weights is None:
            return np.ones(self.n_edges)
        if self.directed:
            return self.weights
        source = np.repeat(np.arange(self.n_nodes, dtype=self.indices.dtype), self.degrees)
        return self.weights[source < self.indices]

    def reversed(self) -> Graph:
        """Return the graph with every edge reversed, so that rows list the sources of each node.

        Returns
        -------
        Graph
            The reversed graph; an undirected graph is returned unchanged.
        """
        if not self.directed:
            return self
        source, target = self.edges()
        rows = build_rows(cut_edges(target, source), self.weights, self.n_nodes, directed=True)
        return Graph(rows.indptr, rows.indices, self.ids, rows.weights, True, self.cleaned)

    def subgraph(self, nodes: Any) -> Graph:
        """Return the graph of some nodes and the edges between them.

        Parameters
        ----------
        nodes : array-like of int
            Different node numbers; the new graph has them in this order.

        Returns
        -------
        Graph
            The graph, with the ids and weights of the nodes.

        Examples
        --------
        >>> import coterie as ct
        >>> part = ct.Graph.from_edges([0, 1, 2], [1, 2, 3]).subgraph([2, 1])
        >>> part, part.ids
        (Graph(2 nodes, 1 edges), array([2, 1]))
        """
        part = self.csr[nodes][:, nodes].tocsr()
        part.sort_indices()
        return Graph(
            part.indptr.astype(self.indptr.dtype),
            part.indices.astype(self.indices.dtype),
            self.ids[nodes],
            None if self.weights is None else part.data,
            self.directed,
        )

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
        """Build a graph from a list of edges.

        Self-loops are dropped and repeated edges are merged; `cleaned` counts both.

        Parameters
        ----------
        source, target : array-like of int or str of shape (n_edges,)
            The ends of each edge: node numbers 0..n-1, or names.
        weights : array-like of shape (n_edges,), optional
            Weights. The weights of repeated edges are added; the two directions of
            an undirected pair must have the same weight.
        n_nodes : int, optional
            Number of nodes, if some have no edges. By default, the largest number plus one.
        ids : array-like of shape (n_nodes,), optional
            The id of each node number. By default, the numbers or names themselves.
        directed : bool, default=False
            Whether edges have a direction.

        Returns
        -------
        Graph
            The graph.

        Raises
        ------
        InputError
            If the arrays have different lengths, a node number is out of range, or a weight is
            negative or not finite.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.Graph.from_edges(["ann", "bob"], ["bob", "cat"]).ids
        array(['ann', 'bob', 'cat'], dtype=object)
        """
        s, t = as_ids(source), as_ids(target)
        if len(s) != len(t):
            raise InputError(
                f"{len(s)} sources and {len(t)} targets", remedy="give one target per source"
            )
        w = None if weights is None else np.ascontiguousarray(weights, np.float64)
        if w is not None:
            if w.shape != s.shape:
                raise InputError(
                    f"{len(s)} edges and {len(w)} weights", remedy="give one weight per edge"
                )
            check_weights(w)
        if s.dtype == object or t.dtype == object:
            if ids is not None or n_nodes is not None:
                raise InputError(
                    "`n_nodes` and `ids` cannot be combined with edges given by names",
                    remedy="give node numbers, or leave out both",
                )
            ids, (s, t) = number_ids([s, t])
        n = _node_count(s, t, n_nodes, ids)
        if ids is None:
            names = np.arange(n)
        else:
            names = as_ids(ids)
            require_distinct(names)
        rows = build_rows(cut_edges(s, t), w, n, directed)
        return cls(rows.indptr, rows.indices, names, rows.weights, directed, rows.cleaned)

    @classmethod
    def from_networkx(cls, graph: networkx.Graph, *, weight: str | None = None) -> Graph:
        """Build a graph from a networkx graph.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            The graph. Parallel edges are merged.
        weight : str, optional
            The edge attribute with the weights. By default, weights are not read.

        Returns
        -------
        Graph
            A graph with the same nodes as ids, in the same order.

        Examples
        --------
        >>> import coterie as ct
        >>> import networkx
        >>> ct.Graph.from_networkx(networkx.karate_club_graph())
        Graph(34 nodes, 78 edges)
        """
        place = {name: number for number, name in enumerate(graph.nodes)}
        pairs = [(place[u], place[v]) for u, v in graph.edges()]
        values = [] if weight is None else [w for _, _, w in graph.edges(data=weight)]
        return cls._from_pairs(pairs, weight, values, list(place), graph.is_directed())

    def to_networkx(self) -> networkx.Graph:
        """Return the graph as a networkx graph.

        Returns
        -------
        networkx.Graph or networkx.DiGraph
            A graph whose nodes are the ids; weights are the edge attribute "weight".
        """
        package = foreign.require("networkx")
        result: networkx.Graph = package.DiGraph() if self.directed else package.Graph()
        names = self.ids.tolist()
        result.add_nodes_from(names)
        source, target = (ends.tolist() for ends in self.edges())
        named = ((names[s], names[t]) for s, t in zip(source, target, strict=True))
        if self.weights is None:
            result.add_edges_from(named)
        else:
            weights = self.edge_weights().tolist()
            both = zip(named, weights, strict=True)
            result.add_weighted_edges_from((*pair, weight) for pair, weight in both)
        return result

    @classmethod
    def from_igraph(cls, graph: igraph.Graph, *, weight: str | None = None) -> Graph:
        """Build a graph from an igraph graph.

        Parameters
        ----------
        graph : igraph.Graph
            The graph. Parallel edges are merged.
        weight : str, optional
            The edge attribute with the weights. By default, weights are not read.

        Returns
        -------
        Graph
            A graph whose ids are the vertex attribute "name", or the vertex numbers.
        """
        known = graph.es.attributes()
        if weight is not None and weight not in known:
            raise InputError(
                f"the edges have no attribute {weight!r}", remedy=f"use one of {known}"
            )
        named = "name" in graph.vs.attributes()
        return cls._from_pairs(
            graph.get_edgelist(),
            weight,
            [] if weight is None else graph.es[weight],
            graph.vs["name"] if named else range(graph.vcount()),
            graph.is_directed(),
        )

    @classmethod
    def _from_pairs(
        cls, pairs: Any, weight: str | None, values: list[Any], ids: Any, directed: bool
    ) -> Graph:
        """Build a graph from pairs of node numbers, and the weights of this name."""
        source, target = np.array(pairs, np.int64).reshape(-1, 2).T
        weights = None if weight is None else foreign.checked_weights(values, weight)
        return cls.from_edges(source, target, weights=weights, ids=ids, directed=directed)

    def to_igraph(self) -> igraph.Graph:
        """Return the graph as an igraph graph.

        Returns
        -------
        igraph.Graph
            A graph with the ids as the vertex attribute "name", and the weights as the edge
            attribute "weight".
        """
        edges = np.stack(self.edges(), axis=1)
        result: igraph.Graph = foreign.require("igraph").Graph(
            self.n_nodes, edges, directed=self.directed
        )
        result.vs["name"] = self.ids.tolist()
        if self.weights is not None:
            result.es["weight"] = self.edge_weights().tolist()
        return result

    @classmethod
    def from_scipy(
        cls, matrix: Any, *, directed: bool | None = None, weighted: bool = False, ids: Any = None
    ) -> Graph:
        """Build a graph from a sparse adjacency matrix.

        Parameters
        ----------
        matrix : scipy sparse matrix or array of shape (n_nodes, n_nodes)
            Entries other than 0 are edges. For an undirected graph, one half is sufficient.
        directed : bool, optional
            Whether edges have a direction. By default, they have if the matrix is not symmetric.
        weighted : bool, default=False
            Whether the entries are weights.
        ids : array-like of shape (n_nodes,), optional
            The id of each node. By default, 0..n-1.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> import coterie as ct
        >>> import scipy.sparse
        >>> ct.Graph.from_scipy(scipy.sparse.csr_array([[0, 1], [1, 0]]))
        Graph(2 nodes, 1 edges)
        """
        entries = foreign.sparse_entries(matrix)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"an adjacency matrix must be square, not of shape {matrix.shape}",
                remedy="give n x n entries",
            )
        if directed is None:
            directed = bool((matrix != matrix.T).nnz)
        entries.sum_duplicates()
        stored = entries.data != 0
        return cls.from_edges(
            entries.row[stored],
            entries.col[stored],
            weights=entries.data[stored] if weighted else None,
            n_nodes=matrix.shape[0],
            ids=ids,
            directed=directed,
        )

    def to_scipy(self) -> csr_array:
        """Return a copy of the adjacency matrix.

        Returns
        -------
        scipy.sparse.csr_array
            The weights, or 1 for every edge, in both directions if the graph is undirected.
        """
        return self.csr.copy()

    @classmethod
    def from_numpy(
        cls, matrix: Any, *, directed: bool | None = None, weighted: bool = False, ids: Any = None
    ) -> Graph:
        """Build a graph from an adjacency matrix as an array.

        Parameters
        ----------
        matrix : array-like of shape (n_nodes, n_nodes)
            Entries other than 0 are edges. For an undirected graph, one half is sufficient.
        directed : bool, optional
            Whether edges have a direction. By default, they have if the matrix is not symmetric.
        weighted : bool, default=False
            Whether the entries are weights.
        ids : array-like of shape (n_nodes,), optional
            The id of each node. By default, 0..n-1.

        Returns
        -------
        Graph
            The graph.
        """
        from scipy.sparse import coo_array

        entries = coo_array(foreign.square_array(matrix))
        return cls.from_scipy(entries, directed=directed, weighted=weighted, ids=ids)

    def to_numpy(self) -> np.ndarray:
        """Return the adjacency matrix as an array; for small graphs.

        Returns
        -------
        ndarray of shape (n_nodes, n_nodes)
            The weights, or 1 for every edge.
        """
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
        """Build a graph from a table of edges; also available as `from_polars`.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            One row per edge.
        source, target : str, optional
            The columns with the ends of the edges. By default, columns with known names such as
            "source" and "target", or else the first two.
        weight : str, optional
            The column with the weights. By default, weights are not read.
        directed : bool, default=False
            Whether edges have a direction.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> import coterie as ct
        >>> import pandas
        >>> table = pandas.DataFrame({"from": ["ann", "bob"], "to": ["bob", "cat"]})
        >>> ct.Graph.from_pandas(table)
        Graph(3 nodes, 2 edges)
        """
        given = (("source", source), ("target", target))
        chosen = tuple((end, name) for end, name in given if name is not None)
        ends = foreign.choose_columns(frame, WantedColumns(("source", "target"), chosen=chosen))
        ids, (s, t) = number_ids(
            [as_ids(foreign.frame_column(frame, name)) for name in ends.values()]
        )
        weights = None if weight is None else foreign.frame_column(frame, weight)
        return cls.from_edges(s, t, weights=weights, ids=ids, directed=directed)

    from_polars = from_pandas

    def _frame_columns(self) -> TableColumns:
        return foreign.edge_columns(self)

    def __repr__(self) -> str:
        kind = "directed " * self.directed + "weighted " * (self.weights is not None)
        return f"Graph({kind}{self.n_nodes:,} nodes, {self.n_edges:,} edges)"


def _node_count(s: np.ndarray, t: np.ndarray, n_nodes: int | None, ids: Any) -> int:
    """Return the number of nodes, from what was given or from the largest node number."""
    if ids is not None:
        if n_nodes is not None and n_nodes != len(ids):
            raise InputError(
                f"`n_nodes` is {n_nodes}, but there are {len(ids)} ids",
                remedy="leave out `n_nodes`",
            )
        return len(ids)
    if n_nodes is not None:
        if n_nodes < 0:
            raise InputError(f"`n_nodes` is {n_nodes}", remedy="give 0 or more")
        return int(n_nodes)
    return int(max(s.max(), t.max())) + 1 if len(s) else 0
