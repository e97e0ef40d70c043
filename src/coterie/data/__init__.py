"""What comes in and goes out: graphs, ratings, readers, writers, adapters, data sets."""

from coterie.data.graph import Cleaned, Graph
from coterie.data.ratings import Ratings

__all__ = ["Cleaned", "Graph", "Ratings"]
