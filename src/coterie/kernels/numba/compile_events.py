"""Who wants to know that a kernel is being compiled, and whether other processes may help.

Imports nothing heavy: commands start fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_observers: list[Callable[[str], None]] = []
_announcers: list[Callable[[], None]] = []
_background_allowed = False
_plan = ""


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
def background_compiling(announce: Callable[[], None], plan: str = "") -> Iterator[None]:
    """Compile in other processes what a block of code needs, if that is allowed.

    `announce` is called when a process starts that goes on after the command. `plan` names the
    list of kernels (`compile_plans`) that helpers compile as soon as the first one is compiled."""
    global _plan
    if not _background_allowed:
        yield
        return
    _announcers.append(announce)
    outer, _plan = _plan, plan
    try:
        yield
    finally:
        _announcers.remove(announce)
        _plan = outer


def current_plan() -> str:
    """Return the name of the list of kernels that the present command needs, or ""."""
    return _plan


def compile_ahead(plan: str) -> None:
    """Have helpers compile a list of kernels now, as the command will need them in any case."""
    global _plan
    if not _background_allowed or not _announcers:
        return
    _plan = plan
    from coterie.kernels.numba.dispatch import start_helpers

    start_helpers()


def background_announcer() -> Callable[[], None] | None:
    """Return what to call when a process starts, or None: no process may be started."""
    return _announcers[-1] if _announcers else None
