"""Threads of one process. Kernels release the GIL, so plain Python threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from coterie.base.errors import InputError

T = TypeVar("T")


class Engine(Protocol):
    """The whole interface: map over shards, close."""

    threads: int

    def map(self, task: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        """`task` for each tuple of arguments; the results in the order of the arguments."""
        ...

    def close(self) -> None: ...


class LocalEngine:
    """Runs tasks on the threads of this process.

    >>> with LocalEngine(threads=2) as engine:
    ...     engine.map(pow, [2, 3], [3, 2])
    [8, 9]
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"threads={threads} cannot run anything", remedy="give 1 or more")
        self.threads = threads or available_cores()
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def map(self, task: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
        runner = map if self._pool is None else self._pool.map
        return list(runner(task, *arguments))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def available_cores() -> int:
    """The cores this process may use: its affinity, not the machine's total."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def resolve_engine(engine: str | Engine | None, threads: int | None = None) -> Engine:
    """An engine from what a user passed: "local", None, or an engine object."""
    if engine is None or engine == "local":
        return LocalEngine(threads)
    if isinstance(engine, str):
        raise InputError(f"engine={engine!r} is unknown", remedy='give "local" or an engine object')
    return engine
