"""Generalized k-means as published: Algorithms 4 and 5 of Prost & Yoon, misprints corrected."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Iteration, Progress
from coterie.models.hard.costs.interface import ClusterState, Labels
from coterie.models.hard.search import SearchResult, SearchSettings, SearchTask


@dataclass
class PaperTrace:
    """A run in progress: with the generator, everything that is needed to continue it exactly."""

    state: ClusterState
    best: Labels
    lowest: list[float] = field(default_factory=list)  # S so far: at the start, per iteration
    history: list[Iteration] = field(default_factory=list)
    seconds: float = 0.0
    converged: bool = False


def begin(task: SearchTask) -> PaperTrace:
    """Start a run from the given labels, or from random ones."""
    labels = task.start or random_labels(
        task.objective.n_elements, task.n_blocks, task.rng, task.settings.min_block_size
    )
    state = task.objective.start(labels, task.n_blocks)
    return PaperTrace(state, _copied(state.labels))


def run(
    task: SearchTask,
    trace: PaperTrace,
    after_iteration: Callable[[PaperTrace], None] | None = None,
) -> SearchResult:
    """Repeat: sample a batch, plan all its moves against fixed statistics, then make them.

    With two node sets an iteration is one batch of each. The run stops if the lowest entropy has
    not fallen by `tol` (relative) within about 1/alpha iterations, in which every element is
    sampled about once; tol=0 makes all `max_iter` iterations. `after_iteration` is called with the
    trace after every iteration (checkpoints).
    """
    objective, engine, settings = task.objective, task.engine, task.settings
    state, history, lowest = trace.state, trace.history, trace.lowest
    clock = time.perf_counter() - trace.seconds
    entropy = objective.prepare(state, 0, engine)
    if not lowest:
        lowest.append(entropy)
    interrupted = False
    try:
        while len(history) < settings.max_iter and not trace.converged:
            moved = 0
            for side, n in enumerate(objective.n_elements):
                if side > 0:
                    objective.prepare(state, side, engine)
                batch = draw_batch(n, settings.alpha, task.rng)
                wanted = objective.plan_moves(state, side, batch, engine).wanted
                moved += objective.apply(state, side, batch, wanted, settings.min_block_size)
            entropy = objective.prepare(state, 0, engine)
            if entropy < lowest[-1]:
                trace.best = _copied(state.labels)
            lowest.append(min(entropy, lowest[-1]))
            trace.seconds = time.perf_counter() - clock
            done = len(history) + 1
            history.append(Iteration(done, trace.seconds, entropy, moved))
            trace.converged = has_converged(lowest, settings)
            if after_iteration is not None:
                after_iteration(trace)
            note = f"{moved:,} moved"
            task.callback(Progress("fit", done, settings.max_iter, entropy, note))
    except KeyboardInterrupt:
        interrupted = True
    return SearchResult(trace.best, lowest[-1], history, trace.converged, interrupted)


def has_converged(lowest: list[float], settings: SearchSettings) -> bool:
    """Return whether the lowest entropy fell by less than `tol` within about 1/alpha iterations.

    `lowest` has the entropy at the start, and one per iteration.

    >>> has_converged([9.0, 5.0, 5.0, 5.0, 5.0], SearchSettings(alpha=0.5))
    True
    """
    window = max(3, math.ceil(1.0 / settings.alpha))
    if settings.tol <= 0.0 or len(lowest) <= window:
        return False
    before = lowest[-1 - window]
    return before - lowest[-1] <= settings.tol * abs(before)


def draw_batch(n: int, alpha: float, rng: Generator) -> np.ndarray:
    """Return max(1, round(alpha n)) distinct elements in rising order.

    >>> draw_batch(5, 1.0, np.random.default_rng(0))
    array([0, 1, 2, 3, 4])
    """
    size = min(n, max(1, round(alpha * n)))
    if size == n:
        return np.arange(n)
    return np.sort(rng.choice(n, size, replace=False, shuffle=False))


def random_labels(
    n_elements: tuple[int, ...], n_blocks: tuple[int, ...], rng: Generator, min_block_size: int = 0
) -> Labels:
    """Return uniformly random labels; every block has at least `min_block_size` elements.

    >>> z = random_labels((7,), (3,), np.random.default_rng(0), min_block_size=2)[0]
    >>> int(np.bincount(z).min()) >= 2
    True
    """
    labels = []
    for n, k in zip(n_elements, n_blocks, strict=True):
        z = rng.integers(0, k, n, dtype=np.int32)
        if min_block_size > 0:
            chosen = rng.permutation(n)[: k * min_block_size]
            z[chosen] = np.repeat(np.arange(k, dtype=np.int32), min_block_size)
        labels.append(z)
    return tuple(labels)


def _copied(labels: Labels) -> Labels:
    """Return copies of the labels of each side."""
    return tuple(z.copy() for z in labels)
