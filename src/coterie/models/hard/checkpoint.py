"""Checkpoints of a hard clustering: the finished runs, and the one on its way."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Iteration
from coterie.base.randomness import RandomState, as_generator
from coterie.engine.checkpoint import (
    generator_from,
    generator_state,
    load_checkpoint,
    require_same,
    save_checkpoint,
)
from coterie.models.data_digest import digest
from coterie.models.hard.objectives.interface import Objective
from coterie.models.hard.search.paper import PaperTrace
from coterie.models.hard.search.result import SearchResult

KIND = "hard clustering"


class Keeper:
    """Where the runs of a fit stand; with a path it is on disk too, every few iterations."""

    def __init__(
        self,
        rng: Generator,
        path: str | PathLike[str] | None = None,
        every: int = 10,
        fingerprint: dict[str, Any] | None = None,
    ) -> None:
        self.rng, self.path, self.every = rng, path, every
        self.fingerprint = fingerprint or {}
        self.finished: list[SearchResult] = []
        self._begun: dict[str, Any] | None = None

    def load(self) -> None:
        """Take up what an earlier fit left behind, if it left anything."""
        if self.path is None or not Path(self.path).exists():
            return
        arrays, facts = load_checkpoint(self.path, KIND)
        require_same(self.path, facts["fingerprint"], self.fingerprint)
        self.rng = generator_from(facts["rng"])
        for n, told in enumerate(facts["finished"]):
            told["history"] = _iterations(told["history"])
            self.finished.append(SearchResult(tuple(_numbered(arrays, f"run{n}")), **told))
        self._begun = facts["begun"]
        if self._begun is not None:
            self._begun |= {name: _numbered(arrays, name) for name in ("now", "best", "statistics")}
            self._begun["history"] = _iterations(self._begun["history"])

    def resumed(self, objective: Objective, n_blocks: tuple[int, ...]) -> PaperTrace | None:
        """The unfinished run, ready to go on; None if there is none."""
        begun, self._begun = self._begun, None
        if begun is None:
            return None
        state = objective.start(tuple(begun.pop("now")), n_blocks)
        for array, saved in zip(state.statistics, begun.pop("statistics"), strict=True):
            array[...] = saved
        return PaperTrace(state, tuple(begun.pop("best")), **begun)

    def each(self, trace: PaperTrace) -> None:
        """After an iteration: save if it is time."""
        if len(trace.history) % self.every == 0:
            self.save(trace)

    def add(self, result: SearchResult) -> None:
        """A run is over. Of one that was interrupted the last checkpoint stays, since its state
        may stand in the middle of an iteration."""
        self.finished.append(result)
        if not result.interrupted:
            self.save()

    def save(self, trace: PaperTrace | None = None) -> None:
        """Replace the checkpoint by where the fit stands now."""
        if self.path is None:
            return
        arrays: dict[str, np.ndarray] = {}
        for n, run in enumerate(self.finished):
            arrays |= _named(f"run{n}", run.labels)
        begun = None
        if trace is not None:
            arrays |= _named("now", trace.state.labels) | _named("best", trace.best)
            arrays |= _named("statistics", trace.state.statistics)
            begun = {
                "lowest": trace.lowest,
                "history": [list(entry) for entry in trace.history],
                "seconds": trace.seconds,
                "converged": trace.converged,
            }
        told = [
            {"entropy": run.entropy, "history": run.history, "converged": run.converged}
            for run in self.finished
        ]
        facts = {
            "fingerprint": self.fingerprint,
            "rng": generator_state(self.rng),
            "finished": told,
            "begun": begun,
        }
        save_checkpoint(self.path, KIND, arrays, facts)


def seed_name(rng: RandomState) -> int | str | None:
    """What tells one seed from another: a number, or where a generator stands; None stands for
    fresh entropy, of which the checkpoint has a whole generator.

    >>> seed_name(3), seed_name(np.random.default_rng(3)) == seed_name(np.random.default_rng(4))
    (3, False)
    """
    if isinstance(rng, Generator):
        return digest([str(generator_state(rng))])
    as_generator(rng)  # refuses what is no seed
    return None if rng is None else int(rng)


def _named(prefix: str, arrays: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    return {f"{prefix}.{place}": array for place, array in enumerate(arrays)}


def _numbered(arrays: dict[str, np.ndarray], prefix: str) -> list[np.ndarray]:
    count = sum(name.startswith(f"{prefix}.") for name in arrays)
    return [arrays[f"{prefix}.{place}"] for place in range(count)]


def _iterations(rows: list[list[Any]]) -> list[Iteration]:
    return [Iteration(*row) for row in rows]
