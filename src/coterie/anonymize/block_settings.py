"""Find the blocks with which exact degrees disclose no more edges than the policy allows.

Somebody who knows exact degrees knows who the best-connected people of a block are. If these are
nearly all connected with each other, he can name their edges. In most networks that is so whether
or not an edge is in the data, and nothing needs to be done. Otherwise there are three remedies.
Fewer blocks cost little where blocks divide communities, and much where every block is a community:
there it is better to merge the blocks with the largest such cores with one other block each. If the
number of blocks was given, or neither suffices, the largest cores of blocks are diluted with people
of similar degree, no more than necessary, because it costs communities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.risk.disclosure import degree_disclosure
from coterie.anonymize.risk.left_out_edges import LeftOutEdges
from coterie.data import Graph

_FEWER_BLOCKS = (2, 4)  # divisors of the number of blocks
# Cores with this many times the allowed share of the edges are merged, or diluted.
_CORES = (1.0, 0.5, 0.2, 0.0)


class BlockSettings(NamedTuple):
    """How blocks are made."""

    n_blocks: int
    core_share: float = np.inf  # cores with at least this share of all edges are diluted, or …
    merge_cores: bool = False  # … their blocks are merged with others


def possible_settings(
    n_blocks: int, allowed: float, *, fewer: bool, communities: bool = False
) -> list[BlockSettings]:
    """Return settings that disclose less, those that keep most first.

    `fewer`: whether the number of blocks may change. `communities`: whether it was chosen so that
    every community has a block; then merging a few blocks keeps more than halving their number.

    >>> [settings.n_blocks for settings in possible_settings(8, 0.02, fewer=True)]
    [4, 2, 8, 8, 8, 8, 8, 8, 8, 8]
    """
    merged = [BlockSettings(n_blocks, step * allowed, merge_cores=True) for step in _CORES]
    divided = [BlockSettings(n_blocks // by) for by in _FEWER_BLOCKS if n_blocks // by > 1]
    diluted = [BlockSettings(n_blocks, step * allowed) for step in _CORES]
    if not fewer:
        return diluted
    return (merged + divided if communities else divided + merged) + diluted


def first_sufficient(
    graph: Graph,
    settings: list[BlockSettings],
    allowed: float,
    certainty: float,
    classes: Callable[[BlockSettings], Classes],
    left_out: Callable[[BlockSettings], LeftOutEdges | None],
) -> BlockSettings | None:
    """Return the first settings with which the attacker names few enough edges, or None.

    `classes` and `left_out` give the classes and the control for settings.
    """
    for tried in settings:
        control = left_out(tried)
        samples = () if control is None else control.samples
        found = degree_disclosure(graph, classes(tried), certainty, samples)
        if found.disclosed <= allowed:
            return tried
    return None


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
