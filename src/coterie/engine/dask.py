"""Run tasks on a Dask cluster: tasks are pure and load their shards from storage.

Dask handles faults. A worker that dies loses only results that the scheduler can compute again:
broadcast values and kept results are outputs of tasks, never scattered data. This module only
detects that no worker is left, and reports it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from coterie.base.errors import InputError, MissingDependencyError
from coterie.base.machine import available_cores
from coterie.engine.interface import Engine, EngineError, Reduced
from coterie.engine.local import LocalEngine, reduce_run
from coterie.engine.shard_layout import Forest, Merge, Reduction, merge_runs, spans
from coterie.engine.shard_storage import ShardRef, read_shard, write_shard

_POLL_SECONDS = 1.0
_WORKERS_VALID_SECONDS = 0.05  # how long the list of workers is reused
_SMALL = 1 << 17  # broadcast values up to this size are sent with every task
_FAN_IN = 8  # sums that one task merges
_GONE = (OSError, CancelledError)  # what a call raises if the scheduler is gone
# By default Dask's workers return freed memory to the system and receive it again page by page and
# zeroed, which takes up to a fifth of an iteration. Its profiler interrupts every worker a hundred
# times per second.
_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "distributed.worker.profile.enabled": False,
}
_CLOSING_SECONDS = 3.0


class DaskEngine(Engine):
    """Run tasks on the workers of a Dask cluster.

    Results are the same as on one machine, bit for bit. If a worker dies, the others do its
    work. Use it in a ``with`` block, or call `close`, to disconnect. Requires
    ``pip install 'coterie[dask]'``.

    Parameters
    ----------
    scheduler : str, optional
        Address of the scheduler, for example ``"tcp://10.0.0.5:8786"``. By default a cluster of
        processes is started on this machine.
    workers : int, optional
        Number of processes to start if there is no `scheduler`. The default is the number of cores.
    storage : path-like, optional
        Folder that every worker reaches under the same name. Data that are not sharded yet are
        stored there as shards and removed at the end. The default is the temporary folder.
    patience : float, default=30.0
        Seconds to wait for a worker if none is left, before an error is raised.

    Attributes
    ----------
    threads : int
        Number of threads of all workers.
    dashboard : str
        Address of Dask's dashboard.

    Raises
    ------
    InputError
        If no scheduler answers at the address.
    MissingDependencyError
        If Dask is not installed.

    See Also
    --------
    LocalEngine : Run tasks on the threads of this process.

    Examples
    --------
    >>> import coterie as ct
    >>> with ct.DaskEngine("tcp://10.0.0.5:8786") as engine:  # doctest: +SKIP
    ...     ct.GeneralizedKMeans(50, search="paper").fit(g, engine=engine)
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        workers: int | None = None,
        storage: str | Path | None = None,
        patience: float = 30.0,
    ) -> None:
        self._dask = distributed()
        self.patience = patience
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
                remedy="start one with the command 'dask scheduler' and give its tcp:// address",
            ) from error

    @property
    def threads(self) -> int:
        """Number of threads of all workers."""
        return sum(self._workers.values())

    @property
    def _workers(self) -> dict[str, int]:
        """Addresses of the workers and their threads; requested again after a moment."""
        if time.monotonic() > self._known_until:
            self._known: dict[str, int] = self._client.nthreads()
            self._known_until = time.monotonic() + _WORKERS_VALID_SECONDS
        return self._known

    @property
    def dashboard(self) -> str:
        """Address of Dask's dashboard."""
        return str(self._client.dashboard_link)

    def scatter(self, parts: Sequence[Any]) -> list[Any]:
        refs = list(parts)
        if not all(isinstance(part, ShardRef) for part in parts):
            folder = Path(tempfile.mkdtemp(prefix="coterie-shards-", dir=self._storage))
            self._folders.append(folder)
            refs = [write_shard(folder, number, part) for number, part in enumerate(parts)]
        shards = ShardSet(refs)
        return [ShardHandle(shards, place) for place in range(len(refs))]

    def broadcast(self, value: Any) -> Any:
        if self._dask.sizeof.safe_sizeof(value) <= _SMALL:
            return value  # it is sent with the tasks
        # A task that returns the value: the scheduler can run it again if its worker dies.
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

    def _reduce(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]], how: Reduction
    ) -> Reduced:
        kept: list[Any] = []
        forests: list[list[Any]] = [[] for _ in range(max(how.n_totals, 1))]
        for span, group, futures in self._groups(task, calls):
            part = how._replace(run=span)
            done = self._submit_one(reduce_group, group, part, *futures, name=_name(task))
            if how.keep:
                kept += [Entry(done, (0, place)) for place in range(len(span))]
            for number, partial in enumerate(forests):  # separate results are sent separately
                partial.append(
                    done if how.parts_only else self._submit_one(entry, done, 1 + number)
                )
        totals = [self._total(partial, how.merge, how.leaves) for partial in forests]
        return Reduced(kept, totals if how.n_totals else totals[0])

    def _total(self, forests: list[Any], merge: Merge, leaves: int) -> Total:
        """Merge the partial sums of groups until few are left."""
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
        requests = [self._submit_one(entries, future, wanted) for future, wanted in paths.items()]
        sums = [handle.forests for handle in handles if isinstance(handle, Total)]
        found = iter(self._gather([*requests, *chain(*sums)]))
        parts = {future: iter(next(found)) for future in paths}

        def value(handle: Any) -> Any:
            if isinstance(handle, Entry):
                return next(parts[handle.future])
            if isinstance(handle, Total):
                return handle.merged(next(found) for _ in handle.forests)
            return handle

        return [value(handle) for handle in handles]

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        handles = self.submit(task, *arguments)
        groups = list(dict.fromkeys(handle.future for handle in handles))
        return [result for group in self._gather(groups) for result in group]

    def close(self) -> None:
        """Disconnect, stop the cluster if this engine started it, and remove temporary shards."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _groups(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]], count: int = 0
    ) -> Iterator[tuple[range, Group, list[Any]]]:
        """Yield groups of neighbouring calls, one per worker, and the futures each needs."""
        for span in spans(len(calls), count or len(self._workers)):
            yield span, *grouped(task, [calls[place] for place in span])

    def _calls(self, arguments: Sequence[Iterable[Any]]) -> list[tuple[Any, ...]]:
        """Return the arguments of each call, with shards where they are loaded."""
        return [tuple(map(self._located, call)) for call in super()._calls(arguments)]

    def _located(self, argument: Any) -> Any:
        """Return the entry where a shard is loaded; distribute shards again if workers changed."""
        if not isinstance(argument, ShardHandle):
            return argument
        shards, workers = argument.shards, frozenset(self._workers)
        if shards.workers != workers:
            shards.workers, shards.entries = workers, []
            for span in spans(len(shards.refs), len(self._workers)):
                loaded = self._submit_one(load_group, [shards.refs[place] for place in span])
                shards.entries += [Entry(loaded, (place,)) for place in range(len(span))]
        return shards.entries[argument.place]

    def _gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for futures and return their results."""
        self._wait(futures)
        # A worker can go away between the wait and the transfer; Dask alone would wait for ever.
        transfer = self._client.sync(self._begin_transfer, futures)

        def transferred() -> bool:
            self._client.sync(asyncio.wait, [transfer], timeout=_POLL_SECONDS)
            return bool(transfer.done())

        self._poll(transferred)
        try:
            return list(transfer.result())
        except _GONE as error:
            raise self._lost() from error

    async def _begin_transfer(self, futures: Sequence[Any]) -> Any:
        """Start to fetch results and return the task that does it."""
        transfer = asyncio.ensure_future(self._client.gather(list(futures), asynchronous=True))
        # Nobody asks for the result after Ctrl-C or SIGTERM; asyncio would print a traceback.
        transfer.add_done_callback(lambda done: done.cancelled() or done.exception())
        return transfer

    def _submit_one(self, function: Callable[..., Any], *arguments: Any, name: str = "") -> Any:
        """Submit one task and return its future."""
        with warnings.catch_warnings():
            # Large values are put into tasks on purpose: so they survive the death of a worker.
            warnings.filterwarnings("ignore", message="Sending large graph")
            key = f"{name or _name(function)}-{uuid.uuid4().hex}"  # Dask times tasks by name
            try:
                return self._client.submit(function, *arguments, key=key, pure=False)
            except _GONE as error:
                raise self._lost() from error

    def _wait(self, handles: Sequence[Any]) -> None:
        """Wait until all are done; raise an error if one of them failed."""

        def done() -> bool:
            try:
                with self._client.as_current():
                    self._dask.wait(handles, timeout=_POLL_SECONDS)
            except TimeoutError:
                return False
            return True

        self._poll(done)
        for handle in handles:
            if handle.status == "error":
                raise self._plain_error(handle.exception())
            if handle.status in ("cancelled", "lost"):
                raise self._lost()

    def _poll(self, done: Callable[[], bool]) -> None:
        """Call `done`, which waits for a short time, until it is true.

        Raises
        ------
        EngineError
            If the scheduler is gone, or no worker has been left for `patience` seconds.
        """
        alone_since: float | None = None
        while True:
            try:
                if done():
                    return
            except _GONE as error:
                raise self._lost() from error
            if self._client.status not in ("running", "newly-created"):
                raise self._lost()
            if self._client.nthreads():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > self.patience:
                raise EngineError(
                    f"all Dask workers are gone and none came back within {self.patience:g} s; "
                    "start workers and set `resume` to continue from the last checkpoint"
                )

    def _plain_error(self, error: BaseException) -> BaseException:
        """Return the error of a task, explained if it killed its workers."""
        if isinstance(error, self._dask.KilledWorker):
            return EngineError(
                "a task has killed several workers in a row, most often for lack of memory; give "
                "the workers more memory, or cut the data into more shards"
            )
        return error

    def _lost(self) -> EngineError:
        """Return the error for a scheduler that is gone."""
        return EngineError(
            "the Dask scheduler is gone; start it again and set `resume` to continue from the last "
            "checkpoint"
        )


