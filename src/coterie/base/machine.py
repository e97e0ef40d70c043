"""Processor, cores and memory of this machine."""

from __future__ import annotations

import os
import platform

_CONTAINER_LIMITS = (  # files with the limit and the use of memory: cgroups 2 and 1
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
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


def free_memory() -> int:
    """Return the bytes that this process may still use.

    The smallest of what the machine can give without swapping, what the limit of a container
    (cgroup) leaves, and the limit of the process (`ulimit -v`); the main memory where none is
    reported.
    """
    known = [physical_memory()]
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            known += [1024 * int(line.split()[1]) for line in lines if "MemAvailable" in line]
    except (OSError, ValueError):
        pass
    for limit, used in _CONTAINER_LIMITS:
        try:
            with open(limit, encoding="ascii") as a, open(used, encoding="ascii") as b:
                known.append(max(0, int(a.read()) - int(b.read())))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    if (address_space := address_space_limit()) is not None:
        known.append(address_space)
    return min(known)


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
