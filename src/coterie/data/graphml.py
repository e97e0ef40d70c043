"""GraphML and GML, through networkx where it is installed."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data.byte_source import PathLike, place_name, whole
from coterie.data.dataframes import require
from coterie.data.graph import Graph
from coterie.data.ids import written_integer
from coterie.data.networkx_igraph import graph_from_networkx, graph_to_networkx


def read_markup(path: PathLike, kind: str, directed: bool, weighted: bool) -> Graph:
    """A graph from a GraphML or GML file; ids are integers if every one reads back the same."""
    networkx = require("networkx")
    content = whole(path)
    try:
        network = _parse(networkx, content, kind)
    except Exception as error:  # whatever its parsers raise means that the file is not well made
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
        graph.indptr, graph.indices, _ids(graph.ids), graph.weights, directed, graph.cleaned
    )


def write_markup(graph: Graph, file: IO[bytes], kind: str) -> None:
    """A graph as GraphML or GML."""
    networkx = require("networkx")
    network = graph_to_networkx(graph)
    (networkx.write_graphml if kind == "graphml" else networkx.write_gml)(network, file)


def _parse(networkx: Any, content: io.BytesIO, kind: str) -> Any:
    if kind == "graphml":
        return networkx.read_graphml(content)
    lines = content.read().decode("utf-8").splitlines()
    labelled = any(line.split(None, 1)[:1] == ["label"] for line in lines)
    return networkx.parse_gml(lines, label="label" if labelled else "id")


def _ids(names: np.ndarray) -> np.ndarray:
    try:
        return np.array([written_integer(str(name)) for name in names], np.int64)
    except ValueError:
        return names
