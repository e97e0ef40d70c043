"""Keep the best of several descents, for objectives that cannot merge blocks (points)."""

from __future__ import annotations

from typing import Any

from coterie.models.hard.saved_search import SearchSaver
from coterie.models.hard.search import SearchResult, SearchTask
from coterie.models.hard.search.paper import random_labels
from coterie.models.hard.search.trail import Trail

_RESTARTS = 10


def run(task: SearchTask, saver: SearchSaver) -> SearchResult:
    """Make sequential exact sweeps (for points: Hartigan's algorithm) from several starts.

    The first start is `task.start` if given; the others are random. Every descent ends locally
    optimal unless it needs more than `max_iter` sweeps. An entry of the history is one descent."""
    objective, n_blocks, settings = task.objective, task.n_blocks, task.settings
    trail = Trail(task, saver, total=_RESTARTS, first_of_equals=True)
    at, interrupted = trail.at, False
    try:
        while len(at.history) < _RESTARTS:
            labels = None if at.history else task.start
            if labels is None:
                least = settings.min_block_size
                labels = random_labels(objective.n_elements, n_blocks, task.rng, least)
            state = objective.start(labels, n_blocks)
            moved, finished = _descend(task, state)
            trail.add(state.labels, objective.entropy(state), moved, finished)
            trail.save()
    except KeyboardInterrupt:
        if not at.history:
            raise
        interrupted = True
    return trail.result(at.converged, interrupted)


def _descend(task: SearchTask, state: Any) -> tuple[int, bool]:
    """Sweep until nothing moves; return (moves made, whether the last sweep moved nothing)."""
    total, least = 0, task.settings.min_block_size
    for _ in range(task.settings.max_iter):
        moved = 0
        for side, n in enumerate(task.objective.n_elements):
            moved += task.objective.sweep(state, side, task.rng.permutation(n), least)[0]
        if moved == 0:
            return total, True
        total += moved
    return total, False
