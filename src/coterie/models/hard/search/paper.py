"""Generalized k-means as published: Algorithms 4 and 5 of Prost & Yoon, misprints corrected."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.engine import Engine
from coterie.models.hard.costs.interface import ClusterState, Labels, Objective
from coterie.models.hard.search import SearchResult


@dataclass
class PaperTrace:
    """A run in progress: with the generator, everything that is needed to continue it exactly."""

    state: ClusterState
    best: Labels
    lowest: list[float] = field(default_factory=list)  # S so far: at the start, per iteration
    history: list[Iteration] = field(default_factory=list)
    seconds: float = 0.0
    converged: bool = False


def begin(objective: Objective, n_blocks: tuple[int, ...], labels: Labels) -> PaperTrace:
    """Start a run from these labels."""
    state = objective.start(labels, n_blocks)
    return PaperTrace(state, _copied(state.labels))


def run(
    objective: Objective,
    trace: PaperTrace,
    *,
    rng: Generator,
    engine: Engine,
    alpha: float = 0.1,
    max_iter: int = 300,
    tol: float = 1e-6,
    min_block_size: int = 0,
    callback: Callback = silent,
    after_iteration: Callable[[PaperTrace], None] | None = None,
) -> SearchResult:
    """Repeat: sample a batch, plan all its moves against fixed statistics, then make them.

    With two node sets an iteration is one batch of each. The run stops if the lowest entropy has
    not fallen by `tol` (relative) within about 1/alpha iterations, in which every element is
    sampled about once; tol=0 makes all `max_iter` iterations. `after_iteration` is called with the
    trace after every iteration (checkpoints).
    """
    state, history, lowest = trace.state, trace.history, trace.lowest
    clock = time.perf_counter() - trace.seconds
    entropy = objective.prepare(state, 0, engine)
    if not lowest:
        lowest.append(entropy)
    interrupted = False
    try:
        while len(history) < max_iter and not trace.converged:
            moved = 0
            for side, n in enumerate(objective.n_elements):
                if side > 0:
                    objective.prepare(state, side, engine)
                batch = draw_batch(n, alpha, rng)
                wanted = objective.plan_moves(state, side, batch, engine).wanted
                moved += objective.apply(state, side, batch, wanted, min_block_size)
            entropy = objective.prepare(state, 0, engine)
            if entropy < lowest[-1]:
                trace.best = _copied(state.labels)
            lowest.append(min(entropy, lowest[-1]))
            trace.seconds = time.perf_counter() - clock
            history.append(Iteration(len(history) + 1, trace.seconds, entropy, moved))
            trace.converged = has_converged(lowest, len(history), tol, alpha)
            if after_iteration is not None:
                after_iteration(trace)
            callback(Progress("fit", len(history), max_iter, entropy, f"{moved:,} moved"))
    except KeyboardInterrupt:
        interrupted = True
    return SearchResult(trace.best, lowest[-1], history, trace.converged, interrupted)


def has_converged(lowest: list[float], iterations: int, tol: float, alpha: float) -> bool:
    """Return whether the lowest entropy fell by less than `tol` within about 1/alpha iterations.

    >>> has_converged([9.0, 5.0, 5.0, 5.0, 5.0], 4, 1e-6, alpha=0.5)
    True
    """
    window = max(3, math.ceil(1.0 / alpha))
    if tol <= 0.0 or iterations < window:
        return False
    before = lowest[-1 - window]
    return before - lowest[-1] <= tol * abs(before)


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
