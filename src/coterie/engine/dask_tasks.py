"""What a task of the Dask engine is made of: arguments that point into futures, groups, sums.

A group is a run of neighbouring shards, one for each worker: one task computes them on all threads
of its worker and merges their parts as far as the fixed tree allows before anything travels.
Nothing here names a worker, so none is waited for in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coterie.engine.local import LocalEngine
from coterie.engine.shard_layout import Forest, merge_each, merge_runs
from coterie.engine.shard_storage import ShardRef, read_shard

Merge = Callable[[Any, Any], Any]


class Entry(NamedTuple):
    """A handle: a place in the result of a future."""

    future: Any
    path: tuple[int, ...] = ()


class Held(NamedTuple):
    """A handle: a shard of a data set."""

    holding: Holding
    place: int

    @property
    def ref(self) -> ShardRef:
        return self.holding.refs[self.place]


@dataclass(eq=False)
class Holding:
    """The shards of a data set. A run of neighbours is loaded by one task, and where that ran is
    where work on them goes: Dask counts the bytes that it would have to move."""

    refs: list[ShardRef]
    workers: frozenset[str] | None = None  # among whom they were last shared out
    entries: list[Entry] = field(default_factory=list)


class Total(NamedTuple):
    """A handle: the sum of what groups have made, finished by whoever needs it."""

    forests: tuple[Any, ...]  # futures
    merge: Merge
    leaves: int

    def of(self, forests: Iterable[Forest[Any]]) -> Any:
        (root,) = merge_runs(forests, self.leaves, self.merge).values()
        return root


@dataclass(frozen=True)
class Group:
    """Calls of one task; arguments that are handles have become places among its futures."""

    task: Callable[..., Any]
    calls: list[tuple[Any, ...]]

    def resolved(self, futures: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The calls with the values of their arguments."""
        finished: dict[tuple[int, ...], Any] = {}

        def resolve(argument: Any) -> Any:
            if isinstance(argument, _Place):
                return at(futures[argument.future], argument.path)
            if isinstance(argument, _Sum):
                if argument.places not in finished:
                    forests = (futures[place] for place in argument.places)
                    finished[argument.places] = argument.total.of(forests)
                return finished[argument.places]
            return argument

        return [tuple(map(resolve, call)) for call in self.calls]


class _Place(NamedTuple):
    future: int
    path: tuple[int, ...]


class _Sum(NamedTuple):
    places: tuple[int, ...]
    total: Total


def grouped(task: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> tuple[Group, list[Any]]:
    """A group of calls, and the distinct futures that its task must be given.

    Dask finds futures only at the top level of a task's arguments, and sends each once."""
    slots: dict[Any, int] = {}

    def refer(value: Any) -> Any:
        if isinstance(value, Entry):
            return _Place(slots.setdefault(value.future, len(slots)), value.path)
        if isinstance(value, Total):
            places = tuple(slots.setdefault(future, len(slots)) for future in value.forests)
            return _Sum(places, value._replace(forests=()))
        return value

    return Group(task, [tuple(map(refer, call)) for call in calls]), list(slots)


def load_group(refs: Sequence[ShardRef]) -> list[Any]:
    return list(map(read_shard, refs))


def run_group(group: Group, *futures: Any) -> list[Any]:
    with _threads_of_worker() as threads:
        return threads.submit(group.task, *zip(*group.resolved(futures), strict=True))


class Reduction(NamedTuple):
    """How the parts of a group are merged."""

    merge: Merge
    run: range  # the group's calls among all
    leaves: int  # all calls
    keep: bool
    n_totals: int

    @property
    def alone(self) -> bool:
        """Whether the merged parts are all that a group makes."""
        return not (self.keep or self.n_totals)


def reduce_group(group: Group, how: Reduction, *futures: Any) -> Any:
    """The parts merged as far as neighbours go; or first what the calls keep, then that, `n_totals`
    once for each entry of the parts."""
    merge = merge_each(how.merge) if how.n_totals else how.merge
    with _threads_of_worker() as threads:
        kept, forest = threads.reduce_run(
            group.task, group.resolved(futures), merge, how.run, how.leaves, how.keep
        )
    if not how.n_totals:
        return forest if how.alone else (kept, forest)
    return kept, *({node: part[i] for node, part in forest.items()} for i in range(how.n_totals))


def _threads_of_worker() -> LocalEngine:
    from distributed import get_worker

    return LocalEngine(get_worker().state.nthreads)


def join_groups(merge: Merge, leaves: int, *forests: Forest[Any]) -> Forest[Any]:
    return merge_runs(forests, leaves, merge)


def identity(value: Any) -> Any:
    return value


def entry(result: Any, *path: int) -> Any:
    """A part of a result, to travel without the rest."""
    return at(result, path)


def entries(result: Any, paths: Sequence[tuple[int, ...]]) -> list[Any]:
    return [at(result, path) for path in paths]


def at(value: Any, path: Iterable[int]) -> Any:
    for place in path:
        value = value[place]
    return value