def _name(function: Callable[..., Any]) -> str:
    """Return the name of a function for Dask's statistics."""
    return str(getattr(function, "__name__", "task"))


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


# --- the parts of a task: references into futures, groups of calls, sums -------------------------


class Entry(NamedTuple):
    """A handle: an entry of the result of a future."""

    future: Any
    path: tuple[int, ...] = ()


class ShardHandle(NamedTuple):
    """A handle: a shard of a data set."""

    shards: ShardSet
    place: int


@dataclass(eq=False)
class ShardSet:
    """The shards of a data set.

    One task loads a run of neighbours. Dask sends later work on them to the same worker, because
    it takes into account how many bytes it would have to move."""

    refs: list[ShardRef]
    workers: frozenset[str] | None = None  # among which they were last distributed
    entries: list[Entry] = field(default_factory=list)


class Total(NamedTuple):
    """A handle: partial sums of groups; the task that needs the total merges them."""

    forests: tuple[Any, ...]  # futures
    merge: Merge
    leaves: int

    def merged(self, forests: Iterable[Forest[Any]]) -> Any:
        """Return the total of the partial sums."""
        (root,) = merge_runs(forests, self.leaves, self.merge).values()
        return root


@dataclass(frozen=True)
class Group:
    """Calls of one task; handles among their arguments are references to its futures."""

    task: Callable[..., Any]
    calls: list[tuple[Any, ...]]

    def resolved(self, futures: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the calls with the values of their arguments."""
        finished: dict[tuple[int, ...], Any] = {}

        def resolve(argument: Any) -> Any:
            if isinstance(argument, _EntryReference):
                return follow_path(futures[argument.future], argument.path)
            if isinstance(argument, _TotalReference):
                if argument.places not in finished:
                    forests = (futures[place] for place in argument.places)
                    finished[argument.places] = argument.total.merged(forests)
                return finished[argument.places]
            return argument

        return [tuple(map(resolve, call)) for call in self.calls]


class _EntryReference(NamedTuple):
    """A reference to an entry of one of a group's futures."""

    future: int
    path: tuple[int, ...]


class _TotalReference(NamedTuple):
    """A reference to several futures and how to merge them."""

    places: tuple[int, ...]
    total: Total


def grouped(task: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> tuple[Group, list[Any]]:
    """Return a group of calls, and the distinct futures that its task needs.

    Dask finds futures only at the top level of a task's arguments, and sends each once."""
    slots: dict[Any, int] = {}

    def refer(value: Any) -> Any:
        if isinstance(value, Entry):
            return _EntryReference(slots.setdefault(value.future, len(slots)), value.path)
        if isinstance(value, Total):
            places = tuple(slots.setdefault(future, len(slots)) for future in value.forests)
            return _TotalReference(places, value._replace(forests=()))
        return value

    return Group(task, [tuple(map(refer, call)) for call in calls]), list(slots)


def load_group(refs: Sequence[ShardRef]) -> list[Any]:
    """Load neighbouring shards (a task)."""
    return list(map(read_shard, refs))


def run_group(group: Group, *futures: Any) -> list[Any]:
    """Run the calls of a group (a task)."""
    with _threads_of_worker() as threads:
        return threads.submit(group.task, *zip(*group.resolved(futures), strict=True))


def reduce_group(group: Group, how: Reduction, *futures: Any) -> Any:
    """Run the calls of a group and merge the parts of neighbours (a task).

    Return the merged parts; with `keep` or `n_totals` a tuple of what the calls keep and the
    merged parts, one per entry."""
    with _threads_of_worker() as threads:
        kept, forest = reduce_run(threads, group.task, group.resolved(futures), how)
    if not how.n_totals:
        return forest if how.parts_only else (kept, forest)
    return kept, *({node: part[i] for node, part in forest.items()} for i in range(how.n_totals))


def _threads_of_worker() -> LocalEngine:
    """Return an engine with the threads of this worker."""
    from distributed import get_worker

    return LocalEngine(get_worker().state.nthreads)


def join_groups(merge: Merge, leaves: int, *forests: Forest[Any]) -> Forest[Any]:
    """Merge partial sums of several groups (a task)."""
    return merge_runs(forests, leaves, merge)


def identity(value: Any) -> Any:
    """Return the value (a task that makes it available on a worker)."""
    return value


def entry(result: Any, *path: int) -> Any:
    """Return a part of a result, to be sent without the rest (a task)."""
    return follow_path(result, path)


def entries(result: Any, paths: Sequence[tuple[int, ...]]) -> list[Any]:
    """Return several parts of a result (a task)."""
    return [follow_path(result, path) for path in paths]


def follow_path(value: Any, path: Iterable[int]) -> Any:
    """Follow indices into nested sequences."""
    for place in path:
        value = value[place]
    return value
