"""The best clustering that a search at fixed numbers of blocks has seen: kept, reported, saved."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from coterie.base.progress import Iteration, Progress
from coterie.models.hard.costs.interface import Labels, Objective
from coterie.models.hard.saved_search import SearchSaver, check_close, check_labels
from coterie.models.hard.search import SearchResult, SearchTask


@dataclass
class TrailPoint:
    """What is needed to continue a search: the best clustering so far, and the history."""

    phase: str  # of the search
    labels: Labels = ()
    entropy: float = math.inf
    converged: bool = False  # the descent to these labels
    history: list[Iteration] = field(default_factory=list)
    idle: int = 0  # steps in a row without improvement

    def check(self, objective: Objective, n_blocks: tuple[int, ...]) -> None:
        """Raise ArrayError if the content of a file does not fit the data."""
        if self.labels or self.history:
            check_labels(self.labels, objective.n_elements, n_blocks)
            entropy = objective.entropy(objective.start(self.labels, n_blocks))
            check_close("entropy", self.entropy, entropy)


class Trail:
    """A search on its way; it continues from the point that the saver has."""

    def __init__(
        self,
        task: SearchTask,
        saver: SearchSaver,
        *,
        total: int,
        phase: str = "",
        first_of_equals: bool = False,
    ) -> None:
        self.at = saver.take(TrailPoint) or TrailPoint(phase)
        with saver.errors():
            self.at.check(task.objective, task.n_blocks)
        self.saver, self.callback, self.total = saver, task.callback, total
        self.first_of_equals = first_of_equals
        self.began = time.perf_counter()
        if self.at.history:
            self.began -= self.at.history[-1].seconds

    def add(self, labels: Labels, entropy: float, moved: int, converged: bool = False) -> None:
        """Record one clustering and report it."""
        at, done = self.at, len(self.at.history) + 1
        if entropy < at.entropy or (entropy == at.entropy and not self.first_of_equals):
            at.labels, at.entropy, at.converged = labels, entropy, converged
        at.history.append(Iteration(done, time.perf_counter() - self.began, entropy, moved))
        self.callback(Progress("fit", done, self.total, entropy, f"best {at.entropy:,.1f}"))

    def point(self) -> TrailPoint:
        """Return what is needed to continue."""
        return self.at

    def save(self) -> None:
        """Save the search if that is due."""
        self.saver.save(self.point)

    def result(self, converged: bool, interrupted: bool = False) -> SearchResult:
        """Return the best clustering with the history."""
        at = self.at
        return SearchResult(at.labels, at.entropy, at.history, converged, interrupted)
