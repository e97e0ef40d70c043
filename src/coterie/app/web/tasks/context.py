"""What every task uses: its settings, its folder, progress, and what was assumed."""

from __future__ import annotations

import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Progress

NO_RESULT = "stopped before there was a first result; start again, and give it more time"
_LEAST_SECONDS = 0.1  # between two reports
# Stages without a state to keep
_BEFORE_A_RESULT = (
    "compiling",
    "merging",
    "choosing",
)


@dataclass
class TaskContext:
    """The settings of a task, the folder for its files, and the function that reports."""

    settings: JsonObject
    folder: Path
    send: Callable[[JsonObject], None]
    stop: threading.Event = field(default_factory=threading.Event)  # keep the best result so far
    earlier: Path | None = None  # the folder of an unfinished result, which this task continues
    restarted: bool = False  # after a stop that the search did not notice in time
    searching: bool = False  # there is something to stop
    remarks: list[str] = field(default_factory=list)
    _last: float = 0.0
    _stage: str = ""

    @property
    def stop_requested(self) -> bool:
        """Whether the user wants the best result so far."""
        return self.stop.is_set()

    def progress_of_fit(self, progress: Progress) -> None:
        """Report progress of a fit, and end it with its best state if a stop was requested.

        The library keeps the best state if its callback raises KeyboardInterrupt. A signal alone
        could arrive when there is no state yet, or when the fit is over.
        """
        self.progress(progress)
        if self.stop_requested and progress.stage not in _BEFORE_A_RESULT and progress.done > 0:
            raise KeyboardInterrupt

    def progress(self, progress: Progress) -> None:
        """Report progress: a callback of the library. Most reports of one stage are skipped."""
        now = time.monotonic()
        if progress.stage == self._stage and now - self._last < _LEAST_SECONDS:
            return
        self._last, self._stage = now, progress.stage
        self.send({"event": "progress", **progress._asdict()})

    def stage(self, text: str, done: int = 0, total: int | None = None) -> None:
        """Report what begins now."""
        self._last = 0.0
        self.progress(Progress(text, done, total))

    @contextmanager
    def search(self) -> Iterator[None]:
        """Mark what a stop ends within seconds; the rest of a task describes what was found."""
        self.searching = True
        try:
            yield
        finally:
            self.searching = False

    def kept(self, name: str) -> Path:
        """Return a file from which the task can go on, copied from an unfinished result."""
        own = self.folder / name
        if self.earlier is not None and not own.exists() and (self.earlier / name).exists():
            shutil.copy(self.earlier / name, own)
        return own

    def require_result(self, exists: bool) -> None:
        """Raise an error if the task was stopped before there was a result to describe."""
        if self.restarted and not exists:
            raise InputError(NO_RESULT)

    @contextmanager
    def remembered_remarks(self) -> Iterator[None]:
        """Collect what the library assumed or cleaned."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", AssumptionWarning)

            def show(message: Warning | str, category: type[Warning], *place: Any) -> None:
                text = str(message)
                if issubclass(category, AssumptionWarning) and text not in self.remarks:
                    self.remarks.append(text)

            warnings.showwarning = show  # type: ignore[assignment]
            yield
