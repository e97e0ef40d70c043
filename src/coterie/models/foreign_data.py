"""Graphs and matrices of other libraries: convert them, or say in an error how to."""

from __future__ import annotations

from typing import Any

from coterie.data import Graph, Ratings
from coterie.data.foreign import as_graph, package_of

_CONVERSIONS = {
    ("numpy", Graph): "ct.Graph.from_numpy(matrix)",
    ("scipy", Ratings): "ct.Ratings.from_scipy(matrix)",
    ("numpy", Ratings): "ct.Ratings.from_numpy(matrix)",
    ("pandas", Ratings): "ct.Ratings.from_pandas(frame)",
}


def node_names(data: Any) -> list[Any]:
    """Return the nodes of a graph as its library names them, in the order of their numbers.

    >>> node_names(Graph.from_edges(["ann"], ["bob"]))
    ['ann', 'bob']
    """
    if package_of(data) == "networkx":
        return list(data.nodes)
    return list(as_graph(data).ids.tolist())


def labels_of(clustering: Any) -> Any:
    """Return the labels of a fitted clustering, of this or another library; labels unchanged."""
    return getattr(clustering, "labels_", clustering)


def is_sparse(data: Any) -> bool:
    """Return whether data are a sparse matrix of scipy."""
    return package_of(data) == "scipy"


def networkx_copy(data: Any) -> Any:
    """Return a graph as a networkx graph: a copy of one, with its attributes, or a new one."""
    if package_of(data) == "networkx":
        return data.copy()
    return as_graph(data).to_networkx()


def type_name(kind: type) -> str:
    """Return the name of a type with the package that defines it.

    >>> type_name(Graph), type_name(list)
    ('coterie.Graph', 'list')
    """
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def conversion(data: Any, wanted: type) -> str | None:
    """Return how to convert data of another library to a coterie type; None if unknown.

    >>> import numpy
    >>> conversion(numpy.eye(2), Graph)
    'convert it with ct.Graph.from_numpy(matrix)'
    """
    call = _CONVERSIONS.get((package_of(data), wanted))
    return None if call is None else f"convert it with {call}"
