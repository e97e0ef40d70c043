"""The shortest description of a graph: model by model, and the choice between models."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, silent
from coterie.engine import Engine
from coterie.kernels.hard.statistics import Adjacency
from coterie.models.hard.description.search import DescriptionSearch, Trail
from coterie.models.hard.description.state import KINDS, multigraph, start_state
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.search.agglomerate import agglomerate

_START = 2.5  # the search starts with this many times sqrt(edges) blocks


@dataclass(frozen=True)
class Described:
    """The partition with the shortest description that was found."""

    objective: str
    labels: np.ndarray
    length: float
    history: list[Iteration]
    locally_optimal: bool
    interrupted: bool = False

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
    goal = int(min(n, max(8, math.ceil(_START * math.sqrt(m)))))
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
    return Described(name, labels, length, trail.history, optimal, interrupted)
