"""Searches for a clustering: `paper` is Generalized k-means, `best` finds the lowest entropy.

A search is a function `run(objective, ...) -> SearchResult`. It keeps the best labels it has seen,
so an interrupt (Ctrl-C) ends it with a result instead of an error.

    paper.py               Algorithms 4 and 5 of Prost & Yoon
    best.py                merge, move, perturb; `restarts.py` does it for points
    agglomerate.py         merge blocks level by level (kernels/hard/agglomerate.py)
    checked_moves.py       move elements until no move helps (kernels/hard/checked_moves.py)
    auto_k.py              choose the number of blocks by `description_length.py`
    block_sizes.py         enforce a minimum block size
"""

from __future__ import annotations

from typing import NamedTuple

from coterie.base.progress import Iteration
from coterie.models.hard.costs.interface import Labels


class SearchResult(NamedTuple):
    """The best clustering that a search has seen, and its history."""

    labels: Labels
    entropy: float
    history: list[Iteration]  # entropy after each iteration's moves
    converged: bool
    interrupted: bool = False
