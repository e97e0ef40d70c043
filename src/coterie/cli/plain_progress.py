"""Progress where stderr is not a terminal: a line now and then, such as in a log file."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from coterie.base.progress import Progress

FIRST, LONGEST = 5.0, 60.0  # seconds until the first line, and between two lines at most
_LOOK = 1.0  # seconds between two looks at the clock


class PlainProgress:
    """A callback that writes a line after 5 seconds, and then at intervals that double.

    In a `with` block, a thread repeats the last stage if nothing new was reported for so long: a
    single step can take many minutes.

    >>> lines, clock = [], iter([0.0, 1.0, 6.0, 7.0, 20.0])
    >>> report = PlainProgress("fit", lines.append, lambda: next(clock))
    >>> for done in range(4):
    ...     report(Progress("sweeps", done, 100, 12.5))
    >>> lines
    ['fit: sweeps, 1 of 100, entropy 12.5 (6 s)', 'fit: sweeps, 3 of 100, entropy 12.5 (20 s)']
    """

    def __init__(
        self, title: str, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title, self._write, self._clock = title, write, clock
        self._start = clock()
        self._next, self._interval = FIRST, FIRST
        self._latest: Progress | None = None
        self._lock, self._ended = threading.Lock(), threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._repeat, daemon=True, name="progress").start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:  # no line after the end
            self._ended.set()

    def __call__(self, progress: Progress) -> None:
        """Write a line if it is time for one."""
        with self._lock:
            self._latest = progress
            self._write_if_due(progress)

    def _repeat(self) -> None:
        while not self._ended.wait(_LOOK):
            with self._lock:
                if self._latest is not None and not self._ended.is_set():
                    self._write_if_due(self._latest)

    def _write_if_due(self, progress: Progress) -> None:
        elapsed = self._clock() - self._start
        if elapsed < self._next:
            return
        self._interval = min(2 * self._interval, LONGEST)
        self._next = elapsed + self._interval
        parts = [f"{self._title}: {progress.stage}"]
        if progress.total:
            parts.append(f"{progress.done:,} of {progress.total:,}")
        if progress.entropy is not None:
            parts.append(f"entropy {progress.entropy:,.1f}")
        self._write(", ".join(parts) + f" ({elapsed:.0f} s)")
