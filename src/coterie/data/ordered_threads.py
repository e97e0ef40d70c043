"""Run tasks on threads and return their results in order; the kernels release the GIL."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from coterie.base.machine import available_cores

T = TypeVar("T")


def thread_count(threads: int | None) -> int:
    """Return the given number of threads, or the number of cores that are available."""
    return available_cores() if threads is None else max(1, threads)


def in_order(
    task: Callable[..., T], arguments: Iterable[tuple[Any, ...]], threads: int | None = None
) -> Iterator[T]:
    """Yield `task(*a)` for each `a`, in order, with only a few arguments in memory at once.

    >>> list(in_order(pow, [(2, 3), (3, 2)], threads=2))
    [8, 9]
    """
    count = thread_count(threads)
    if count == 1:
        for argument in arguments:
            yield task(*argument)
        return
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            for argument in arguments:
                waiting.append(pool.submit(task, *argument))
                if len(waiting) > count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
