"""Progress of long computations: the library calls a callback and never prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Iteration(NamedTuple):
    """One entry of a model's `history_`.

    Parameters
    ----------
    iteration : int
        Number of the iteration.
    seconds : float
        Seconds since the start of the search.
    entropy : float
        Entropy of the state: for hard clustering after the moves of the iteration, for soft models
        of the state from which the iteration started.
    moved : int, optional
        Number of nodes that changed their block; None for soft models.

    Examples
    --------
    >>> Iteration(1, 0.25, 310.5, 42).moved
    42
    """

    iteration: int
    seconds: float
    entropy: float
    moved: int | None = None


class Progress(NamedTuple):
    """The progress of a long computation, as a callback receives it.

    Pass a function as `callback` to `fit`, `release` and other long calls. It is called with one
    of these after each step. An exception that it raises ends the computation; KeyboardInterrupt
    ends a fit with the best result so far.

    Parameters
    ----------
    stage : str
        What is being done: ``"compiling"``, ``"merging"``, ``"fit"``, ``"choosing"``,
        ``"checking"`` and others.
    done : int
        Number of steps done.
    total : int, optional
        Number of steps in total, or the maximum; None if unknown.
    entropy : float, optional
        Entropy of the present state, if there is one.
    note : str, default=""
        A short text for the user, such as the number of nodes moved.

    Examples
    --------
    >>> import coterie as ct
    >>> seen = []
    >>> g = ct.Graph.from_edges([0, 1], [1, 2])
    >>> model = ct.GeneralizedKMeans(1).fit(g, callback=seen.append)
    >>> sorted({progress.stage for progress in seen})
    ['checking', 'fit']
    """

    stage: str
    done: int
    total: int | None = None
    entropy: float | None = None
    note: str = ""


Callback = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Ignore progress: the default callback."""
