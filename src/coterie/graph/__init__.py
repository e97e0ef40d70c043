"""What comes in and goes out: graphs, ratings, readers, writers, adapters, data sets."""

from coterie.graph.graph import Cleaned, Graph
from coterie.graph.ratings import Ratings

__all__ = ["Cleaned", "Graph", "Ratings"]
