"""Searches for a clustering: `paper` is Generalized k-means, `best` finds the lowest entropy.

A search is a function `run(task, ...) -> SearchResult`. It keeps the best labels it has seen,
so an interrupt (Ctrl-C) ends it with a result instead of an error.

    runs.py                all runs of a fit, with checkpoints
    paper.py               Algorithms 4 and 5 of Prost & Yoon
    best.py                merge, move, perturb; restarts for points
    agglomerate.py         merge blocks level by level; enforce a minimum block size
    checked_moves.py       move elements until no move helps
    auto_k.py              choose the number of blocks by description length
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, silent
from coterie.engine import Engine
from coterie.models.declaration import Constraint, Integer, OneOf, Real
from coterie.models.hard.costs.interface import Labels, Objective

# how the entropy is minimised: parameters of the models that let users choose it
SEARCH_PARAMETERS: dict[str, Constraint] = {
    "search": OneOf("best", "paper"),
    "move_score": OneOf("auto", "exact", "fixed"),
    "alpha": Real(above=0, most=1),
    "max_iter": Integer(0),
    "tol": Real(least=0),
}


@dataclass(frozen=True)
class SearchSettings:
    """How the entropy is minimised."""

    search: str = "best"
    move_score: str = "auto"
    alpha: float = 0.1
    max_iter: int = 300
    tol: float = 1e-6
    n_init: int = 1
    min_block_size: int = 0

    @classmethod
    def among(cls, parameters: dict[str, Any]) -> SearchSettings:
        """Return the settings that are among the parameters of a model.

        >>> SearchSettings.among({"n_blocks": 3, "tol": 0.0}).tol
        0.0
        """
        own = [one.name for one in fields(cls) if one.name in parameters]
        return cls(**{name: parameters[name] for name in own})

    @property
    def is_best(self) -> bool:
        """Whether the search is "best", which works in one process."""
        return self.search == "best"


@dataclass(frozen=True)
class SearchTask:
    """What a search is given: all runs of a fit share it."""

    objective: Objective
    n_blocks: tuple[int, ...]  # per side
    rng: Generator
    engine: Engine
    settings: SearchSettings = SearchSettings()
    start: Labels | None = None  # the first labels; None: the search chooses them
    callback: Callback = silent


class SearchResult(NamedTuple):
    """The best clustering that a search has seen, and its history."""

    labels: Labels
    entropy: float
    history: list[Iteration]  # entropy after each iteration's moves
    converged: bool
    interrupted: bool = False
