"""Who wants to know that a kernel is being compiled, and whether another process may do it.

Imports nothing heavy: commands start fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_observers: list[Callable[[str], None]] = []
_announcers: list[Callable[[], None]] = []
_background_allowed = False


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


def allow_background() -> None:
    """Let commands of this process compile in another process (`background.py`).

    Only the command line calls it: a library must not start processes unasked."""
    global _background_allowed
    _background_allowed = True


@contextmanager
def background_compiling(announce: Callable[[], None]) -> Iterator[None]:
    """Compile in another process what a block of code needs, if that is allowed.

    `announce` is called when that process starts."""
    if not _background_allowed:
        yield
        return
    _announcers.append(announce)
    try:
        yield
    finally:
        _announcers.remove(announce)


def background_announcer() -> Callable[[], None] | None:
    """Return what to call when a process starts, or None: no process may be started."""
    return _announcers[-1] if _announcers else None
