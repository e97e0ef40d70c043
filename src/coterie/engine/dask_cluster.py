"""Import Dask if it is installed, and start a cluster of processes on this machine."""

from __future__ import annotations

import contextlib
from typing import Any

from coterie.base.errors import MissingDependencyError

# By default Dask's workers return freed memory to the system and receive it again page by page and
# zeroed, which takes up to a fifth of an iteration. Its profiler interrupts every worker a hundred
# times per second.
_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "distributed.worker.profile.enabled": False,
}
_CLOSING_SECONDS = 3.0


def distributed() -> Any:
    """Return the package, or raise an error that says how to install it."""
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "engine 'dask' needs dask.distributed", remedy="pip install 'coterie[dask]'"
        ) from None
    return distributed


def local_cluster(workers: int) -> Any:
    """Start a cluster of single-threaded processes on this machine."""
    package = distributed()
    from dask import config

    before = _clusters(package)
    try:
        with config.set(_SETTINGS):
            return package.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=0,
                host="127.0.0.1",  # the dashboard has no password: nothing listens to the network
                dashboard_address="127.0.0.1:0",
                silence_logs="ERROR",
            )
    except KeyboardInterrupt:
        for cluster in _clusters(package) - before:
            _abandon(cluster)
        raise


def _clusters(package: Any) -> set[Any]:
    """Return the clusters that Dask would close at the end of the process."""
    return set(getattr(package.SpecCluster, "_instances", ()))


def _abandon(cluster: Any) -> None:
    """Close a cluster that was interrupted while it started; at the end, Dask would fail to."""
    with contextlib.suppress(Exception):
        # Workers that do not start any more are no news
        cluster.loop.asyncio_loop.set_exception_handler(lambda *_: None)
        cluster.close(timeout=_CLOSING_SECONDS)
    cluster.shutdown_on_close = False
