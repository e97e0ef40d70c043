"""What a reproduction is given: data, time, threads; and on which machine it runs."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from coterie.base.machine import available_cores, physical_memory, processor_name
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine

GRAPHS = {"as-caida": "CAIDA", "ca-astroph": "astro-ph"}


@dataclass
class Setting:
    """One run of `coterie reproduce`.

    `budget`: seconds for a fit, the same for all methods that are compared by time. `quick`: fewer
    folds, values of k, draws and iterations, no additive model, for a first look.
    """

    seed: int = 0
    budget: float = 15.0
    quick: bool = False
    engine: Engine = field(default_factory=LocalEngine)
    callback: Callback = silent

    @property
    def folds(self) -> int:
        """How many of the 5 folds are run."""
        return 1 if self.quick else 5

    @property
    def ks(self) -> tuple[int, ...]:
        return (10, 100, 300) if self.quick else (10, 30, 100, 300, 1000)

    @property
    def draws(self) -> int:
        return 3 if self.quick else 5

    def draws_of(self, model: str) -> int:
        """Graphs drawn of a model: ours takes seconds, the paper's milliseconds."""
        return 1 if self.quick and model == "dcsbm" else self.draws

    @property
    def sources(self) -> int:
        """Sources of a breadth-first search that path lengths are estimated from."""
        return 256 if self.quick else 1000

    @cached_property
    def ratings(self) -> Ratings:
        from coterie.data.datasets import load

        data = load("ml-100k")
        assert isinstance(data, Ratings)
        return data

    @cached_property
    def graphs(self) -> dict[str, Graph]:
        """The paper's two graphs by the names it uses."""
        from coterie.data.datasets import load

        found = {title: load(name) for name, title in GRAPHS.items()}
        return {title: graph for title, graph in found.items() if isinstance(graph, Graph)}

    def say(self, stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Tell how far it is."""
        self.callback(Progress(stage, done, total, None, note))


class TimeLimit:
    """A callback that ends a fit when its time is over, as Ctrl-C would: the best state stays.

    What comes before the end of the first iteration does not count (a kernel that still had to be
    compiled), nor does time in which the process was stopped (a closed laptop, a scheduler): a
    second or more in which it used next to no CPU.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.elapsed = 0.0
        self._began = False
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __call__(self, progress: Progress) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        passed, used = wall - self._wall, cpu - self._cpu
        self._wall, self._cpu = wall, cpu
        if progress.stage != "fit" or not self._began:
            self._began = self._began or progress.stage == "fit"
            return
        self.elapsed += passed if passed < 1 or used > passed / 20 else used
        if self.elapsed > self.seconds:
            raise KeyboardInterrupt


def hardware(threads: int) -> dict[str, Any]:
    """The machine, as the paper's Table 1 gives its own."""
    return {
        "cpu": processor_name(),
        "cores": available_cores(),
        "threads": threads,
        "memory_gb": round(physical_memory() / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
