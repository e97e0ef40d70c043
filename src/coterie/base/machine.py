"""Processor, cores and memory of this machine."""

from __future__ import annotations

import os
import platform

_UNKNOWN_MEMORY = 2**36  # bytes, assumed if the operating system does not report it


def available_cores() -> int:
    """Return the number of cores this process may use: its affinity, not the machine's total."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def physical_memory() -> int:
    """Return the bytes of main memory; a large guess if the operating system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN_MEMORY


def processor_name() -> str:
    """Return the name of the processor as the operating system gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            found = [
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            ]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()
