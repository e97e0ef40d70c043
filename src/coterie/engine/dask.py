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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import chain
from pathlib import Path
from typing import Any

from coterie.base.errors import InputError
from coterie.base.machine import available_cores
from coterie.engine.dask_cluster import distributed, local_cluster
from coterie.engine.dask_tasks import (
    Entry,
    Group,
    Held,
    Holding,
    Reduction,
    Total,
    entries,
    entry,
    grouped,
    identity,
    join_groups,
    load_group,
    reduce_group,
    run_group,
)
from coterie.engine.interface import Closing, EngineError, Reduced
from coterie.engine.shard_layout import spans
from coterie.engine.shard_storage import ShardRef, write_shard

_POLL_SECONDS = 1.0
_SAME_FOR_SECONDS = 0.05
_SMALL = 1 << 17  # bytes of a shared value that goes with every task rather than by itself
_FAN_IN = 8  # sums that one task merges
_GONE = (OSError, CancelledError)  # what a call raises when the scheduler went away


class DaskEngine(Closing):
    """Runs tasks on the workers of a scheduler, or of a cluster on this machine started for it.

    `storage` is a folder that every worker reaches under the same name; shards of data that were
    not sharded beforehand are put there and removed at the end. `patience` is how many seconds a
    cluster without a single worker is waited for. Memberships of more than `most_shared` bytes are
    not sent to every worker whole, but lie in blocks from which tasks take the rows they need.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        workers: int | None = None,
        storage: str | Path | None = None,
        patience: float = 30.0,
        most_shared: float = 1 << 30,
    ) -> None:
        self._dask = distributed()
        self.patience, self.most_shared = patience, most_shared
        self._storage = Path(storage) if storage is not None else None
        self._folders: list[Path] = []
        self._known_until = 0.0
        self._cluster = None if scheduler else local_cluster(workers or available_cores())
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
        return sum(self._workers.values())

    @property
    def _workers(self) -> dict[str, int]:
        """The addresses of the workers, and their threads; asked for anew after a moment."""
        if time.monotonic() > self._known_until:
            self._known: dict[str, int] = self._client.nthreads()
            self._known_until = time.monotonic() + _SAME_FOR_SECONDS
        return self._known

    @property
    def dashboard(self) -> str:
        """Where Dask shows what it is doing."""
        return str(self._client.dashboard_link)

    def scatter(self, parts: Sequence[Any]) -> list[Any]:
        refs = list(parts)
        if not all(isinstance(part, ShardRef) for part in parts):
            folder = Path(tempfile.mkdtemp(prefix="coterie-shards-", dir=self._storage))
            self._folders.append(folder)
            refs = [write_shard(folder, number, part) for number, part in enumerate(parts)]
        holding = Holding(refs)
        return [Held(holding, place) for place in range(len(refs))]

    def broadcast(self, value: Any) -> Any:
        if self._dask.sizeof.safe_sizeof(value) <= _SMALL:
            return value  # it goes with the tasks
        # A task that returns the value: the scheduler can make it again if its holder dies.
        return Entry(self._submit_one(identity, value))

    def submit(
        self, task: Callable[..., Any], *arguments: Iterable[Any], one_task_each: bool = False
    ) -> list[Any]:
        handles: list[Any] = []
        calls = self._calls(arguments)
        for span, group, futures in self._groups(task, calls, len(calls) if one_task_each else 0):
            done = self._submit_one(run_group, group, *futures, name=_name(task))
            handles += [Entry(done, (place,)) for place in range(len(span))]
        return handles

    def reduce(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        *arguments: Iterable[Any],
        keep: bool = False,
        n_totals: int = 0,
    ) -> Reduced:
        calls = self._calls(arguments)
        kept: list[Any] = []
        forests: list[list[Any]] = [[] for _ in range(max(n_totals, 1))]
        for span, group, futures in self._groups(task, calls):
            how = Reduction(merge, span, len(calls), keep, n_totals)
            done = self._submit_one(reduce_group, group, how, *futures, name=_name(task))
            if keep:
                kept += [Entry(done, (0, place)) for place in range(len(span))]
            for number, mine in enumerate(forests):  # what travels alone has a name of its own
                mine.append(done if how.alone else self._submit_one(entry, done, 1 + number))
        totals = [self._total(mine, merge, len(calls)) for mine in forests]
        return Reduced(kept, totals if n_totals else totals[0])

    def _total(self, forests: list[Any], merge: Callable[[Any, Any], Any], leaves: int) -> Total:
        while len(forests) > _FAN_IN:
            forests = [
                self._submit_one(join_groups, merge, leaves, *forests[start : start + _FAN_IN])
                for start in range(0, len(forests), _FAN_IN)
            ]
        return Total(tuple(forests), merge, leaves)

    def select(self, handles: Sequence[Any], place: int) -> list[Any]:
        return [handle._replace(path=(*handle.path, place)) for handle in handles]

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        paths: dict[Any, list[tuple[int, ...]]] = {}
        for handle in handles:
            if isinstance(handle, Entry):
                paths.setdefault(handle.future, []).append(handle.path)
        takers = [self._submit_one(entries, future, wanted) for future, wanted in paths.items()]
        sums = [handle.forests for handle in handles if isinstance(handle, Total)]
        found = iter(self._gather([*takers, *chain(*sums)]))
        parts = {future: iter(next(found)) for future in paths}

        def value(handle: Any) -> Any:
            if isinstance(handle, Entry):
                return next(parts[handle.future])
            if isinstance(handle, Total):
                return handle.of(next(found) for _ in handle.forests)
            return handle

        return [value(handle) for handle in handles]

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

    def _groups(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]], count: int = 0
    ) -> Iterator[tuple[range, Group, list[Any]]]:
        """Neighbouring calls, a group for each worker, and the futures that it needs."""
        for span in spans(len(calls), count or len(self._workers)):
            yield span, *grouped(task, [calls[place] for place in span])

    def _calls(self, arguments: Sequence[Iterable[Any]]) -> list[tuple[Any, ...]]:
        calls = list(zip(*arguments, strict=False))
        return [tuple(map(self._at_home, call)) for call in calls]

    def _at_home(self, argument: Any) -> Any:
        """A held shard where it was loaded; all are shared out anew when workers came or went."""
        if not isinstance(argument, Held):
            return argument
        holding, workers = argument.holding, frozenset(self._workers)
        if holding.workers != workers:
            holding.workers, holding.entries = workers, []
            for span in spans(len(holding.refs), len(self._workers)):
                home = self._submit_one(load_group, [holding.refs[place] for place in span])
                holding.entries += [Entry(home, (place,)) for place in range(len(span))]
        return holding.entries[argument.place]

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        self._wait(futures)
        try:
            return list(self._client.gather(list(futures)))
        except _GONE as error:
            raise self._lost() from error

    def _submit_one(self, function: Callable[..., Any], *arguments: Any, name: str = "") -> Any:
        with warnings.catch_warnings():
            # Large values inside a task are the point: so they survive their holder.
            warnings.filterwarnings("ignore", message="Sending large graph")
            key = f"{name or _name(function)}-{uuid.uuid4().hex}"  # Dask learns times by names
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


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", "task"))
