"""Ctrl-C, SIGTERM and SIGHUP: stop a command, also while a kernel runs.

Python acts on a signal between two of its own instructions, and a kernel on a large network can run
for many minutes. A thread of its own therefore learns of every signal at once. It ends the process
if the main thread has not acted on the signal after some seconds, or if a second signal comes.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
from types import FrameType

from coterie.base.early_interrupt import INTERRUPTED

_PATIENCE = 5.0  # seconds until a signal must have been acted on
_CLEANING = 5.0  # seconds for removing temporary files
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP


def watch_interruptions(patience: float = _PATIENCE) -> None:
    """Raise KeyboardInterrupt on each of these signals, and end the process if that does not help.

    Signals that the process was told to ignore, as `nohup` does, stay ignored.
    """
    usual = (signal.SIG_DFL, signal.default_int_handler)
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    watched = [number for number in numbers if signal.getsignal(number) in usual]
    acted = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        acted.set()
        raise KeyboardInterrupt

    for number in watched:
        signal.signal(number, interrupt)
    incoming, outgoing = socket.socketpair()
    outgoing.setblocking(False)
    signal.set_wakeup_fd(outgoing.fileno(), warn_on_full_buffer=False)
    # The thread keeps both ends open
    arguments = (incoming, outgoing, set(map(int, watched)), acted, patience)
    threading.Thread(target=_watch, args=arguments, daemon=True, name="interruptions").start()


def _watch(
    incoming: socket.socket,
    outgoing: socket.socket,
    watched: set[int],
    acted: threading.Event,
    patience: float,
) -> None:
    """Wait for signals; end the process after a second one, or if the first has no effect."""
    _receive(incoming, watched, None)
    try:
        _receive(incoming, watched, patience)
    except TimeoutError:
        if acted.is_set():
            _receive(incoming, watched, None)
    _write("coterie: interrupted; a calculation was abandoned, and nothing more is written\n")
    end_now(INTERRUPTED)


def _receive(incoming: socket.socket, watched: set[int], timeout: float | None) -> None:
    """Wait for the number of a watched signal."""
    incoming.settimeout(timeout)
    while incoming.recv(1)[0] not in watched:
        continue  # a signal that somebody else handles


def end_if_threads_are_busy(code: int) -> None:
    """End the process without waiting for threads, if there are any besides the main thread."""
    others = (thread for thread in threading.enumerate() if not thread.daemon)
    if any(thread is not threading.main_thread() for thread in others):
        end_now(code)


def end_now(code: int) -> None:
    """Remove temporary files and end the process, without waiting for threads and kernels."""
    # In a thread, because what somebody else registered may wait for something that never comes
    cleaning = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    cleaning.start()
    cleaning.join(_CLEANING)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # closed, or nobody reads it any more
    os._exit(code)


def _write(message: str) -> None:
    try:
        os.write(2, message.encode())
    except OSError:
        return  # standard error is closed
