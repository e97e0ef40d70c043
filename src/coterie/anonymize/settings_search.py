"""Try settings of a release one by one, each once, and keep the one that passes and keeps most.

What differs between searches is which settings are tried, and when it is enough: other parameters
after a refusal (`suggest`, each tried with a whole release), other blocks (`first_sufficient`), the
application's chart.

Why other blocks: somebody who knows exact degrees knows who the best-connected people of a block
are. If these are nearly all connected with each other, he can name their edges. In most networks
that is so whether or not an edge is in the data, and nothing needs to be done. Otherwise there are
three remedies. Fewer blocks cost little where blocks divide communities, and much where every block
is a community: there it is better to merge the blocks with the largest such cores with one other
block each. The largest cores of blocks can also be diluted with people of similar degree, which
costs communities. Of the remedies that suffice, the one whose blocks have the largest modularity is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.policy import Policy
from coterie.anonymize.risk.disclosure import degree_disclosure
from coterie.anonymize.risk.left_out_edges import LeftOutEdges
from coterie.anonymize.utility.communities import modularity
from coterie.base.progress import Callback, Progress
from coterie.data import Graph

if TYPE_CHECKING:
    from coterie.anonymize.utility.release_utility import Utility


Setting = TypeVar("Setting", bound=Hashable)


class Trial(NamedTuple):
    """A trial release: whether it was refused, and how much it keeps of the original."""

    refused: bool
    not_kept: int = 0  # measures outside their tolerance
    communities: float = 0.0  # modularity of its communities in the original; 1: as the original's

    @classmethod
    def of(cls, *, refused: bool, utility: Utility | None) -> Trial:
        """Return the outcome of a trial release; one that could not be drawn has no utility."""
        if utility is None:
            return cls(refused)
        return cls(refused, len(utility.not_kept), utility.communities.foreign_share)

    def keeps(self) -> tuple[int, float]:
        """Return a key that is larger for a release that keeps more."""
        return -self.not_kept, self.communities


class SettingsSearch(Generic[Setting]):
    """The settings that were tried, in this order, and what came of them."""

    def __init__(self, attempt: Callable[[Setting], Trial]) -> None:
        self._attempt = attempt
        self.trials: dict[Setting, Trial] = {}

    def passes(self, setting: Setting) -> bool:
        """Return whether a setting passes; it is tried the first time only."""
        if setting not in self.trials:
            self.trials[setting] = self._attempt(setting)
        return not self.trials[setting].refused

    def run(
        self,
        settings: Iterable[Setting],
        *,
        most: int | None = None,
        enough: Callable[[bool], bool] = lambda passed: False,
    ) -> None:
        """Try settings until there are `most` trials, or `enough` says so after one of them."""
        for setting in settings:
            if len(self.trials) == most or enough(self.passes(setting)):
                break

    @property
    def accepted(self) -> list[Setting]:
        """The settings that pass."""
        return [setting for setting, trial in self.trials.items() if not trial.refused]

    @property
    def best(self) -> Setting | None:
        """The setting that passes and keeps most, the first of equal ones; None if none passes."""
        return max(self.accepted, key=lambda setting: self.trials[setting].keeps(), default=None)


_FEWER_BLOCKS = (2, 3, 4)  # divisors of the number of blocks
# Cores with this many times the allowed share of the edges are merged, or diluted.
_CORES = (1.0, 0.5, 0.2, 0.0)


class BlockSettings(NamedTuple):
    """How blocks are made."""

    n_blocks: int
    core_share: float = np.inf  # cores with at least this share of all edges are diluted, or …
    merge_cores: bool = False  # … their blocks are merged with others


def possible_settings(n_blocks: int, allowed: float, *, fewer: bool) -> list[list[BlockSettings]]:
    """Return remedies that disclose less: fewer blocks, also with merged cores, merged or diluted
    cores.

    Each is a list of settings, those that change least first. `fewer`: whether the number of blocks
    may change; otherwise only cores are diluted.

    >>> fewer, both, merged, diluted = possible_settings(9, 0.02, fewer=True)
    >>> [settings.n_blocks for settings in fewer], len(both), len(merged), len(diluted)
    ([4, 3, 2], 3, 4, 4)
    """
    numbers = [n_blocks // by for by in _FEWER_BLOCKS if n_blocks // by > 1]
    divided = [BlockSettings(number) for number in numbers]
    both = [BlockSettings(number, 0.0, merge_cores=True) for number in numbers]
    merged = [BlockSettings(n_blocks, step * allowed, merge_cores=True) for step in _CORES]
    diluted = [BlockSettings(n_blocks, step * allowed) for step in _CORES]
    return [divided, both, merged, diluted] if fewer else [diluted]


def first_sufficient(
    graph: Graph,
    remedies: list[list[BlockSettings]],
    allowed: float,
    certainty: float,
    classes: Callable[[BlockSettings], Classes],
    left_out: Callable[[BlockSettings], LeftOutEdges | None],
) -> BlockSettings | None:
    """Return the settings with which the attacker names few enough edges, or None.

    Those whose blocks have the largest modularity are tried first, but of one remedy those that
    change least. `classes` and `left_out` give the classes and the control for settings.
    """
    classes = cache(classes)

    def attempt(tried: BlockSettings) -> Trial:
        control = left_out(tried)
        samples = () if control is None else control.samples
        found = degree_disclosure(graph, classes(tried), certainty, samples)
        return Trial(refused=found.disclosed > allowed)

    search = SettingsSearch(attempt)
    search.run(_by_modularity(graph, remedies, classes), enough=bool)
    return search.best


def _by_modularity(
    graph: Graph,
    remedies: list[list[BlockSettings]],
    classes: Callable[[BlockSettings], Classes],
) -> list[BlockSettings]:
    """Return all settings in the order in which to try them."""
    if len(remedies) == 1:
        return remedies[0]
    ranked: list[tuple[float, BlockSettings]] = []
    for remedy in remedies:
        lowest = np.inf  # a stronger change of the same kind never comes first
        for settings in remedy:
            lowest = min(lowest, modularity(graph, classes(settings).block))
            ranked.append((lowest, settings))
    return [settings for _, settings in sorted(ranked, key=lambda pair: -pair[0])]


class RememberedLabels:
    """The blocks of graphs that were clustered before: other classes need no new clustering."""

    def __init__(self) -> None:
        self._labels: dict[tuple[int, int, int], np.ndarray] = {}

    def get(
        self, graph: Graph, n_blocks: int, cluster: Callable[[Graph, int], np.ndarray]
    ) -> np.ndarray:
        """Return the blocks of a graph, which is clustered only the first time."""
        key = (hash(graph.indptr.tobytes()), hash(graph.indices.tobytes()), n_blocks)
        if key not in self._labels:
            self._labels[key] = cluster(graph, n_blocks)
        return self._labels[key]


MAX_TRIALS = 5
_BLOCK_TRIALS = 3  # of which so many look for the largest number of blocks that passes
_LOWER_PROBABILITY = 0.6  # times the limit of the policy
_LARGER_CLASSES = 2  # times the required size

ALTERNATIVE = (
    "the alternative is a differentially private release (coterie sketch, or `epsilon=1` with "
    "`nodes`): it bounds how much any single edge can change what is published, and keeps "
    "less of the network"
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
    space: SearchSpace | None,
    attempt: Callable[[Change], Trial],
    callback: Callback,
    most: int = MAX_TRIALS,
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
        search.run(_changes(space, search.passes), most=most)
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
