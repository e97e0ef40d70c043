"""Dask itself, if it is there, and a cluster of processes on this machine."""

from __future__ import annotations

from typing import Any

from coterie.base.errors import MissingDependencyError

# Left alone, Dask's workers give every array that is freed back to the system and get the next one
# page by page, zeroed: up to a fifth of an iteration (docs/scaling.md). And its profiler looks into
# every worker a hundred times a second.
_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "distributed.worker.profile.enabled": False,
}


def distributed() -> Any:
    """The package, or how to get it."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "engine 'dask' needs dask.distributed", remedy="pip install 'coterie[dask]'"
        ) from None
    return distributed


def local_cluster(workers: int) -> Any:
    """One single-threaded process a core of this machine."""
    package = distributed()
    from dask import config

    with config.set(_SETTINGS):
        return package.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=":0",
            silence_logs="ERROR",
        )
