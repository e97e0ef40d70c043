"""Threads of one process. Kernels release the GIL, so plain Python threads are enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from coterie.base.errors import InputError
from coterie.base.machine import available_cores
from coterie.engine.interface import Closing, Reduced
from coterie.engine.shard_layout import Forest, merge_each, merge_run, merge_runs, spans
from coterie.engine.shard_storage import ShardRef, load_shard

_RUNS_A_THREAD = 4  # enough to even out the work


class LocalEngine(Closing):
    """Runs tasks on the threads of this process; a handle is the value itself.

    >>> with LocalEngine(threads=2) as engine:
    ...     engine.map(pow, [2, 3], [3, 2])
    [8, 9]
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"threads={threads} cannot run anything", remedy="give 1 or more")
        self.threads = threads or available_cores()
        self.most_shared = math.inf  # sharing costs nothing here
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

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

    def reduce(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        *arguments: Iterable[Any],
        keep: bool = False,
        n_totals: int = 0,
    ) -> Reduced:
        calls = list(zip(*arguments, strict=False))
        merge = merge_each(merge) if n_totals else merge
        kept, forest = self.reduce_run(task, calls, merge, range(len(calls)), len(calls), keep)
        (total,) = forest.values()
        return Reduced(kept, total)

    def reduce_run(
        self,
        task: Callable[..., Any],
        calls: Sequence[tuple[Any, ...]],
        merge: Callable[[Any, Any], Any],
        run: range,
        leaves: int,
        keep: bool,
    ) -> tuple[list[Any], Forest[Any]]:
        """The calls of a run of shards among `leaves`: what each kept, and the parts merged as
        far as neighbours go. Each thread merges what it makes."""

        def part(span: range) -> tuple[list[Any], Forest[Any]]:
            results = (task(*calls[place]) for place in span)
            return merge_run(results, run.start + span.start, leaves, merge, keep)

        done = self.submit(part, spans(len(calls), _RUNS_A_THREAD * self.threads))
        kept = [each for own, _ in done for each in own]
        return kept, merge_runs((forest for _, forest in done), leaves, merge)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        return list(handles)

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        return self.submit(task, *arguments)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
