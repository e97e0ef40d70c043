"""Progress where stderr is not a terminal: a line now and then, such as in a log file."""

from __future__ import annotations

import time
from collections.abc import Callable

from coterie.base.progress import Progress

FIRST, LONGEST = 5.0, 60.0  # seconds until the first line, and between two lines at most


class PlainProgress:
    """A callback that writes a line after 5 seconds, and then at intervals that double.

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

    def __call__(self, progress: Progress) -> None:
        """Write a line if it is time for one."""
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
