"""Checkpoints of a hard clustering: the finished runs, and the one in progress.

A run of `search="paper"` is saved every few iterations with its statistics. The other searches are
saved at their points (`saved_search.py`), as often as costs a small share of their time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.random import Generator

from coterie.base.array_checks import ArrayError, check_array, check_like
from coterie.base.json_values import JsonObject
from coterie.base.progress import Iteration
from coterie.base.randomness import RandomState, as_generator
from coterie.engine.checkpoint import (
    RunCheckpoint,
    generator_from,
    generator_state,
    in_order,
    iterations,
    numbered,
    refuse_longer_runs,
)
from coterie.models.data_digest import digest
from coterie.models.hard.objectives.interface import Labels, Objective
from coterie.models.hard.saved_search import Point, SavedSearch, SearchSaver
from coterie.models.hard.search import SearchResult
from coterie.models.hard.search.paper import PaperTrace, has_converged

KIND = "hard clustering"
SAVING_SHARE = 0.03  # of the time of a search may be spent on saving it
_POINT = "point/"  # prefix of the arrays of a saved search


@dataclass(frozen=True)
class UnfinishedHardRun:
    """A run that a checkpoint interrupted, independent of any engine."""

    labels: Labels
    best: Labels
    statistics: tuple[np.ndarray, ...]  # stored because sums of fractions depend on their order
    lowest: list[float]
    history: list[Iteration]
    seconds: float
    converged: bool

    def trace(self, objective: Objective, n_blocks: tuple[int, ...]) -> PaperTrace:
        """Return the trace with which the search continues this run."""
        state = objective.start(self.labels, n_blocks)
        for array, saved in zip(state.statistics, self.statistics, strict=True):
            check_like("statistics", saved, array)
            if not np.allclose(saved, array, rtol=1e-6, atol=1e-6):
                raise ArrayError("statistics: they are not those of the labels")
            array[...] = saved
        return PaperTrace(state, self.best, self.lowest, self.history, self.seconds, self.converged)


@dataclass(frozen=True)
class ChosenBlocks:
    """The numbers of blocks with the shortest description, and labels to start from."""

    n_blocks: tuple[int, ...]
    labels: Labels
    lengths: dict[tuple[int, ...], float]  # of all numbers that were tried


@dataclass
class HardFitState:
    """A fit in progress: everything a checkpoint stores to continue with the same numbers."""

    rng: Generator
    finished: list[SearchResult] = field(default_factory=list)
    unfinished: UnfinishedHardRun | None = None
    last: UnfinishedHardRun | None = None  # the end of the last finished run, to continue it
    chosen: ChosenBlocks | None = None  # of `n_blocks="auto"`, where a search at each is compared
    point: SavedSearch | None = None  # of an unfinished run of the other searches

    def take_unfinished(self) -> UnfinishedHardRun | None:
        """Return the unfinished run once; None from then on."""
        unfinished, self.unfinished = self.unfinished, None
        return unfinished

    def continue_last(self, max_iter: int, tol: float, alpha: float) -> None:
        """Reopen the finished run if these settings would not have ended it.

        With several runs that is not possible: the random numbers of the later runs follow those of
        the earlier ones.
        """
        if len(self.finished) == 1 and self.last is not None:
            run = self.last
            ended = has_converged(run.lowest, len(run.history), tol, alpha)
            if len(run.history) < max_iter and not ended:
                self.finished.clear()
                self.unfinished = replace(run, converged=False)
            return
        refuse_longer_runs(self.finished, max_iter)

    def check(self, n_elements: tuple[int, ...], n_blocks: tuple[int, ...]) -> None:
        """Raise ArrayError if labels from a file do not fit the data."""
        for run in self.finished:
            _check_labels(run.labels, n_elements, n_blocks)
        if self.chosen is not None:
            _check_labels(self.chosen.labels, n_elements, n_blocks)
        for unfinished in (self.unfinished, self.last):
            if unfinished is not None:
                _check_labels(unfinished.labels, n_elements, n_blocks)
                _check_labels(unfinished.best, n_elements, n_blocks)
                if len(unfinished.lowest) != len(unfinished.history) + 1:
                    raise ArrayError("lowest: one entropy per iteration is needed")


def _check_labels(labels: Labels, n_elements: tuple[int, ...], n_blocks: tuple[int, ...]) -> None:
    if len(labels) != len(n_elements):
        raise ArrayError(f"labels: {len(labels)} arrays instead of {len(n_elements)}")
    for array, n, k in zip(labels, n_elements, n_blocks, strict=True):
        check_array("labels", array, np.int32, (n,), low=0, below=k)


def save_fit(
    file: RunCheckpoint,
    fit: HardFitState,
    trace: PaperTrace | None = None,
    point: SavedSearch | None = None,
) -> None:
    """Write the finished runs, and the latest run if its trace or its point is given.

    A trace with the history of the last finished run is that run: it is kept so that the run can
    continue with more iterations.
    """
    if file.path is None:
        return
    arrays: dict[str, np.ndarray] = {}
    for number, run in enumerate(fit.finished):
        arrays |= numbered(f"run{number}", run.labels)
    unfinished = None
    if trace is not None:
        arrays |= numbered("labels", trace.state.labels) | numbered("best", trace.best)
        arrays |= numbered("statistics", trace.state.statistics)
        unfinished = {
            "lowest": trace.lowest,
            "history": [list(entry) for entry in trace.history],
            "seconds": trace.seconds,
            "converged": trace.converged,
        }
    finished = [
        {
            "entropy": run.entropy,
            "history": [list(entry) for entry in run.history],
            "converged": run.converged,
        }
        for run in fit.finished
    ]
    over = trace is not None and bool(fit.finished) and fit.finished[-1].history is trace.history
    facts = {
        "rng": generator_state(fit.rng),
        "finished": finished,
        "unfinished": unfinished,
        "unfinished_is_over": over,
    }
    if fit.chosen is not None:
        arrays |= numbered("chosen", fit.chosen.labels)
        facts["chosen"] = {
            "n_blocks": list(fit.chosen.n_blocks),
            "lengths": [[list(k), length] for k, length in fit.chosen.lengths.items()],
        }
    if point is not None:
        arrays |= {_POINT + name: array for name, array in point.arrays.items()}
        facts["point"] = point.facts
    file.write(arrays, facts)


def search_saver(file: RunCheckpoint, fit: HardFitState) -> SearchSaver:
    """Return the saver of a search, with the point from which it continues.

    The first point is saved; a later one when saving has taken a small share of the time."""
    saved, fit.point = fit.point, None
    if file.path is None:
        return SearchSaver(None, saved)
    began, spent = time.perf_counter(), 0.0

    def write(point: Point) -> None:
        nonlocal spent
        now = time.perf_counter()
        if spent <= SAVING_SHARE * (now - began):
            save_fit(file, fit, point=point())
            spent += time.perf_counter() - now

    return SearchSaver(write, saved, file.errors)


def load_fit(file: RunCheckpoint) -> HardFitState | None:
    """Return the fit that an earlier process saved; None if there is no file."""
    saved = file.read()
    if saved is None:
        return None
    with file.errors():
        return _unpacked(*saved)


def _unpacked(arrays: dict[str, np.ndarray], facts: JsonObject) -> HardFitState:
    fit = HardFitState(generator_from(facts["rng"]))
    for number, run in enumerate(facts["finished"]):
        labels = tuple(in_order(arrays, f"run{number}"))
        history = iterations(run["history"])
        result = SearchResult(labels, float(run["entropy"]), history, bool(run["converged"]))
        fit.finished.append(result)
    if facts["unfinished"] is not None:
        run = facts["unfinished"]
        latest = UnfinishedHardRun(
            tuple(in_order(arrays, "labels")),
            tuple(in_order(arrays, "best")),
            tuple(in_order(arrays, "statistics")),
            [float(entropy) for entropy in run["lowest"]],
            iterations(run["history"]),
            float(run["seconds"]),
            bool(run["converged"]),
        )
        if facts["unfinished_is_over"]:
            fit.last = latest
        else:
            fit.unfinished = latest
    if "chosen" in facts:
        chosen = facts["chosen"]
        fit.chosen = ChosenBlocks(
            tuple(map(int, chosen["n_blocks"])),
            tuple(in_order(arrays, "chosen")),
            {tuple(map(int, k)): float(length) for k, length in chosen["lengths"]},
        )
    if "point" in facts:
        held = {k.removeprefix(_POINT): v for k, v in arrays.items() if k.startswith(_POINT)}
        fit.point = SavedSearch(held, facts["point"])
    return fit


def seed_name(rng: RandomState) -> int | str | None:
    """Return what distinguishes one seed from another: a number, or the state of a generator.

    None stands for fresh entropy; the checkpoint then stores the whole generator.

    >>> seed_name(3), seed_name(np.random.default_rng(3)) == seed_name(np.random.default_rng(4))
    (3, False)
    """
    if isinstance(rng, Generator):
        return digest([str(generator_state(rng))])
    as_generator(rng)  # raises if the seed is invalid
    return None if rng is None else int(rng)
