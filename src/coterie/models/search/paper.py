"""Generalized k-means as the paper has it (cl:alg5, cl:alg8), its misprints mended."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.engine import Engine
from coterie.models.objectives.base import Labels, Objective
from coterie.models.search.result import SearchResult


def run(
    objective: Objective,
    n_blocks: tuple[int, ...],
    start: Labels,
    *,
    rng: Generator,
    engine: Engine,
    alpha: float = 0.1,
    max_iter: int = 300,
    tol: float = 1e-6,
    min_block_size: int = 0,
    callback: Callback = silent,
) -> SearchResult:
    """From `start`: sample a batch, plan all its moves against fixed statistics, then make them.

    With two node sets an iteration is a batch of each. It stops when the best entropy has not
    fallen by `tol` (relative) within about 1/alpha iterations, the time in which every element
    gets its turn; tol=0 makes all `max_iter` iterations.
    """
    window = max(3, math.ceil(1.0 / alpha))
    began = time.perf_counter()
    state = objective.start(start, n_blocks)
    entropy = objective.prepare(state, 0, engine)
    best, best_labels = entropy, _copied(state.labels)
    history: list[Iteration] = []
    lowest = [best]  # after each iteration
    converged = interrupted = False
    try:
        for iteration in range(1, max_iter + 1):
            moved = 0
            for side, n in enumerate(objective.n_elements):
                if side > 0:
                    objective.prepare(state, side, engine)
                batch = draw_batch(n, alpha, rng)
                wanted = objective.plan(state, side, batch, engine).wanted
                moved += objective.apply(state, side, batch, wanted, min_block_size)
            entropy = objective.prepare(state, 0, engine)
            if entropy < best:
                best, best_labels = entropy, _copied(state.labels)
            lowest.append(best)
            history.append(Iteration(iteration, time.perf_counter() - began, entropy, moved))
            callback(Progress("fit", iteration, max_iter, entropy, f"{moved:,} moved"))
            if tol > 0.0 and iteration >= window:
                before = lowest[iteration - window]
                converged = before - best <= tol * abs(before)
                if converged:
                    break
    except KeyboardInterrupt:
        interrupted = True
    return SearchResult(best_labels, best, history, converged, interrupted)


def draw_batch(n: int, alpha: float, rng: Generator) -> np.ndarray:
    """max(1, round(alpha n)) different elements, rising (a plan does not depend on the order).

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
    """A uniformly random clustering; with `min_block_size` every block first gets its share.

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
    return tuple(z.copy() for z in labels)
