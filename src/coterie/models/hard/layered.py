"""LayeredBlockModel: blocks of a graph with several layers, or of one that changes over time.

Layers that share their blocks are described with one partition of the nodes; each layer has block
matrix and degrees of its own. So a partition is paid for once per group of layers that share it:

    length = which layers share + sum over groups (labels + sum over layers (cells, graph))

1. Fit one partition to all layers together, and one to each alone.
2. Choose for each layer one of the partitions found so far. Layers without order: add, drop and
   exchange partitions while that shortens the description. Periods of time: the shortest path, on
   which keeping the blocks is free, and a change costs the nodes that change their block.
3. Fit a partition to each group of layers that share one, and go back to 2 while that helps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from coterie.base.errors import InputError
from coterie.base.progress import Callback, Iteration, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.base.special_functions import gammaln
from coterie.data import Graph
from coterie.data.foreign import as_graph
from coterie.data.layers import LayeredGraph
from coterie.engine import Engine, running_engine
from coterie.kernels.hard.description import move_change, move_node
from coterie.kernels.hard.description_state import EDGES
from coterie.models.base import Estimator
from coterie.models.declaration import (
    SEED,
    Constraint,
    DataKind,
    Declaration,
    Flag,
    Groups,
    OneOf,
)
from coterie.models.hard.changes import block_events
from coterie.models.hard.costs import make_objective
from coterie.models.hard.description.fit import DescriptionRun, shortest_description
from coterie.models.hard.description.search import DescriptionSearch, Trail
from coterie.models.hard.description.state import (
    DescriptionData,
    ModelKind,
    multigraph,
    start_state,
)
from coterie.models.hard.label_tools import renumber
from coterie.models.hard.posterior import aligned

_MODELS = ("degree-corrected", "simple")
_ROUNDS = 4  # of choosing partitions and fitting groups
_PARTS = (2, 4)  # of the time, to which partitions are fitted at the beginning
_PARAMETERS: dict[str, Constraint] = {
    "model": OneOf("auto", *_MODELS),
    "share": OneOf("auto", "all", "none"),
    "ordered": Flag(),
    "rng": SEED,
}


class _Partition(NamedTuple):
    """A partition that layers can be described with."""

    labels: np.ndarray
    own: float  # nats of the labels
    lengths: np.ndarray  # nats of each layer, given the labels


class LayeredBlockModel(Estimator):
    """Blocks of a graph with layers; the description length decides which layers share them.

    Parameters
    ----------
    model : {"auto", "degree-corrected", "simple"}, default="auto"
        The model of every layer; "auto" takes the one with the shorter description.
    share : {"auto", "all", "none"}, default="auto"
        Which layers have the same blocks. "auto": those whose description is shorter together.
    ordered : bool, default=False
        Whether the layers are periods of time in their order: blocks persist, and a change costs
        the description of the nodes that change. A `LayeredGraph` made of times is always ordered.
    rng : int, numpy.random.Generator or None, default=0
        Seed. The same seed gives the same result for any number of threads.

    Attributes
    ----------
    labels_ : dict of str to ndarray of shape (n,), int32
        The block of each node per layer. Layers that share their blocks have the same labels; of
        periods of time, a block that persists keeps its number.
    groups_ : list of tuple of str
        The layers that share their blocks.
    n_blocks_ : dict of str to int
        The number of blocks per layer.
    model_ : str
        The model of the layers.
    description_length_ : float
        Nats that describe all layers.
    shared_length_, separate_length_ : float
        The same if all layers share their blocks, and if none do.
    events_ : list of Event
        Of periods of time: which blocks split, merge, appear and end, and how many nodes move.
    history_ : list of Iteration
        The steps of the search for blocks that all layers share.
    interrupted_ : bool
        Whether Ctrl-C ended the search; the other attributes describe the best result so far.

    See Also
    --------
    BlockModel : The blocks of one graph.

    References
    ----------
    T. P. Peixoto. Inferring the mesoscale structure of layered, edge-valued, and time-varying
    networks. Physical Review E 92, 042807, 2015.

    Examples
    --------
    >>> import coterie as ct
    >>> layers = ct.generators.layered_blocks(n_nodes=60, n_layers=3, n_shared=2, rng=0)
    >>> ct.LayeredBlockModel(rng=0).fit(layers).groups_
    [('layer 1', 'layer 2'), ('layer 3',)]
    """

    declaration = Declaration(
        name="layered-block-model",
        assumptions={
            DataKind.GRAPH: "Every layer has a block matrix of its own; layers share the blocks of "
            "the nodes where that gives the shorter description."
        },
        parameters=_PARAMETERS,
        groups=Groups.BLOCKS,
    )

    def __init__(
        self,
        model: str = "auto",
        *,
        share: str = "auto",
        ordered: bool = False,
        rng: RandomState = 0,
    ) -> None:
        self.model = model
        self.share = share
        self.ordered = ordered
        self.rng = rng

    def fit(
        self,
        X: LayeredGraph | Mapping[str, Any],
        y: None = None,
        *,
        engine: str | Engine = "local",
        callback: Callback = silent,
    ) -> Self:
        """Find the blocks of every layer.

        Parameters
        ----------
        X : LayeredGraph or mapping of str to Graph
            The layers. Graphs of networkx, igraph and scipy are accepted in the mapping.
        y : None
            Accepted for scikit-learn; has no effect.
        engine : {"local"} or LocalEngine, default="local"
            Where the work runs.
        callback : callable, optional
            Called with a `Progress` after each step.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If there are no layers, or one has no edges.
        """
        self.check_parameters()
        if isinstance(X, LayeredGraph):
            data = X
        else:
            data = LayeredGraph.from_graphs({name: as_graph(graph) for name, graph in X.items()})
        _check_layers(data)
        models = _MODELS if self.model == "auto" else (self.model,)
        with running_engine(engine) as running:
            run = DescriptionRun(as_generator(self.rng), running, callback)
            ordered = data.ordered or self.ordered
            searches = [_LayerSearch(data, name, run, ordered) for name in models]
            for search in searches:
                search.begin(self.share)
            found = min(searches, key=lambda search: search.length)
            if self.share == "auto":
                found.improve()
        self._set_results(data, found)
        return self

    def _set_results(self, data: LayeredGraph, found: _LayerSearch) -> None:
        """Set the fitted attributes."""
        labels = [found.partitions[p].labels for p in found.choice]
        if found.ordered:
            labels = _persistent(labels)
        self.layers_ = data
        self.labels_ = dict(zip(data.names, labels, strict=True))
        self.n_blocks_ = {name: len(np.unique(z)) for name, z in self.labels_.items()}
        self.groups_ = [tuple(data.names[i] for i in group) for group in found.groups()]
        self.model_ = found.name
        self.description_length_ = found.length
        self.shared_length_, self.separate_length_ = found.shared, found.separate
        self.history_ = found.history
        self.interrupted_ = found.interrupted
        self.events_ = block_events(data.names, labels) if found.ordered else []

    def group_of(self) -> dict[str, int]:
        """Return the number of the group of each layer, from 1.

        Returns
        -------
        dict of str to int
            Layers with the same number share their blocks.
        """
        numbered = enumerate(self.groups_, start=1)
        return {name: number for number, names in numbered for name in names}

    def explain(self) -> list[str]:
        """Return what was found, in sentences.

        Returns
        -------
        list of str
            Which layers share their blocks, and how much longer the alternatives are.
        """
        n, groups = len(self.labels_), len(self.groups_)
        if self.interrupted_:
            sentences = ["The search was stopped: this is the best result so far, not the end."]
        elif self.share != "auto" or n == 1:
            sentences = [f"{n:,} layers, which share {self.share} of their blocks as requested."]
            if n == 1:
                sentences = ["There is one layer, so nothing is shared."]
        elif groups == 1:
            sentences = [f"All {n} layers share the same blocks."]
        elif groups == n:
            sentences = [f"No two of the {n} layers share their blocks."]
        else:
            together = "; ".join(", ".join(group) for group in self.groups_ if len(group) > 1)
            sentences = [f"These layers share their blocks: {together}."]
        for what, length in (
            ("blocks that all layers share", self.shared_length_),
            ("blocks of its own in every layer", self.separate_length_),
        ):
            longer = length - self.description_length_
            if math.isfinite(longer) and longer > 0.05:
                sentences.append(f"With {what} the description is {longer:,.1f} nats longer.")
        return sentences + [str(event) for event in self.events_]


def _check_layers(data: LayeredGraph) -> None:
    """Raise InputError for layers that cannot be described."""
    if not data.graphs or data.n_nodes == 0:
        raise InputError("there are no layers with edges", remedy="give at least one")
    for name, graph in zip(data.names, data.graphs, strict=True):
        if graph.directed:
            raise InputError(
                f"the layer {name} is directed", remedy="give undirected graphs; drop directions"
            )
        if graph.n_edges == 0:
            raise InputError(f"the layer {name} has no edges", remedy="leave it out")


def layered_data(graphs: Iterable[Graph], name: str) -> DescriptionData:
    """Return the data of a description of layers that share their blocks."""
    layers = list(graphs)
    n = layers[0].n_nodes
    degrees = np.array([np.diff(g.indptr) for g in layers], np.int64)
    rows = np.concatenate([np.repeat(np.arange(n), np.diff(g.indptr)) for g in layers])
    kinds = np.repeat(np.arange(len(layers), dtype=np.int16), degrees.sum(axis=1))
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(degrees.sum(axis=0))])
    apart = degrees + (degrees.max() + 1) * np.arange(len(layers))[:, None]
    classes = np.unique(apart, return_inverse=True)[1].reshape(apart.shape)
    graph = multigraph(indptr, np.concatenate([g.indices for g in layers])[order])._replace(
        kinds=kinds[order], layer_degrees=degrees, layer_classes=classes.astype(np.int32)
    )
    return DescriptionData(ModelKind(EDGES, name == "degree-corrected", layers=len(layers)), graph)


def _log_choose(n: float, k: float) -> float:
    """Return the log of a binomial coefficient."""
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def labels_length(labels: np.ndarray) -> float:
    """Return the nats of labels: the number of blocks, their sizes, and who is in which.

    >>> round(labels_length(np.array([0, 0, 1])), 4)
    2.8904
    """
    sizes = np.bincount(labels)
    n, k = len(labels), int((sizes > 0).sum())
    ways = float(gammaln(n + 1) - gammaln(sizes + 1).sum())
    return math.log(n) + _log_choose(n - 1, k - 1) + ways


def change_length(before: np.ndarray, after: np.ndarray) -> float:
    """Return the nats of labels given earlier ones: the number of blocks, and the nodes that
    change with their new blocks; or of the labels alone, if that is shorter."""
    n, k = len(after), int(after.max()) + 1
    moved = int((aligned(after, before) != before).sum())
    given = math.log(n) + math.log(n + 1) + _log_choose(n, moved) + moved * math.log(max(k, 1))
    return min(given, labels_length(after)) + math.log(2)


class _LayerSearch:
    """The choice of a partition for each layer, by one model."""

    def __init__(self, data: LayeredGraph, name: str, run: DescriptionRun, ordered: bool) -> None:
        self.data, self.name, self.run, self.ordered = data, name, run, ordered
        self.single = [layered_data([graph], name) for graph in data.graphs]
        self.partitions: list[_Partition] = []
        self.fitted: dict[tuple[int, ...], int] = {}  # layers: the partition fitted to them
        self.choice: list[int] = []  # per layer
        self.length = self.shared = self.separate = math.inf
        self.history: list[Iteration] = []
        self.interrupted = False

    def begin(self, share: str) -> None:
        """Fit one partition to all layers, and one to each; choose the better of the two."""
        everything = tuple(range(len(self.single)))
        if share != "none":
            self.choice = [self.fit_group(everything)] * len(everything)
            self.length = self.shared = self.total(self.choice)
        if share != "all" and not self.interrupted:
            alone = [self.fit_group((layer,)) for layer in everything]
            if len(alone) == len(everything) and not (self.interrupted and self.choice):
                self.separate = self.total(alone)
            if self.separate < self.length:
                self.choice, self.length = alone, self.separate

    def improve(self) -> None:
        """Choose again and fit groups of layers until the description gets no shorter."""
        for count in _PARTS if self.ordered else ():
            for part in np.array_split(np.arange(len(self.single)), count):
                if len(part) > 1 and not self.interrupted:
                    self.fit_group(tuple(part.tolist()))
        for _ in range(_ROUNDS):
            if self.interrupted:
                return
            before = self.length
            self._take(self.path() if self.ordered else self.facilities())
            for group in self.groups():
                if not self.interrupted:
                    self.fit_group(tuple(group))
            if self.ordered:
                self.follow()
            self._take(self.path() if self.ordered else self.facilities())
            if self.length > before - 1e-6:
                return

    def _take(self, choice: list[int]) -> None:
        length = self.total(choice)
        if length < self.length:
            self.choice, self.length = choice, length

    def groups(self) -> list[list[int]]:
        """Return the layers that share a partition; of periods only those without a break."""
        groups: list[list[int]] = []
        for layer, partition in enumerate(self.choice):
            among = groups[-1:] if self.ordered else groups
            own = next((g for g in among if self.choice[g[0]] == partition), None)
            if own is None:
                groups.append([layer])
            else:
                own.append(layer)
        return groups

    def fit_group(self, group: tuple[int, ...]) -> int:
        """Fit a partition to layers together; return its number."""
        if group not in self.fitted:
            graphs = [self.data.graphs[layer] for layer in group]
            pairs = [graph.edges() for graph in graphs]
            source, target = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
            union = Graph.from_edges(source, target, n_nodes=self.data.n_nodes)
            data = layered_data(graphs, self.name)
            objective: Any = make_objective(self.name, union)
            found = shortest_description(self.name, data, objective, self.run)
            self.interrupted = self.interrupted or found.interrupted
            if not self.fitted:
                self.history = found.history
            self.fitted[group] = self.add(found.labels)
        return self.fitted[group]

    def add(self, labels: np.ndarray) -> int:
        """Keep a partition; return its number."""
        labels = renumber(labels)
        own = labels_length(labels)
        lengths = np.array([data.length(labels) - own for data in self.single])
        self.partitions.append(_Partition(labels, own, lengths))
        return len(self.partitions) - 1

    def total(self, choice: list[int]) -> float:
        """Return the description length of a choice of partitions."""
        given = sum(self.partitions[p].lengths[layer] for layer, p in enumerate(choice))
        if not self.ordered:
            own = sum(self.partitions[p].own for p in set(choice))
            return float(given + own + labels_length(renumber(np.array(choice))))
        own = self.partitions[choice[0]].own + math.log(len(choice))
        for before, after in pairwise(choice):
            if after != before:
                own += self.change(before, after)
        return float(given + own)

    def change(self, before: int, after: int) -> float:
        """Return what going on from one partition with another one costs: when, and how."""
        old, new = self.partitions[before].labels, self.partitions[after].labels
        return math.log(len(self.single)) + change_length(old, new)

    def path(self) -> list[int]:
        """Return the choice with the shortest description of periods of time."""
        found = self.partitions
        step = np.zeros((len(found), len(found)))
        for p, q in zip(*np.nonzero(~np.eye(len(found), dtype=bool)), strict=True):
            step[p, q] = self.change(q, p)
        cost = np.array([p.own + p.lengths[0] for p in found])
        came = []
        for layer in range(1, len(self.single)):
            through = cost[None, :] + step
            came.append(through.argmin(axis=1))
            cost = through.min(axis=1) + np.array([p.lengths[layer] for p in found])
        choice = [int(cost.argmin())]
        for back in reversed(came):
            choice.append(int(back[choice[-1]]))
        return choice[::-1]

    def facilities(self) -> list[int]:
        """Return the best choice that adding, dropping and exchanging partitions finds.

        It begins with the present choice, and with a partition per layer: a fine partition that all
        layers share has to be dropped at once."""
        alone = [self.fitted[layer,] for layer in range(len(self.single))]
        return min((self._exchanged(start) for start in (self.choice, alone)), key=self.total)

    def _exchanged(self, choice: list[int]) -> list[int]:
        """Add, drop and exchange partitions of a choice while that shortens the description."""
        lengths = np.array([p.lengths for p in self.partitions])
        length, better = self.total(choice), True
        while better:
            better, best = False, set(choice)
            others = [p for p in range(len(lengths)) if p not in best]
            tries = [best | {p} for p in others] + [best - {p} for p in best if len(best) > 1]
            tries += [(best - {p}) | {q} for p in best for q in others]
            for offered in map(sorted, tries):
                served = lengths[offered].argmin(axis=0)
                candidate = [offered[place] for place in served]
                now = self.total(candidate)
                if now < length - 1e-9:
                    choice, length, better = candidate, now, True
        return choice

    def follow(self) -> None:
        """Add partitions that follow from those before: the nodes that really change, move."""
        groups = self.groups()
        for before, group in pairwise(groups):
            old = self.partitions[self.choice[before[0]]].labels
            data = layered_data([self.data.graphs[layer] for layer in group], self.name)
            search = DescriptionSearch(
                start_state(data.kind, data.graph, old), self.run.rng, Trail(silent)
            )
            search.sweeps(20, new_blocks=True, everywhere=True)
            self._undo_cheap_moves(search, renumber(old))
            self.add(search.state.labels)

    def _undo_cheap_moves(self, search: DescriptionSearch, old: np.ndarray) -> None:
        """Move nodes back whose change of block costs more than it gains."""
        state, n = search.state, len(old)
        changed = np.flatnonzero(state.labels != old)
        if not len(changed):
            return
        price = math.log(n / len(changed)) + 1.0 + math.log(max(state.n_blocks, 2))
        for v in changed:
            back = int(old[v])
            if state.blocks.sizes[back] and move_change(*state.arguments, v, back) < price:
                move_node(*state.arguments, v, back)


def _persistent(labels: list[np.ndarray]) -> list[np.ndarray]:
    """Return labels in which a block that persists keeps its number from period to period."""
    named = [labels[0]]
    highest = int(labels[0].max()) + 1
    for before, after in pairwise(labels):
        if after is before:
            named.append(named[-1])
            continue
        now = aligned(after, named[-1])
        now[now > named[-1].max()] += highest - int(named[-1].max()) - 1  # numbers are not reused
        highest = max(highest, int(now.max()) + 1)
        named.append(now)
    return named
