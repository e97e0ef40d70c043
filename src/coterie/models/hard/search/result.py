"""What a search hands back."""

from __future__ import annotations

from typing import NamedTuple

from coterie.base.progress import Iteration
from coterie.models.hard.objectives.interface import Labels


class SearchResult(NamedTuple):
    """The best clustering seen, and the way there."""

    labels: Labels
    entropy: float
    history: list[Iteration]  # entropy after each iteration's moves
    converged: bool
    interrupted: bool = False
