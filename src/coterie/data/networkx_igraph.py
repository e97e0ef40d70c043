"""Conversion from and to networkx and igraph; neither package is required."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data.dataframes import require
from coterie.data.graph import Graph
from coterie.data.ids import as_ids


def graph_from_networkx(graph: Any, weight: str | None, directed: bool | None = None) -> Graph:
    """Build a graph with the nodes in the same order; parallel edges are merged."""
    names = list(graph.nodes)
    place = {name: number for number, name in enumerate(names)}
    pairs = [(place[u], place[v]) for u, v in graph.edges()]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    weights = None
    if weight is not None:
        weights = _edge_weights([value for _, _, value in graph.edges(data=weight)], weight)
    return Graph.from_edges(
        source,
        target,
        weights=weights,
        ids=_names(names),
        directed=graph.is_directed() if directed is None else directed,
    )


def graph_to_networkx(graph: Graph) -> Any:
    """Return a networkx.Graph or DiGraph."""
    networkx = require("networkx")
    result = networkx.DiGraph() if graph.directed else networkx.Graph()
    names = graph.ids.tolist()
    result.add_nodes_from(names)
    source, target = (ends.tolist() for ends in graph.edges())
    named = ((names[s], names[t]) for s, t in zip(source, target, strict=True))
    if graph.weights is None:
        result.add_edges_from(named)
    else:
        weights = graph.edge_weights().tolist()
        result.add_weighted_edges_from((*pair, w) for pair, w in zip(named, weights, strict=True))
    return result


def graph_from_igraph(graph: Any, weight: str | None) -> Graph:
    """Build a graph whose ids are the vertex attribute "name", or the vertex numbers."""
    source, target = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2).T
    weights = None
    if weight is not None:
        if weight not in graph.es.attributes():
            raise InputError(
                f"the edges have no attribute {weight!r}",
                remedy=f"use one of {graph.es.attributes()}",
            )
        weights = _edge_weights(graph.es[weight], weight)
    named = "name" in graph.vs.attributes()
    return Graph.from_edges(
        source,
        target,
        weights=weights,
        ids=_names(graph.vs["name"]) if named else np.arange(graph.vcount()),
        directed=graph.is_directed(),
    )


def graph_to_igraph(graph: Graph) -> Any:
    """Return an igraph.Graph with vertex names and, if there are weights, edge weights."""
    igraph = require("igraph")
    source, target = graph.edges()
    result = igraph.Graph(
        n=graph.n_nodes, edges=np.stack([source, target], axis=1), directed=graph.directed
    )
    result.vs["name"] = graph.ids.tolist()
    if graph.weights is not None:
        result.es["weight"] = graph.edge_weights().tolist()
    return result


def _edge_weights(values: list[Any], name: str) -> np.ndarray:
    """Return the weights as an array; every edge must have a number."""
    for number, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise InputError(
                f"edge number {number} has the {name} {value!r}", remedy="give every edge a number"
            )
    return np.array(values, np.float64)


def _names(names: list[Any]) -> np.ndarray:
    """Return node names as ids: integers, text, or other hashable objects."""
    return as_ids(names) if names else np.empty(0, np.int64)
