"""How a clustering is looked for: `paper` is Generalized k-means, `best` goes as low as it can.

A search is a function `run(objective, n_blocks, ...) -> SearchResult`. It keeps the best labels it
has seen, so an interrupt (Ctrl-C) ends it with a result instead of an error.
"""

from coterie.models.hard.search.result import SearchResult

__all__ = ["SearchResult"]
