"""What a task of the Dask engine is made of: arguments that point into futures, groups, sums.

A group is a run of neighbouring shards computed by one task, whose parts are merged as far as the
fixed tree allows before anything travels. Nothing here names a worker, so none is waited for in
vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from coterie.engine.shards import Forest, merge_forest
from coterie.engine.storage import ShardRef, load_shard

Merge = Callable[[Any, Any], Any]


class Entry(NamedTuple):
    """A handle: a place in the result of a future."""

    future: Any
    path: tuple[int, ...] = ()


class Total(NamedTuple):
    """A handle: the sum of what groups have made, finished by whoever needs it."""

    forests: tuple[Any, ...]  # futures
    merge: Merge
    leaves: int

    def of(self, forests: Iterable[Forest[Any]]) -> Any:
        (root,) = joined(self.merge, self.leaves, *forests).values()
        return root


@dataclass(frozen=True)
class Group:
    """Calls of one task; arguments that are handles have become places among its futures."""

    task: Callable[..., Any]
    calls: list[tuple[Any, ...]]

    def run(self, futures: Sequence[Any]) -> Iterable[Any]:
        """The results one after another; shards are loaded (and kept) by this process."""
        finished: dict[tuple[int, ...], Any] = {}

        def resolve(argument: Any) -> Any:
            if isinstance(argument, _Place):
                argument = argument.found(futures)
            elif isinstance(argument, _Sum):
                if argument.places not in finished:
                    finished[argument.places] = argument.found(futures)
                argument = finished[argument.places]
            return load_shard(argument) if isinstance(argument, ShardRef) else argument

        for call in self.calls:
            yield self.task(*map(resolve, call))


class _Place(NamedTuple):
    future: int
    path: tuple[int, ...]

    def found(self, futures: Sequence[Any]) -> Any:
        return at(futures[self.future], self.path)


class _Sum(NamedTuple):
    places: tuple[int, ...]
    total: Total

    def found(self, futures: Sequence[Any]) -> Any:
        return self.total.of(futures[place] for place in self.places)


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


def run_group(group: Group, *futures: Any) -> list[Any]:
    return list(group.run(futures))


def reduce_group(
    group: Group, merge: Merge, first: int, leaves: int, keep: bool, *futures: Any
) -> Any:
    """The parts of the calls merged as far as neighbours go; before them what the calls keep."""
    kept: list[Any] = []
    forest: Forest[Any] = {}
    for number, result in enumerate(group.run(futures), first):
        part = result
        if keep:
            own, part = result
            kept.append(own)
        forest[0, number] = part
        merge_forest(forest, leaves, merge)
    return (kept, forest) if keep else forest


def joined(merge: Merge, leaves: int, *forests: Forest[Any]) -> Forest[Any]:
    """Several forests grown together."""
    whole = {node: part for forest in forests for node, part in forest.items()}
    merge_forest(whole, leaves, merge)
    return whole


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
