"""Graphs and ratings: reading, writing, conversion, data sets and negative sampling."""

from coterie.data.graph import Cleaned, Graph
from coterie.data.ratings import Ratings

__all__ = ["Cleaned", "Graph", "Ratings"]
