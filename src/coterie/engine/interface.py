"""The methods of an engine: map pure functions over shards and merge the results.

A handle stands for a value that the engine stores: in this process, or on a worker. Models pass
handles to the engine and never look inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from coterie.base.errors import CoterieError

Handle = Any


class EngineError(CoterieError):
    """The engine cannot continue: its workers or its scheduler are gone."""


class Reduced(NamedTuple):
    """Handles of the results that tasks keep, in order, and of the merged total (or totals)."""

    kept: list[Handle]
    total: Any


class Engine(Protocol):
    """The place where work runs. Tasks are pure functions at the top level of a module.

    `LocalEngine` and `DaskEngine` have these methods.
    """

    @property
    def threads(self) -> int:
        """Number of tasks that run at once."""
        ...

    @property
    def max_broadcast_bytes(self) -> float:
        """Size up to which a value is sent to every task whole; models cut larger ones."""
        ...

    def scatter(self, parts: Sequence[Any]) -> list[Handle]:
        """Store the shards of a data set (named tuples of arrays) where tasks can load them."""
        ...

    def broadcast(self, value: Any) -> Handle:
        """Store one value that every task of an iteration reads."""
        ...

    def submit(
        self, task: Callable[..., Any], *arguments: Iterable[Any], one_task_each: bool = False
    ) -> list[Handle]:
        """Call `task` for each tuple of arguments (values or handles); return handles.

        Neighbouring calls may share one task. With `one_task_each` every call is a separate task,
        so that its result can be sent separately."""
        ...

    def select(self, handles: Sequence[Handle], place: int) -> list[Handle]:
        """Return handles of entry `place` of each result, for tasks that return tuples."""
        ...

    def reduce(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        *arguments: Iterable[Any],
        keep: bool = False,
        n_totals: int = 0,
    ) -> Reduced:
        """Call `task` for each tuple of arguments and merge the results in a fixed order.

        With `keep` a task returns two things: a result that stays where it is, and a part that is
        merged. With `n_totals` the part is a tuple of that length, and each entry has its own
        total."""
        ...

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the values of the handles, in order."""
        ...

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Call `task` for each tuple of arguments; return the results."""
        ...

    def close(self) -> None:
        """Release threads, workers and temporary files."""
        ...


class ContextManaged:
    """Makes an object usable in a `with` block, which closes it at the end."""

    def close(self) -> None:
        """Release what the object uses."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
