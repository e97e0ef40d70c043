"""Run tasks on the threads of one process. Kernels release the GIL, so Python threads suffice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from coterie.base.errors import InputError
from coterie.base.machine import available_cores
from coterie.engine.interface import ContextManaged, Reduced
from coterie.engine.shard_layout import Forest, merge_each, merge_run, merge_runs, spans
from coterie.engine.shard_storage import ShardRef, load_shard

_RUNS_PER_THREAD = 4  # enough to balance the work


class LocalEngine(ContextManaged):
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
    max_broadcast_bytes : float
        Infinity: threads share memory, so every value is passed whole.

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
        self.threads = threads or available_cores()
        self.max_broadcast_bytes = math.inf  # threads share memory
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def scatter(self, parts: Sequence[Any]) -> list[Any]:
        """Store the shards of a data set where tasks can load them.

        Parameters
        ----------
        parts : sequence of named tuples
            The shards, or references to stored shards.

        Returns
        -------
        list
            One handle per shard.
        """
        return [load_shard(part) if isinstance(part, ShardRef) else part for part in parts]

    def broadcast(self, value: Any) -> Any:
        """Store one value that every task of an iteration reads.

        Parameters
        ----------
        value : object
            The value.

        Returns
        -------
        object
            Its handle.
        """
        return value

    def submit(
        self, task: Callable[..., Any], *arguments: Iterable[Any], one_task_each: bool = False
    ) -> list[Any]:
        """Call a task for each tuple of arguments.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module.
        *arguments : iterables
            One iterable of values or handles per argument of the task.
        one_task_each : bool, default=False
            Whether every call is a separate task, so that its result can be sent separately.

        Returns
        -------
        list
            One handle per call.
        """
        runner = map if self._pool is None else self._pool.map
        return list(runner(task, *arguments))

    def select(self, handles: Sequence[Any], place: int) -> list[Any]:
        """Return handles of one entry of each result, for tasks that return tuples.

        Parameters
        ----------
        handles : sequence
            Handles of results.
        place : int
            Index of the entry.

        Returns
        -------
        list
            One handle per result.
        """
        return [handle[place] for handle in handles]

    def reduce(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        *arguments: Iterable[Any],
        keep: bool = False,
        n_totals: int = 0,
    ) -> Reduced:
        """Call a task for each tuple of arguments and merge the results in a fixed order.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module.
        merge : callable
            Merges two results.
        *arguments : iterables
            One iterable of values or handles per argument of the task.
        keep : bool, default=False
            Whether the task returns a result to keep in addition to the part that is merged.
        n_totals : int, default=0
            If positive, the part is a tuple of that length and each entry has its own total.

        Returns
        -------
        Reduced
            Handles of the kept results and of the total or totals.
        """
        calls = list(zip(*arguments, strict=False))
        merge = merge_each(merge) if n_totals else merge
        kept, forest = reduce_run(self, task, calls, merge, range(len(calls)), len(calls), keep)
        (total,) = forest.values()
        return Reduced(kept, total)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the values of handles.

        Parameters
        ----------
        handles : sequence
            Handles of any kind.

        Returns
        -------
        list
            One value per handle.
        """
        return list(handles)

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call a task for each tuple of arguments and return the results.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module.
        *arguments : iterables
            One iterable of values or handles per argument of the task.

        Returns
        -------
        list
            One result per call.
        """
        return self.submit(task, *arguments)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
    merge: Callable[[Any, Any], Any],
    run: range,
    leaves: int,
    keep: bool,
) -> tuple[list[Any], Forest[Any]]:
    """Call `task` for a run of neighbouring shards among `leaves`.

    Return what each call keeps, and the merged parts of neighbours. Each thread merges its own
    results."""

    def part(span: range) -> tuple[list[Any], Forest[Any]]:
        results = (task(*calls[place]) for place in span)
        return merge_run(results, run.start + span.start, leaves, merge, keep)

    done = engine.submit(part, spans(len(calls), _RUNS_PER_THREAD * engine.threads))
    kept = [result for results, _ in done for result in results]
    return kept, merge_runs((forest for _, forest in done), leaves, merge)
