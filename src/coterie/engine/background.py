"""A task that runs on a second thread while the main thread does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from coterie.base.progress import Callback, Progress
from coterie.engine import Engine, LocalEngine

Result = TypeVar("Result")


class _Stopped(Exception):  # noqa: N818 - never leaves the thread that it ends
    """The result is no longer needed."""


class BackgroundTask(Generic[Result]):
    """A task that starts immediately; its result is collected later.

    The task gets an engine of one thread and a callback. Leaving the `with` block stops the task
    at its next call of the callback. If the given engine has a single thread, the task runs when
    `result` is called.

    >>> with BackgroundTask(lambda engine, callback: 6 * 7, LocalEngine(2)) as answer:
    ...     answer.result()
    42
    """

    def __init__(self, task: Callable[[Engine, Callback], Result], engine: Engine) -> None:
        self._task = task
        self._stop = threading.Event()
        self._outcome: list[Result] = []
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if engine.threads > 1:
            # A daemon thread, so that an interrupted command does not wait for it.
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def result(self) -> Result:
        """Wait for the task and return its result, or raise its error."""
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

    def __exit__(self, *exception: Any) -> None:
        self._stop.set()

    def _run(self) -> None:
        try:
            self._outcome.append(self._task(LocalEngine(1), self._stop_if_asked))
        except BaseException as error:
            self._error = error

    def _stop_if_asked(self, progress: Progress) -> None:
        if self._stop.is_set():
            raise _Stopped
