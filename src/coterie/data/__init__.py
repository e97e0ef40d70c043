"""Graphs, ratings and tables: reading, writing, conversion, data sets and negative sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.data.graph import Cleaned as Cleaned
    from coterie.data.graph import Graph as Graph
    from coterie.data.ratings import Ratings as Ratings

__all__ = ["Cleaned", "Graph", "Ratings"]


def __getattr__(name: str) -> Any:
    """Load a class when it is first used: help texts list the formats, and need no NumPy."""
    if name in ("Cleaned", "Graph"):
        from coterie.data import graph

        return getattr(graph, name)
    if name == "Ratings":
        from coterie.data.ratings import Ratings

        return Ratings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
