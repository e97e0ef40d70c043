"""Name the types of other libraries in errors, and say how to convert them."""

from __future__ import annotations

from typing import Any

from coterie.data import Graph, Ratings

_CONVERSIONS = {
    ("networkx", Graph): "ct.Graph.from_networkx(G)",
    ("igraph", Graph): "ct.Graph.from_igraph(g)",
    ("scipy", Graph): "ct.Graph.from_scipy(matrix)",
    ("numpy", Graph): "ct.Graph.from_numpy(matrix)",
    ("pandas", Graph): "ct.Graph.from_pandas(frame)",
    ("scipy", Ratings): "ct.Ratings.from_scipy(matrix)",
    ("numpy", Ratings): "ct.Ratings.from_numpy(matrix)",
    ("pandas", Ratings): "ct.Ratings.from_pandas(frame)",
}


def type_name(kind: type) -> str:
    """Return the name of a type with the package that defines it.

    >>> type_name(Graph), type_name(list)
    ('coterie.Graph', 'list')
    """
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def conversion(data: Any, wanted: type) -> str | None:
    """Return how to convert data of another library to a coterie type; None if unknown.

    >>> import networkx
    >>> conversion(networkx.Graph(), Graph)
    'convert it with ct.Graph.from_networkx(G)'
    """
    call = _CONVERSIONS.get((type(data).__module__.partition(".")[0], wanted))
    return None if call is None else f"convert it with {call}"
