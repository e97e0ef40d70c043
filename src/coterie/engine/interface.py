"""What an engine can do: map pure functions over shards and merge what comes back.

A handle stands for a value that lives where the engine wants it: in this process, or with a worker.
Models pass handles on and never look inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from coterie.base.errors import CoterieError

Handle = Any


class EngineError(CoterieError):
    """The engine can do no more work (its workers or its scheduler are gone)."""


class Reduced(NamedTuple):
    """Handles of what tasks kept, in their order, and of the merged total (or totals)."""

    kept: list[Handle]
    total: Any


class Engine(Protocol):
    """Where work runs. Tasks are pure functions at the top level of a module."""

    @property
    def threads(self) -> int:
        """How many tasks run at once."""
        ...

    @property
    def most_shared(self) -> float:
        """Bytes of one value that every task may be given whole; models cut what is larger."""
        ...

    def scatter(self, parts: Sequence[Any]) -> list[Handle]:
        """Put the shards of a data set (named tuples of arrays) where tasks can load them."""
        ...

    def broadcast(self, value: Any) -> Handle:
        """One value that every task of an iteration reads."""
        ...

    def submit(
        self, task: Callable[..., Any], *arguments: Iterable[Any], one_task_each: bool = False
    ) -> list[Handle]:
        """`task` for each tuple of arguments (values or handles); the results stay in place.

        Neighbouring calls share one task; with `one_task_each` each call is a task of its own and
        its result can be sent alone."""
        ...

    def select(self, handles: Sequence[Handle], place: int) -> list[Handle]:
        """Entry `place` of each result, for tasks that return tuples."""
        ...

    def reduce(
        self,
        task: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        *arguments: Iterable[Any],
        keep: bool = False,
        n_totals: int = 0,
    ) -> Reduced:
        """`task` for each tuple of arguments, the results merged by a fixed tree on their way.

        With `keep` a task returns two things: what stays in place, and what is merged. With
        `n_totals` what is merged is a tuple of that length, and each entry gets its own total."""
        ...

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """The values of the handles, in their order."""
        ...

    def map(self, task: Callable[..., Any], *arguments: Iterable[Any]) -> list[Any]:
        """Submit and collect."""
        ...

    def close(self) -> None: ...


class Closing:
    """Closed at the end of a `with` block."""

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
