"""Keep the best of several descents, for objectives that cannot merge blocks (points)."""

from __future__ import annotations

import time
from typing import Any

from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.engine.checkpoint import iterations, numbered
from coterie.models.hard.objectives.interface import Labels, Objective
from coterie.models.hard.saved_search import SavedSearch, SearchSaver, check_close, saved_labels
from coterie.models.hard.search import SearchResult
from coterie.models.hard.search.paper import random_labels

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
    saver = saver or SearchSaver()
    began = time.perf_counter()
    best: Labels | None = None
    entropy = float("inf")
    history: list[Iteration] = []
    converged, interrupted = True, False

    def point() -> SavedSearch:
        rows = [list(entry) for entry in history]
        facts = {"entropy": entropy, "history": rows, "converged": converged}
        return SavedSearch(numbered("best", best or ()), facts)

    saved = saver.take()
    if saved is not None:
        with saver.errors():
            sides = zip(objective.n_elements, n_blocks, strict=True)
            best = tuple(saved_labels(saved, f"best.{s}", n, k) for s, (n, k) in enumerate(sides))
            history, converged = iterations(saved.facts["history"]), bool(saved.facts["converged"])
            entropy = float(saved.facts["entropy"])
            check_close("entropy", entropy, objective.entropy(objective.start(best, n_blocks)))
            began -= history[-1].seconds
    try:
        for restart in range(len(history) + 1, _RESTARTS + 1):
            labels = start if restart == 1 else None
            if labels is None:
                labels = random_labels(objective.n_elements, n_blocks, rng, min_block_size)
            state = objective.start(labels, n_blocks)
            moved, finished = _descend(objective, state, rng, max_iter, min_block_size)
            S = objective.entropy(state)
            if best is None or entropy > S:
                best, entropy, converged = state.labels, S, finished
            history.append(Iteration(restart, time.perf_counter() - began, S, moved))
            saver.save(point)
            callback(Progress("fit", restart, _RESTARTS, S, f"best {entropy:,.1f}"))
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
    assert best is not None
    return SearchResult(best, entropy, history, converged, interrupted)


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
