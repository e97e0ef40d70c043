"""The settings of a reproduction: data, time, threads; and a description of the machine."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from coterie.base.machine import available_cores, physical_memory, processor_name
from coterie.base.progress import Callback, Progress, silent
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine

GRAPHS = {"as-caida": "CAIDA", "ca-astroph": "astro-ph"}


@dataclass
class Setting:
    """One run of the reproduction.

    `budget`: seconds per fit, the same for all methods that are compared by time. `quick`: fewer
    folds, values of k, draws and iterations, and no additive model.
    """

    seed: int = 0
    budget: float = 15.0
    quick: bool = False
    engine: Engine = field(default_factory=LocalEngine)
    callback: Callback = silent

    @property
    def folds(self) -> int:
        """Number of the 5 folds that are run."""
        return 1 if self.quick else 5

    @property
    def ks(self) -> tuple[int, ...]:
        """Numbers of blocks."""
        return (10, 100, 300) if self.quick else (10, 30, 100, 300, 1000)

    @property
    def draws(self) -> int:
        """Graphs drawn per clustering."""
        return 3 if self.quick else 5

    def draws_of(self, model: str) -> int:
        """Graphs drawn per model: the degree-corrected one takes seconds, not milliseconds."""
        return 1 if self.quick and model == "dcsbm" else self.draws

    @property
    def sources(self) -> int:
        """Number of source nodes for the estimate of path lengths."""
        return 256 if self.quick else 1000

    @cached_property
    def ratings(self) -> Ratings:
        """MovieLens-100k."""
        from coterie.data.datasets import load

        data = load("ml-100k")
        assert isinstance(data, Ratings)
        return data

    @cached_property
    def graphs(self) -> dict[str, Graph]:
        """The paper's two graphs by their names in the paper."""
        from coterie.data.datasets import load

        found = {title: load(name) for name, title in GRAPHS.items()}
        return {title: graph for title, graph in found.items() if isinstance(graph, Graph)}

    def say(self, stage: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Report progress."""
        self.callback(Progress(stage, done, total, None, note))


class TimeLimit:
    """A callback that ends a fit after some seconds, as Ctrl-C would; the best state is kept.

    Time before the end of the first iteration does not count (a kernel may have been compiled),
    nor does time in which the process was suspended: a second or more with almost no CPU use.
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


class Hardware(NamedTuple):
    """This machine, described as Table 1 of the paper describes its own."""

    cpu: str
    cores: int
    threads: int
    memory_gb: float
    system: str
    python: str


def hardware(threads: int) -> Hardware:
    """Describe this machine."""
    return Hardware(
        cpu=processor_name(),
        cores=available_cores(),
        threads=threads,
        memory_gb=round(physical_memory() / 1e9, 1),
        system=platform.platform(),
        python=platform.python_version(),
    )
