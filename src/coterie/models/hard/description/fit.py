"""The shortest description of a graph: model by model, and the choice between models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, silent
from coterie.engine import Engine
from coterie.kernels.hard.statistics import Adjacency
from coterie.models.hard.description.nested import fit_hierarchy, nested_length
from coterie.models.hard.description.search import DescriptionSearch, Trail
from coterie.models.hard.description.state import KINDS, multigraph, start_state
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.search.agglomerate import agglomerate

_START = 2.5  # the search starts with this many times sqrt(edges) blocks
_MOST_START = 4096  # … but with no more: the block matrix is dense
_NODES_PER_BLOCK = 4  # a hierarchy starts with blocks of about this many nodes


@dataclass(frozen=True)
class Described:
    """The partition with the shortest description that was found."""

    objective: str
    labels: np.ndarray
    length: float
    history: list[Iteration]
    locally_optimal: bool
    interrupted: bool = False
    levels: tuple[np.ndarray, ...] = ()  # of a hierarchy: labels of the nodes per level
    tried: dict[int, float] = field(default_factory=dict)  # number of blocks: shortest length

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return int(self.labels.max(initial=-1)) + 1


def description_length_of(objective: str, adjacency: Adjacency, labels: np.ndarray) -> float:
    """Return the description length of given labels in nats.

    >>> import networkx, coterie
    >>> from coterie.models.hard.objectives import degree_corrected
    >>> graph = coterie.Graph.from_networkx(networkx.karate_club_graph())
    >>> side = degree_corrected(graph).sides[0]
    >>> round(description_length_of("degree-corrected", side, np.zeros(34)), 1)
    222.9
    """
    graph = multigraph(adjacency.indptr, adjacency.indices)
    return start_state(KINDS[objective], graph, labels, spare=1).length()


def shortest_description(
    name: str,
    objective: BlockObjective,
    *,
    rng: Generator,
    engine: Engine,
    callback: Callback = silent,
) -> Described:
    """Search for the shortest description of a graph by one model.

    `objective` has the graph, and merges the single nodes at the beginning."""
    side = objective.sides[0]
    graph = multigraph(side.indptr, side.indices)
    n, m = objective.n_elements[0], len(side.indices) // 2
    if n == 0:
        return Described(name, np.zeros(0, np.int32), 0.0, [], True)
    trail = Trail(callback)
    goal = int(min(n, max(8, math.ceil(_START * math.sqrt(m))), _MOST_START))
    singles = (np.arange(n, dtype=np.int32),)
    labels = agglomerate(objective, singles, (goal,), rng, engine)[0]
    search = DescriptionSearch(start_state(KINDS[name], graph, labels), rng, trail)
    interrupted = False
    try:
        search.run()
    except KeyboardInterrupt:
        interrupted = True
    labels = renumber(search.best)
    one = start_state(KINDS[name], graph, np.zeros(n, np.int32)).length()
    if one < search.best_length:
        labels = np.zeros(n, np.int32)
    length = start_state(KINDS[name], graph, labels, spare=1).length()
    optimal = search.locally_optimal and not interrupted
    return Described(name, labels, length, trail.history, optimal, interrupted, tried=trail.lengths)


def nested_description(
    name: str,
    objective: BlockObjective,
    *,
    rng: Generator,
    engine: Engine,
    callback: Callback = silent,
) -> Described:
    """Search for the hierarchy of blocks with the shortest description."""
    side = objective.sides[0]
    graph = multigraph(side.indptr, side.indices)
    n = objective.n_elements[0]
    if n == 0:
        empty = np.zeros(0, np.int32)
        return Described(name, empty, 0.0, [], True, levels=(empty,))
    goal = min(n, max(8, min(n // _NODES_PER_BLOCK, _MOST_START)))
    singles = (np.arange(n, dtype=np.int32),)
    start = agglomerate(objective, singles, (goal,), rng, engine)[0]
    found = fit_hierarchy(KINDS[name], graph, [start], rng=rng, callback=callback)
    one = [np.zeros(n, np.int32), np.zeros(1, np.int32)]
    if nested_length(KINDS[name], graph, one) < found.length:
        found.levels, found.length = one, nested_length(KINDS[name], graph, one)
    nodes = [found.levels[0]]
    for groups in found.levels[1:]:
        nodes.append(groups[nodes[-1]])
    shown = [z for z in nodes if z.max() > 0] or nodes[:1]
    return Described(
        name,
        nodes[0],
        found.length,
        found.history,
        found.locally_optimal,
        found.interrupted,
        tuple(shown),
    )
