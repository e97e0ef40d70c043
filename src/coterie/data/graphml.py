"""Read and write GraphML and GML with networkx, which must be installed."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name, read_all
from coterie.data.dataframes import require
from coterie.data.graph import Graph
from coterie.data.ids import written_integer
from coterie.data.networkx_igraph import graph_from_networkx, graph_to_networkx


def read_markup(path: PathLike, kind: str, directed: bool, weighted: bool) -> Graph:
    """Read a graph from a GraphML or GML file; ids are integers if all of them are."""
    networkx = require("networkx")
    content = read_all(path)
    try:
        network = _parse(networkx, content, kind)
    except Exception as error:  # the parsers raise many types of errors for malformed files
        raise InputError(
            f"networkx cannot read this as {kind}: {error}",
            path=place_name(path),
            remedy="check the file, or export it again",
        ) from error
    if directed and not network.is_directed():
        network = network.to_directed()
    try:
        graph = graph_from_networkx(network, "weight" if weighted else None, directed=directed)
    except InputError as error:
        raise InputError(error.problem, path=place_name(path), remedy=error.remedy) from None
    return Graph(
        graph.indptr, graph.indices, _integer_ids(graph.ids), graph.weights, directed, graph.cleaned
    )


def write_markup(graph: Graph, file: IO[bytes], kind: str) -> None:
    """Write a graph as GraphML or GML."""
    networkx = require("networkx")
    network = graph_to_networkx(graph)
    (networkx.write_graphml if kind == "graphml" else networkx.write_gml)(network, file)


def _parse(networkx: Any, content: io.BytesIO, kind: str) -> Any:
    """Parse the content; nodes are named by their labels if a GML file has labels."""
    if kind == "graphml":
        return networkx.read_graphml(content)
    lines = content.read().decode("utf-8").splitlines()
    labelled = any(line.split(None, 1)[:1] == ["label"] for line in lines)
    return networkx.parse_gml(lines, label="label" if labelled else "id")


def _integer_ids(names: np.ndarray) -> np.ndarray:
    """Return the ids as integers if all of them are."""
    try:
        return np.array([written_integer(str(name)) for name in names], np.int64)
    except ValueError:
        return names
