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
from pathlib import Path
from typing import Any, NamedTuple

from coterie.base.errors import InputError, MissingDependencyError
from coterie.engine.interface import Closing, EngineError
from coterie.engine.local import available_cores
from coterie.engine.shards import merge_tree
from coterie.engine.storage import ShardRef, load_shard, write_shard

_POLL_SECONDS = 1.0
_GROUPS_A_THREAD = 2  # enough to even out the work
_GONE = (OSError, CancelledError)  # what a call raises when the scheduler went away


class DaskEngine(Closing):
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
        return self._submit_one(_identity, value)

    def submit(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        # Neighbours are computed by one task: fewer messages, and their merge stays with them.
        calls = list(zip(*arguments, strict=False))
        size = self._group_size(len(calls))
        handles: list[Any] = []
        for start in range(0, len(calls), size):
            group = calls[start : start + size]
            specs, futures = _referred(group)
            done = self._submit_one(_run_group, task, specs, *futures)
            handles += [_Entry(done, (place,)) for place in range(len(group))]
        return handles

    def pick(self, handles: Sequence[Any], place: int) -> list[Any]:
        return [handle._replace(path=(*handle.path, place)) for handle in handles]

    def merge(self, handles: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
        size = self._group_size(len(handles))
        roots = []
        for start in range(0, len(handles), size):
            specs, futures = _referred([tuple(handles[start : start + size])])
            roots.append(self._submit_one(_merge_group, merge, specs[0], *futures))
        return merge_tree(self._gather(roots), merge)

    def collect(self, handles: Sequence[Any]) -> list[Any]:
        specs, futures = _referred([(handle,) for handle in handles])
        takers = [self._submit_one(_taken, spec[0], *futures) for spec in specs]
        return self._gather(takers)

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        handles = self.submit(task, *arguments)
        groups = list(dict.fromkeys(handle.future for handle in handles))
        return [result for group in self._gather(groups) for result in group]

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _group_size(self, count: int) -> int:
        """A power of two: a group is a subtree of the fixed tree. Enough groups to share out."""
        share = count // (_GROUPS_A_THREAD * max(self.threads, 1))
        return 1 << max(share.bit_length() - 1, 0)

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        self._wait(futures)
        try:
            return list(self._client.gather(list(futures)))
        except _GONE as error:
            raise self._lost() from error

    def _submit_one(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with warnings.catch_warnings():
            # Large values inside a task are the point: so they survive their holder.
            warnings.filterwarnings("ignore", message="Sending large graph")
            key = f"{getattr(function, '__name__', 'task')}-{uuid.uuid4().hex}"
            try:
                return self._client.submit(function, *arguments, key=key, pure=False)
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


class _Entry(NamedTuple):
    """A place in the result of a group; no worker is named, so none can be waited for in vain."""

    future: Any
    path: tuple[int, ...]


class _Reference(NamedTuple):
    """Where a task finds an argument: the value itself, or a path into one of its futures."""

    value: Any = None
    future: int = -1
    path: tuple[int, ...] = ()

    def resolved(self, futures: Sequence[Any]) -> Any:
        value = self.value if self.future < 0 else futures[self.future]
        for place in self.path:
            value = value[place]
        return load_shard(value) if isinstance(value, ShardRef) else value


def _referred(calls: Sequence[tuple[Any, ...]]) -> tuple[list[tuple[_Reference, ...]], list[Any]]:
    """The arguments of calls as references, and the distinct futures they point into.

    Dask finds futures only at the top level of a task's arguments, and sends each once."""
    slots: dict[Any, int] = {}

    def refer(value: Any) -> _Reference:
        if isinstance(value, _Entry):
            return _Reference(None, slots.setdefault(value.future, len(slots)), value.path)
        if hasattr(value, "key") and hasattr(value, "status"):  # a future: a shared value
            return _Reference(None, slots.setdefault(value, len(slots)))
        return _Reference(value)

    return [tuple(refer(value) for value in call) for call in calls], list(slots)


def _run_group(
    task: Callable[..., Any], calls: list[tuple[_Reference, ...]], *futures: Any
) -> list[Any]:
    """On a worker: shards are loaded (and kept) by the process that needs them."""
    return [task(*(argument.resolved(futures) for argument in call)) for call in calls]


def _merge_group(
    merge: Callable[[Any, Any], Any], parts: tuple[_Reference, ...], *futures: Any
) -> Any:
    return merge_tree([part.resolved(futures) for part in parts], merge)


def _taken(entry: _Reference, *futures: Any) -> Any:
    return entry.resolved(futures)
