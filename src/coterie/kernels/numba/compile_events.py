"""Who wants to know that a kernel is being compiled. Imports nothing heavy: commands start fast."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_observers: list[Callable[[str], None]] = []


@contextmanager
def watch_compilations(observer: Callable[[str], None]) -> Iterator[None]:
    """Call `observer(name of the kernel)` before each compilation in a block of code."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def compilation_starts(kernel_name: str) -> None:
    """Tell all observers."""
    for observer in tuple(_observers):
        observer(kernel_name)
