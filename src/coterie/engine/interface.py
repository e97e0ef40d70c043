"""The methods of an engine: map pure functions over shards and merge the results.

A handle stands for a value that the engine stores: in this process, or on a worker. Models pass
handles to the engine and never look inside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

from coterie.base.errors import CoterieError
from coterie.engine.shard_layout import Reduction

Handle = Any


class EngineError(CoterieError):
    """The engine cannot continue: its workers or its scheduler are gone."""


class Reduced(NamedTuple):
    """Handles of the results that tasks keep, in order, and of the merged total (or totals)."""

    kept: list[Handle]
    total: Any


class Engine(ABC):
    """The place where work runs. Tasks are pure functions at the top level of a module.

    `LocalEngine` and `DaskEngine` say where values are stored and how tasks are called.
    """

    @property
    @abstractmethod
    def threads(self) -> int:
        """Number of tasks that run at once."""

    @abstractmethod
    def scatter(self, parts: Sequence[Any]) -> list[Handle]:
        """Store the shards of a data set where tasks can load them.

        Parameters
        ----------
        parts : sequence of named tuples
            The shards, or references to stored shards.

        Returns
        -------
        list
            One handle per shard.
        """

    @abstractmethod
    def broadcast(self, value: Any) -> Handle:
        """Store one value that every task of an iteration reads.

        Parameters
        ----------
        value : object
            The value.

        Returns
        -------
        object
            Its handle.
        """

    @abstractmethod
    def submit(
        self, task: Callable[..., Any], *arguments: Iterable[Any], one_task_each: bool = False
    ) -> list[Handle]:
        """Call a task for each tuple of arguments. Neighbouring calls may share one task.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module.
        *arguments : iterables
            One iterable of values or handles per argument of the task.
        one_task_each : bool, default=False
            Whether every call is a separate task, so that its result can be sent separately.

        Returns
        -------
        list
            One handle per call.
        """

    @abstractmethod
    def select(self, handles: Sequence[Handle], place: int) -> list[Handle]:
        """Return handles of one entry of each result, for tasks that return tuples.

        Parameters
        ----------
        handles : sequence
            Handles of results.
        place : int
            Index of the entry.

        Returns
        -------
        list
            One handle per result.
        """

    def reduce(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        *arguments: Iterable[Any],
        keep: bool = False,
        n_totals: int = 0,
    ) -> Reduced:
        """Call a task for each tuple of arguments and merge the results in a fixed order.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module.
        merge : callable
            Merges two results.
        *arguments : iterables
            One iterable of values or handles per argument of the task.
        keep : bool, default=False
            Whether the task returns a result to keep in addition to the part that is merged.
        n_totals : int, default=0
            If positive, the part is a tuple of that length and each entry has its own total.

        Returns
        -------
        Reduced
            Handles of the kept results and of the total or totals.
        """
        calls = self._calls(arguments)
        how = Reduction(merge, range(len(calls)), len(calls), keep, n_totals)
        return self._reduce(task, calls, how)

    @abstractmethod
    def _reduce(
        self, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]], how: Reduction
    ) -> Reduced:
        """Make all calls of a reduction and merge their results."""

    def _calls(self, arguments: Sequence[Iterable[Any]]) -> list[tuple[Any, ...]]:
        """Return the arguments of each call."""
        return list(zip(*arguments, strict=False))

    @abstractmethod
    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the values of handles.

        Parameters
        ----------
        handles : sequence
            Handles of any kind.

        Returns
        -------
        list
            One value per handle.
        """

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call a task for each tuple of arguments and return the results.

        Parameters
        ----------
        task : callable
            A pure function at the top level of a module.
        *arguments : iterables
            One iterable of values or handles per argument of the task.

        Returns
        -------
        list
            One result per call.
        """
        return self.gather(self.submit(task, *arguments))

    @abstractmethod
    def close(self) -> None:
        """Release threads, workers and temporary files; the engine cannot be used any more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.close()
