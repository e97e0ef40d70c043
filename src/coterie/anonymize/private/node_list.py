"""The declared node list: public, and never derived from the edges."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.data.column_roles import id_column
from coterie.data.ids import IdLookup, as_ids, ids_from_text
from coterie.data.table import read_id_list

NodeList = int | str | os.PathLike[str] | Iterable[Any]


def declared_ids(nodes: NodeList) -> np.ndarray:
    """Return the ids of the declared nodes, in their order (int64 or str objects).

    A number n stands for 0..n-1; a path is a file with one id per line, or a table with a column
    of ids; anything else is a sequence of ids.

    >>> declared_ids(3), declared_ids(["ann", "bob"])
    (array([0, 1, 2]), array(['ann', 'bob'], dtype=object))
    """
    if isinstance(nodes, int | np.integer) and not isinstance(nodes, bool):
        ids = np.arange(max(int(nodes), 0), dtype=np.int64)
    elif isinstance(nodes, str | os.PathLike):
        ids = _read_ids(nodes)
    elif isinstance(nodes, Iterable):
        given = nodes if isinstance(nodes, np.ndarray) else list(nodes)
        ids = as_ids(given)
        ids = ids.astype(np.int64) if ids.dtype.kind == "i" else ids
        if ids.dtype.kind == "O" and not all(isinstance(id_, str) for id_ in ids):
            raise InputError(
                "the ids of `nodes` are neither all integers nor all text",
                remedy="use integers of 64 bits, or text",
            )
        _require_distinct(ids, None, None)
    else:
        raise InputError(
            f"`nodes` is {nodes!r}", remedy="give the number of nodes, their ids, or a file"
        )
    if len(ids) < 2:
        raise InputError(
            f"the node list has {len(ids)} nodes; a network needs at least 2",
            remedy="give all nodes, also those without edges",
        )
    return ids


def _read_ids(path: str | os.PathLike[str]) -> np.ndarray:
    """Return the ids of a file: integers if every one reads back the same, else text.

    A first line that is a usual name of a column of ids, such as node, is a header.
    """
    table = read_id_list(path, lambda text: id_column([text]) is not None)
    ids = ids_from_text([id_ for (id_,) in table.rows])
    _require_distinct(ids, path, table.lines)
    return ids


def _require_distinct(
    ids: np.ndarray, path: str | os.PathLike[str] | None, lines: list[int] | None
) -> None:
    seen: set[Any] = set()
    for place, id_ in enumerate(ids.tolist()):
        if id_ in seen:
            raise InputError(
                f"the node {id_!r} is listed twice",
                path=path,
                line=None if lines is None else lines[place],
                remedy="list every node once",
            )
        seen.add(id_)


def on_node_list(graph: Graph, ids: np.ndarray) -> Graph:
    """Return the graph with the declared nodes, in their order; an edge outside is an error.

    The result has every edge once and no self-loops, which the privacy proof needs. Nodes of the
    graph that have no edges and are not declared are left out.
    """
    if graph.directed:
        raise InputError(
            "the graph is directed; a sketch protects undirected edges",
            remedy="give an undirected graph",
        )
    if graph.weights is not None:
        raise InputError(
            "the graph has weights; a sketch protects edges, not their weights",
            remedy="give a graph without weights",
        )
    if np.array_equal(graph.ids, ids):
        _require_simple(graph)
        return graph
    # "7" in the list and 7 in the graph are the same node, as a file would have it
    place = IdLookup(ids).numbers(graph.ids)
    outside = np.flatnonzero((place < 0) & (graph.degrees > 0))
    if len(outside):
        who = (
            "1 node with edges is"
            if len(outside) == 1
            else f"{len(outside):,} nodes with edges are"
        )
        raise InputError(
            f"{who} not in the node list, for example {graph.ids[outside[0]]!s}",
            remedy="declare every node that may occur (`nodes`); the list must not be made from "
            "the edges",
        )
    source, target = graph.edges()
    return Graph.from_edges(place[source], place[target], n_nodes=len(ids), ids=ids)


def _require_simple(graph: Graph) -> None:
    """Raise InputError if a graph that was not built by `from_...` has loops or repeated edges.

    An edge that is stored twice would change twice as many counts as the noise allows for.
    """
    source, target = graph.edges()
    built = Graph.from_edges(source, target, n_nodes=graph.n_nodes)
    same = np.array_equal(built.indptr, graph.indptr) and np.array_equal(
        built.indices, graph.indices
    )
    if not same:
        raise InputError(
            "the graph has self-loops, repeated edges, or edges in one row only",
            remedy="build it with `Graph.from_edges`, which removes them",
        )
