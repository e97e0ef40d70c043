"""Run tasks on the threads of one process, and choose the engine that a user requested.

Kernels release the GIL, so Python threads suffice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from coterie.base.errors import InputError
from coterie.base.machine import available_cores
from coterie.base.progress import Callback, Progress
from coterie.engine.interface import Engine, Reduced
from coterie.engine.shard_layout import Forest, Reduction, merge_runs, spans
from coterie.engine.shard_storage import ShardRef, load_shard

Result = TypeVar("Result")
_RUNS_PER_THREAD = 4  # enough to balance the work


class LocalEngine(Engine):
    """Run tasks on the threads of this process.

    Pass it as `engine` to any `fit` to set the number of threads. Results do not depend on that
    number. Use it in a ``with`` block, or call `close`, to end its threads.

    Parameters
    ----------
    threads : int, optional
        Number of threads. The default is the number of cores that this process may use.

    Attributes
    ----------
    threads : int
        Number of threads.

    See Also
    --------
    DaskEngine : Run tasks on several processes or machines.

    Examples
    --------
    >>> import coterie as ct
    >>> g = ct.Graph.from_edges([0, 1], [1, 2])
    >>> with ct.LocalEngine(threads=2) as engine:
    ...     ct.GeneralizedKMeans(1).fit(g, engine=engine).labels_
    array([0, 0, 0], dtype=int32)
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"invalid number of threads: {threads}", remedy="give 1 or more")
        self._threads = threads or available_cores()
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    @property
    def threads(self) -> int:
        """Number of threads."""
        return self._threads

    def scatter(self, parts: Sequence[Any]) -> list[Any]:
        return [load_shard(part) if isinstance(part, ShardRef) else part for part in parts]

    def broadcast(self, value: Any) -> Any:
        return value

    def submit(
        self, task: Callable[..., Any], *arguments: Iterable[Any], one_task_each: bool = False
    ) -> list[Any]:
        runner = map if self._pool is None else self._pool.map
        return list(runner(task, *arguments))

    def select(self, handles: Sequence[Any], place: int) -> list[Any]:
        return [handle[place] for handle in handles]

    def _reduce(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]], how: Reduction
    ) -> Reduced:
        kept, forest = reduce_run(self, task, calls, how)
        (total,) = forest.values()
        return Reduced(kept, total)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if self._pool is not None and isinstance(error, KeyboardInterrupt):
            # A task may still run for minutes, and its result is not used
            self._pool.shutdown(wait=False, cancel_futures=True)
        else:
            self.close()

    def close(self) -> None:
        """End the threads; the engine cannot be used any more."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def reduce_run(
    engine: LocalEngine,
    task: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    how: Reduction,
) -> tuple[list[Any], Forest[Any]]:
    """Call `task` for a run of neighbouring shards.

    Return what each call keeps, and the merged parts of neighbours. Each thread merges its own
    results."""

    def part(span: range) -> tuple[list[Any], Forest[Any]]:
        return how.merged((task(*calls[place]) for place in span), span.start)

    done = engine.submit(part, spans(len(calls), _RUNS_PER_THREAD * engine.threads))
    kept = [result for results, _ in done for result in results]
    return kept, merge_runs((forest for _, forest in done), how.leaves, how.merge_parts)


def resolve_engine(engine: str | Engine, threads: int | None = None) -> Engine:
    """Return the engine for the name "local" or "dask"; return an engine object unchanged.

    "local" uses the threads of this process, "dask" starts a cluster on this machine.
    """
    if engine == "local":
        return LocalEngine(threads)
    if engine == "dask":
        from coterie.engine.dask import DaskEngine

        return DaskEngine(workers=threads)
    if isinstance(engine, str):
        raise InputError(
            f"unknown engine: {engine!r}", remedy='use "local", "dask" or an engine object'
        )
    return engine


@contextmanager
def running_engine(engine: str | Engine, threads: int | None = None) -> Iterator[Engine]:
    """Provide the engine for a `with` block; close it afterwards unless the caller created it."""
    running = resolve_engine(engine, threads)
    try:
        yield running
    finally:
        if running is not engine:
            running.close()


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
