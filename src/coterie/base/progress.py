"""How long work tells what it is doing: the library calls a callback and never prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Iteration(NamedTuple):
    """One entry of a model's `history_`.

    `entropy` is that of the state the iteration started from, unless the model says otherwise;
    `moved` counts the nodes that changed their block (None for soft models).
    """

    iteration: int
    seconds: float
    entropy: float
    moved: int | None = None


class Progress(NamedTuple):
    """What a callback receives: a stage ("fit", "compiling", "attack" …) and how far it is."""

    stage: str
    done: int
    total: int | None = None
    entropy: float | None = None
    note: str = ""


Callback = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """The callback that does nothing."""
