"""Keep the best of several descents, for objectives that cannot merge blocks (points)."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from coterie.base.progress import Callback, silent
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.saved_search import SearchSaver
from coterie.models.hard.search import SearchResult
from coterie.models.hard.search.paper import random_labels
from coterie.models.hard.search.trail import Trail

_RESTARTS = 10


def run(
    objective: Objective,
    n_blocks: tuple[int, ...],
    start: Labels | None = None,
    *,
    rng: Generator,
    max_iter: int = 300,
    min_block_size: int = 0,
    callback: Callback = silent,
    saver: SearchSaver | None = None,
) -> SearchResult:
    """Make sequential exact sweeps (for points: Hartigan's algorithm) from several starts.

    The first start is `start` if given; the others are random. Every descent ends locally optimal
    unless it needs more than `max_iter` sweeps. An entry of the history is one descent."""
    trail = Trail(
        objective,
        n_blocks,
        saver or SearchSaver(),
        callback,
        total=_RESTARTS,
        first_of_equals=True,
    )
    at, interrupted = trail.at, False
    try:
        while len(at.history) < _RESTARTS:
            labels = None if at.history else start
            if labels is None:
                labels = random_labels(objective.n_elements, n_blocks, rng, min_block_size)
            state = objective.start(labels, n_blocks)
            moved, finished = _descend(objective, state, rng, max_iter, min_block_size)
            trail.add(state.labels, objective.entropy(state), moved, finished)
            trail.save()
    except KeyboardInterrupt:
        if not at.history:
            raise
        interrupted = True
    return trail.result(at.converged, interrupted)


def _descend(
    objective: Objective, state: Any, rng: Generator, max_iter: int, min_block_size: int
) -> tuple[int, bool]:
    """Sweep until nothing moves; return (moves made, whether the last sweep moved nothing)."""
    total = 0
    for _ in range(max_iter):
        moved = 0
        for side, n in enumerate(objective.n_elements):
            moved += objective.sweep(state, side, rng.permutation(n), min_block_size)[0]
        if moved == 0:
            return total, True
        total += moved
    return total, False
