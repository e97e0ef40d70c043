"""The same work on a Dask cluster: tasks are pure, shards are loaded from storage by the tasks.

Faults are Dask's to mend. A worker that dies takes with it only results that the scheduler knows
how to compute again: a shared value and kept results are outputs of tasks, never scattered data.
What is left to us is to notice that nobody can work any more, and to say so.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from operator import getitem
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from coterie.base.errors import InputError, MissingDependencyError
from coterie.engine.interface import EngineError
from coterie.engine.local import available_cores
from coterie.engine.shards import merge_tree
from coterie.engine.storage import ShardRef, load_shard, write_shard

_POLL_SECONDS = 1.0
_GROUP = 8  # neighbours merged in one task; a power of two
_GONE = (OSError, CancelledError)  # what a call raises when the scheduler went away


class DaskEngine:
    """Runs tasks on the workers of a scheduler, or of a cluster on this machine started for it.

    `storage` is a folder that every worker reaches under the same name; shards of data that were
    not sharded beforehand are put there and removed at the end. `patience` is how many seconds a
    cluster without a single worker is waited for.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        workers: int | None = None,
        storage: str | Path | None = None,
        patience: float = 30.0,
    ) -> None:
        self._dask = _distributed()
        self.patience = patience
        self._storage = Path(storage) if storage is not None else None
        self._folders: list[Path] = []
        self._cluster = None if scheduler else self._local_cluster(workers or available_cores())
        try:
            self._client = self._dask.Client(
                scheduler or self._cluster, set_as_default=False, timeout=max(1.0, patience)
            )
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at {scheduler} ({error})",
                remedy="start one with `dask scheduler` and give its tcp:// address",
            ) from error

    @property
    def threads(self) -> int:
        """The task slots of all workers together."""
        return sum(self._client.nthreads().values())

    @property
    def dashboard(self) -> str:
        """Where Dask shows what it is doing."""
        return str(self._client.dashboard_link)

    def hold(self, parts: Sequence[Any]) -> list[Any]:
        if all(isinstance(part, ShardRef) for part in parts):
            return list(parts)
        folder = Path(tempfile.mkdtemp(prefix="coterie-shards-", dir=self._storage))
        self._folders.append(folder)
        return [write_shard(folder, number, part) for number, part in enumerate(parts)]

    def share(self, value: Any) -> Any:
        # A task that returns the value: the scheduler can make it again if its holder dies.
        return self._submit_one(None, _run, _identity, (None,), value)

    def submit(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        given = list(zip(*arguments, strict=False))
        homes = self._homes(len(given))
        return [
            self._submit_one(home, _run, task, *_unpicked(values))
            for home, values in zip(homes, given, strict=True)
        ]

    def pick(self, handles: Sequence[Any], place: int) -> list[Any]:
        return [_Picked(handle, place) for handle in handles]

    def merge(self, handles: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
        # A group of 2^j neighbours is a subtree of the fixed tree: one task instead of many, and
        # neighbours live with one worker, so that little crosses the network.
        groups = [handles[i : i + _GROUP] for i in range(0, len(handles), _GROUP)]
        homes = self._homes(len(groups))
        roots = [
            self._submit_one(home, _merge, merge, *_unpicked(group))
            for home, group in zip(homes, groups, strict=True)
        ]
        return merge_tree(self.collect(roots), merge)

    def collect(self, handles: Sequence[Any]) -> list[Any]:
        handles = [
            self._submit_one(None, getitem, *handle) if isinstance(handle, _Picked) else handle
            for handle in handles
        ]
        self._wait(handles)
        try:
            return list(self._client.gather(handles))
        except _GONE as error:
            raise self._lost() from error

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        return self.collect(self.submit(task, *arguments))

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _homes(self, count: int) -> list[str | None]:
        """A worker for each of `count` neighbours, in blocks: a wish that a death overrides."""
        workers = sorted(self._client.nthreads())
        if not workers:
            return [None] * count
        return [workers[i * len(workers) // count] for i in range(count)]

    def _submit_one(self, home: str | None, function: Callable[..., Any], *arguments: Any) -> Any:
        with warnings.catch_warnings():
            # Large values inside a task are the point: so they survive their holder.
            warnings.filterwarnings("ignore", message="Sending large graph")
            key = f"{getattr(function, '__name__', 'task')}-{uuid.uuid4().hex}"
            try:
                return self._client.submit(
                    function,
                    *arguments,
                    key=key,
                    pure=False,
                    workers=home and [home],
                    allow_other_workers=home is not None,
                )
            except _GONE as error:
                raise self._lost() from error

    def _wait(self, handles: Sequence[Any]) -> None:
        """Until all are done; an error if nobody is left to do them."""
        alone_since: float | None = None
        while True:
            try:
                with self._client.as_current():
                    self._dask.wait(handles, timeout=_POLL_SECONDS)
            except TimeoutError:
                pass
            except _GONE as error:
                raise self._lost() from error
            else:
                break
            if self._client.status not in ("running", "newly-created"):
                raise self._lost()
            if self._client.nthreads():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > self.patience:
                raise EngineError(
                    f"all Dask workers are gone and none came back for {self.patience:g} s; start "
                    "workers and run again with --resume to go on from the last checkpoint"
                )
        for handle in handles:
            if handle.status == "error":
                raise self._plain_error(handle.exception())
            if handle.status in ("cancelled", "lost"):
                raise self._lost()

    def _local_cluster(self, workers: int) -> Any:
        """One single-threaded process a core of this machine."""
        return self._dask.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=":0",
            silence_logs="ERROR",
        )

    def _plain_error(self, error: BaseException) -> BaseException:
        if isinstance(error, self._dask.KilledWorker):
            return EngineError(
                "a task has killed several workers in a row, most often for want of memory; give "
                "the workers more, or cut the data into more shards"
            )
        return error

    def _lost(self) -> EngineError:
        return EngineError(
            "the Dask scheduler is gone; start it again and run with --resume to go on from the "
            "last checkpoint"
        )


def _distributed() -> Any:
    try:
        import distributed
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "engine 'dask' needs dask.distributed", remedy="pip install 'coterie[dask]'"
        ) from None
    return distributed


def _identity(value: Any) -> Any:
    return value


class _Picked(NamedTuple):
    """An entry of a result, taken out where it is used."""

    result: Any
    place: int


def _unpicked(values: Sequence[Any]) -> tuple[Any, ...]:
    """(places, the results themselves): Dask finds its futures only at the top level."""
    places = tuple(v.place if isinstance(v, _Picked) else None for v in values)
    return places, *(v.result if isinstance(v, _Picked) else v for v in values)


def _values(places: Sequence[int | None], results: Sequence[Any]) -> list[Any]:
    return [r if p is None else r[p] for p, r in zip(places, results, strict=True)]


def _run(task: Callable[..., Any], places: Sequence[int | None], *results: Any) -> Any:
    """On a worker: shards are loaded (and kept) by the process that needs them."""
    arguments = _values(places, results)
    return task(*(load_shard(a) if isinstance(a, ShardRef) else a for a in arguments))


def _merge(merge: Callable[[Any, Any], Any], places: Sequence[int | None], *results: Any) -> Any:
    return merge_tree(_values(places, results), merge)
