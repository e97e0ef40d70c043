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


def available_memory() -> int:
    """Return the bytes that a process can still get: free memory, within the limits of the process.

    Linux reports free memory (MemAvailable) and the limit of the container (cgroup version 2);
    elsewhere this is the main memory.
    """
    limits = [physical_memory()]
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            limits += [1024 * int(x.split()[1]) for x in lines if x.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            limit = file.read().strip()
        with open("/sys/fs/cgroup/memory.current", encoding="ascii") as file:
            limits += [int(limit) - int(file.read())] if limit.isdigit() else []
    except (OSError, ValueError, IndexError):
        pass
    if (address_space := address_space_limit()) is not None:
        limits.append(address_space)
    return max(0, min(limits))


def address_space_limit() -> int | None:
    """Return the bytes that `ulimit -v` allows this process; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


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
