"""Ctrl-C while the command line is being loaded: end at once and without a traceback.

Only in a process that was started as `coterie` or `python -m coterie`. The package imports this
file first, so that little time is left in which Python itself reports the interruption.
"""

import os
import signal
import sys

INTERRUPTED = 130  # exit code, as after Ctrl-C in a shell
_NAMES = ("coterie", "coterie.exe", "coterie-script.py")


def catch_early_interrupt() -> None:
    """End quietly on Ctrl-C from now on, if this process is the command line."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def back_to_usual() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, as soon as commands can handle it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_command() -> bool:
    first = (getattr(sys, "argv", None) or [""])[0]
    if first == "-m":  # Python is about to run a module
        given = sys.orig_argv
        return "-m" in given and given[given.index("-m") + 1 :][:1] == ["coterie"]
    return os.path.basename(first) in _NAMES


def _end(*_: object) -> None:
    os._exit(INTERRUPTED)  # nothing is open yet
