"""Work that needs nothing of the release, done on a second thread while that is drawn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from coterie.base.progress import Callback, Progress
from coterie.engine import Engine, LocalEngine

Result = TypeVar("Result")


class _Stopped(Exception):  # noqa: N818 - never seen by anybody but the thread that it ends
    """The release was given up: what runs beside it ends at its next word."""


class BackgroundTask(Generic[Result]):
    """A task begun now and asked for later; without a second thread it is done when asked for.

    The task gets an engine of one thread and a callback that it must call now and then.

    >>> with BackgroundTask(lambda engine, callback: 6 * 7, LocalEngine(2)) as answer:
    ...     answer.result()
    42
    """

    def __init__(self, task: Callable[[Engine, Callback], Result], engine: Engine) -> None:
        self._task = task
        self._engine = engine
        self._stop = threading.Event()
        self._outcome: list[Result] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if engine.threads > 1:
            # A daemon: an interrupted command does not wait for it.
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def result(self) -> Result:
        """What the task gave; raises what it raised."""
        if self._thread is None:
            if not self._outcome:
                self._run()
        else:
            self._thread.join()
        if self._error is not None:
            raise self._error
        return self._outcome[0]

    def __enter__(self) -> BackgroundTask[Result]:
        return self

    def __exit__(self, *what: Any) -> None:
        self._stop.set()

    def _run(self) -> None:
        try:
            self._outcome.append(self._task(LocalEngine(1), self._heed))
        except BaseException as error:
            self._error = error

    def _heed(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise _Stopped
