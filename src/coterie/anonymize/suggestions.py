"""Parameters that would make a refused release acceptable: those that keep most of the original.

Each is tried with a whole release before it is suggested, so the number of trials is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from coterie.anonymize.policy import Policy
from coterie.anonymize.settings_search import SettingsSearch, Trial
from coterie.base.progress import Callback, Progress
from coterie.data import Graph

MAX_TRIALS = 5
_BLOCK_TRIALS = 3  # of which so many look for the largest number of blocks that passes
_LOWER_PROBABILITY = 0.6  # times the limit of the policy
_LARGER_CLASSES = 2  # times the required size

ALTERNATIVE = (
    "the alternative is a differentially private release (coterie sketch, or `epsilon=1` with "
    "`nodes`): it bounds what anybody can learn about an edge, whatever they know, and keeps less "
    "of the network"
)


class Change(NamedTuple):
    """Parameters of the anonymizer to change; None leaves one as it is."""

    min_class_size: int | None = None
    max_edge_probability: float | None = None
    n_blocks: int | None = None

    def parameters(self) -> dict[str, float]:
        """Return the changed parameters by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def text(self) -> str:
        """Return the changed parameters between backticks.

        >>> Change(min_class_size=10, n_blocks=15).text()
        '`min_class_size=10` `n_blocks=15`'
        """
        return " ".join(f"`{name}={value:g}`" for name, value in self.parameters().items())


class SearchSpace(NamedTuple):
    """Where to look for parameters that pass."""

    needed: Change  # without these changes no release passes
    n_blocks: int  # the refused number of blocks
    most_blocks: int  # the largest number with room for classes of the required size
    edge_probability: float  # a lower value of `max_edge_probability`
    class_size: int  # a larger value of `min_class_size`


def search_space(
    graph: Graph, policy: Policy, *, n_blocks: int, min_class_size: int, max_edge_probability: float
) -> SearchSpace | None:
    """Return where to look for parameters that pass; None if the graph is too small."""
    least = max(min_class_size, policy.min_class_size)
    if graph.n_nodes < 2 * least or not graph.n_edges:
        return None
    needed = Change()
    if least > min_class_size:
        needed = needed._replace(min_class_size=least)
    if max_edge_probability > policy.edge_probability:
        needed = needed._replace(max_edge_probability=round(0.95 * policy.edge_probability, 3))
    lower = min(max_edge_probability, policy.edge_probability)
    return SearchSpace(
        needed,
        n_blocks,
        graph.n_nodes // (2 * least),
        round(_LOWER_PROBABILITY * lower, 3),
        _LARGER_CLASSES * least,
    )


def suggest(
    space: SearchSpace | None, attempt: Callable[[Change], Trial], callback: Callback
) -> list[str]:
    """Try changes and describe the one that passes and keeps most; name the alternative too.

    If the changes that are needed anyway suffice, nothing else is tried. Otherwise the number of
    blocks is halved and halved again between the last that passed and the last that did not, and
    then denser cells and smaller classes are forbidden with all blocks.
    """

    def announced(change: Change) -> Trial:
        callback(Progress("trying other parameters", len(search.trials), note=change.text()))
        return attempt(change)

    search = SettingsSearch(announced)
    if space is not None:
        search.run(_changes(space, search.passes), most=MAX_TRIALS)
    if search.best is not None:
        n = len(search.accepted)
        more = f"; of {n} settings that pass it keeps most" if n > 1 else ""
        return [f"{search.best.text()} would pass (tried){more}", ALTERNATIVE]
    tried = "; ".join(change.text() for change in search.trials)
    return [*([f"tried without success: {tried}"] if tried else []), ALTERNATIVE]


def _changes(space: SearchSpace, passes: Callable[[Change], bool]) -> Iterator[Change]:
    """Yield the changes to try, those that need the least work first."""
    needed, enough = space.needed, space.n_blocks <= space.most_blocks
    if needed != Change() and enough:
        yield needed
        if passes(needed):
            return
    high = space.n_blocks if enough else space.most_blocks + 1  # does not pass
    low = 0
    for trial in range(_BLOCK_TRIALS):
        k = high - 1 if trial == 0 and not enough else (low + high) // 2
        if k <= low:
            break
        yield needed._replace(n_blocks=k)
        if passes(needed._replace(n_blocks=k)):
            low = k
        else:
            high = k
    if enough:
        yield needed._replace(max_edge_probability=space.edge_probability)
        yield needed._replace(min_class_size=space.class_size)
