"""The parts of a task of the Dask engine: references into futures, groups of calls, sums.

A group is a run of neighbouring shards, one per worker. One task computes them on all threads of
its worker and merges the parts of neighbours before anything is sent. Tasks are not tied to a
worker, so none waits for a worker that is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coterie.engine.local import LocalEngine, reduce_run
from coterie.engine.shard_layout import Forest, Merge, Reduction, merge_runs
from coterie.engine.shard_storage import ShardRef, read_shard


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
