"""Find the blocks with which exact degrees disclose no more edges than the policy allows.

Somebody who knows exact degrees knows who the best-connected people of a block are. If these are
nearly all connected with each other, he can name their edges. In most networks that is so whether
or not an edge is in the data, and nothing needs to be done. Otherwise there are three remedies.
Fewer blocks cost little where blocks divide communities, and much where every block is a community:
there it is better to merge the blocks with the largest such cores with one other block each. The
largest cores of blocks can also be diluted with people of similar degree, which costs communities.
Of the remedies that suffice, the one whose blocks have the largest modularity is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.risk.disclosure import degree_disclosure
from coterie.anonymize.risk.left_out_edges import LeftOutEdges
from coterie.anonymize.settings_search import SettingsSearch, Trial
from coterie.anonymize.utility.communities import modularity
from coterie.data import Graph

_FEWER_BLOCKS = (2, 4)  # divisors of the number of blocks
# Cores with this many times the allowed share of the edges are merged, or diluted.
_CORES = (1.0, 0.5, 0.2, 0.0)


class BlockSettings(NamedTuple):
    """How blocks are made."""

    n_blocks: int
    core_share: float = np.inf  # cores with at least this share of all edges are diluted, or …
    merge_cores: bool = False  # … their blocks are merged with others


def possible_settings(n_blocks: int, allowed: float, *, fewer: bool) -> list[list[BlockSettings]]:
    """Return remedies that disclose less: fewer blocks, merged cores, diluted cores.

    Each is a list of settings, those that change least first. `fewer`: whether the number of blocks
    may change; otherwise only cores are diluted.

    >>> fewer, merged, diluted = possible_settings(8, 0.02, fewer=True)
    >>> [settings.n_blocks for settings in fewer], len(merged), len(diluted)
    ([4, 4, 2, 2], 4, 4)
    """
    divided = [
        BlockSettings(n_blocks // by, share, merge_cores=merge)
        for by in _FEWER_BLOCKS
        if n_blocks // by > 1
        for share, merge in ((np.inf, False), (0.0, True))
    ]
    merged = [BlockSettings(n_blocks, step * allowed, merge_cores=True) for step in _CORES]
    diluted = [BlockSettings(n_blocks, step * allowed) for step in _CORES]
    return [divided, merged, diluted] if fewer else [diluted]


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
