"""The shortest description of a graph: model by model, and the choice between models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, Iteration, silent
from coterie.base.special_functions import gammaln
from coterie.engine import Engine
from coterie.kernels.hard.description_state import NEVER, Multigraph
from coterie.kernels.hard.statistics import Adjacency
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels
from coterie.models.hard.description.nested import HierarchyFit, nested_length
from coterie.models.hard.description.search import FLAT, DescriptionSearch, Strategy, Trail
from coterie.models.hard.description.state import (
    KINDS,
    DescriptionData,
    allowed_labels,
    multigraph,
    start_state,
)
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.saved_search import SearchSaver, check_labels
from coterie.models.hard.search.agglomerate import agglomerate

_START = 2.5  # the search starts with this many times sqrt(edges) blocks
_MOST_START = 4096  # … but with no more: the block matrix is dense


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
    work: float = 0.0  # of the search

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return int(self.labels.max(initial=-1)) + 1

    def check(self, n: int) -> None:
        """Raise ArrayError if labels from a file are not those of n nodes."""
        everything = (self.labels, *self.levels)
        check_labels(everything, (n,) * len(everything))


@dataclass(frozen=True)
class DescriptionRun:
    """What every search for a description is given."""

    rng: Generator
    engine: Engine
    callback: Callback = silent
    saver: SearchSaver = field(default_factory=SearchSaver)  # saves it, or continues a saved one
    effort: float = 1.0
    start: np.ndarray | None = None  # labels to begin with
    ties: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))  # see Multigraph
    categories: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def constrained(self) -> bool:
        """Whether some nodes may not be in any block."""
        return len(self.ties) + len(self.categories) > 0

    def constrain(self, graph: Multigraph, labels: np.ndarray) -> tuple[Multigraph, np.ndarray]:
        """Return the graph with the constraints, and labels that respect them."""
        if not self.constrained:
            return graph, labels
        graph = graph._replace(ties=self.ties, categories=self.categories)
        return graph, allowed_labels(graph, labels)


def undirected_data(name: str, adjacency: Adjacency) -> DescriptionData:
    """Return the data of a description; whole weights are numbers of edges.

    >>> import networkx, coterie
    >>> from coterie.models.hard.costs import degree_corrected
    >>> graph = coterie.Graph.from_networkx(networkx.karate_club_graph())
    >>> data = undirected_data("degree-corrected", degree_corrected(graph).sides[0])
    >>> round(data.length(np.zeros(34)), 1)
    222.9
    """
    kind = KINDS["simple" if name == "weighted" else name]
    if not len(adjacency.weights):
        return DescriptionData(kind, multigraph(adjacency.indptr, adjacency.indices))
    weights = adjacency.weights.astype(np.int64)
    repeats = float(gammaln(adjacency.weights + 1).sum()) / 2  # the log of w! per pair
    return DescriptionData(kind, multigraph(adjacency.indptr, adjacency.indices, weights), repeats)


class _Merging(NamedTuple):
    """Where the merging of single nodes is; None: it is done."""

    labels: np.ndarray | None


def merged_singles(
    objective: BlockObjective, goal: int, run: DescriptionRun
) -> tuple[np.ndarray, SearchSaver]:
    """Merge single nodes to `goal` blocks; return their labels and the saver of what follows.

    If the checkpoint is from later than that, the labels are arbitrary: the search that follows
    replaces them by those of the checkpoint."""
    saver = run.saver
    n = objective.n_elements[0]
    labels = np.arange(n, dtype=np.int32)
    searching = saver.inside(lambda: _Merging(None))
    saved = saver.take(_Merging)
    if saved is not None and saved.labels is None:
        return np.zeros(n, np.int32), searching
    if saved is not None and saved.labels is not None:
        labels = saved.labels
        with saver.errors():
            check_labels((labels,), (n,))

    def save(sides: Labels) -> None:
        saver.save(lambda: _Merging(sides[0]))

    labels = agglomerate(objective, (labels,), (goal,), run.rng, run.engine, save, rough=True)[0]
    return labels, searching


def _first_blocks(objective: BlockObjective) -> int:
    """Return how many blocks the search begins with."""
    n, m = objective.n_elements[0], len(objective.sides[0].indices) // 2
    return int(min(n, max(8, math.ceil(_START * math.sqrt(m))), _MOST_START))


def shortest_description(
    name: str,
    data: DescriptionData,
    objective: BlockObjective,
    run: DescriptionRun,
    *,
    goal: int | None = None,
    strategy: Strategy = FLAT,
    start: np.ndarray | None = None,
    rival: float = math.inf,
    kicks: tuple[float, list[Iteration]] | None = None,
    kicks_follow: bool = False,
    brief: bool = False,
) -> Described:
    """Search for the shortest description of a graph by one model, from the blocks `start`.

    None: `objective` merges single nodes to `goal` blocks. The search is given up early if it stays
    clearly longer than `rival`. `kicks`: only kick the blocks, for this much work, after a search
    with this history; `kicks_follow`: that search, which is not finished. `brief`: `start` was good
    for nearly the same graph."""
    kind, graph, constant = data
    n = objective.n_elements[0]
    if n == 0:
        return Described(name, np.zeros(0, np.int32), 0.0, [], True)
    saver, warm = run.saver, start is not None
    if start is None:
        start, saver = merged_singles(objective, goal or _first_blocks(objective), run)
    if len(np.unique(start)) < strategy.fewest:  # continues from a checkpoint: any valid labels do
        start = np.arange(n, dtype=np.int32)
    graph, start = run.constrain(graph, start)
    trail = Trail(run.callback)
    search = DescriptionSearch(start_state(kind, graph, start), run.rng, trail, strategy)
    search.warm, search.rival, search.kicks_follow = warm, rival - constant, kicks_follow
    if brief:
        search.begin_update()
    if kicks is not None:
        trail.restore([e._replace(entropy=e.entropy - constant) for e in kicks[1]], {})
        search.begin_kicks(kicks[0])
    interrupted = False
    try:
        search.run(saver)
    except KeyboardInterrupt:
        interrupted = True
        search.restart(search.best)
        while search.state.n_blocks > strategy.most:  # stopped before the first clustering
            search.merges(search.state.n_blocks - strategy.most, NEVER)
        search.keep()
    labels = renumber(search.best)
    length = start_state(kind, graph, labels, spare=1).length()
    if strategy.fewest == 1:
        _, one = run.constrain(graph, np.zeros(len(labels), np.int32))
        alone = start_state(kind, graph, one, spare=1).length()
        if alone < length:
            labels, length = one, alone
    return Described(
        name,
        labels,
        length + constant,
        [entry._replace(entropy=entry.entropy + constant) for entry in trail.history],
        search.locally_optimal and not interrupted,
        interrupted,
        tried={k: tried + constant for k, tried in trail.lengths.items()},
        work=search.at.work,
    )


def nested_description(
    name: str, objective: BlockObjective, run: DescriptionRun, flat: np.ndarray | None = None
) -> Described:
    """Search for the hierarchy of blocks with the shortest description.

    `flat`: blocks with a short flat description, if they are known."""
    kind, graph, _ = undirected_data(name, objective.sides[0])
    n = objective.n_elements[0]
    if n == 0:
        empty = np.zeros(0, np.int32)
        return Described(name, empty, 0.0, [], True, levels=(empty,))
    saver, start = run.saver, run.start
    if start is None:
        start, saver = merged_singles(objective, _first_blocks(objective), run)
    else:
        flat = start
    graph, start = run.constrain(graph, start)
    if flat is not None:
        _, flat = run.constrain(graph, flat)
    brief = run.start is not None
    fit = HierarchyFit(kind, graph, start, run.rng, Trail(run.callback), flat, brief)
    fit.fit(saver)
    levels, length = fit.best.levels, fit.best.length
    _, alone = run.constrain(graph, np.zeros(n, np.int32))
    one = [alone, np.zeros(int(alone.max()) + 1, np.int32)]
    if nested_length(kind, graph, one) < length:
        levels, length = one, nested_length(kind, graph, one)
    nodes = [levels[0]]
    for groups in levels[1:]:
        nodes.append(groups[nodes[-1]])
    return Described(
        name,
        nodes[0],
        length,
        fit.trail.history,
        fit.best.locally_optimal,
        fit.interrupted,
        tuple(z for z in nodes if z.max() > 0) or (nodes[0],),
    )
