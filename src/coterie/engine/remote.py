"""What a task of the Dask engine is made of: arguments that point into futures, groups, sums.

A group is a run of neighbouring shards computed by one task, whose parts are merged as far as the
fixed tree allows before anything travels. Nothing here names a worker, so none is waited for in
vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from coterie.engine.shards import Forest, merge_run, merge_runs
from coterie.engine.storage import ShardRef, read_shard

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

    def run(self, futures: Sequence[Any]) -> Iterable[Any]:
        """The results one after another."""
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

        for call in self.calls:
            yield self.task(*map(resolve, call))


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
    return list(group.run(futures))


def reduce_group(
    group: Group, merge: Merge, first: int, leaves: int, keep: bool, *futures: Any
) -> Any:
    """The parts of the calls merged as far as neighbours go; before them what the calls keep."""
    kept, forest = merge_run(group.run(futures), first, leaves, merge, keep)
    return (kept, forest) if keep else forest


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
