"""Choose between descriptions: several runs, several models, and a comparison of models."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from coterie.data import Graph
from coterie.models.hard.costs import OBJECTIVES, make_objective
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.description.directed_weighted import (
    DIRECTED,
    cell_data,
    shortest_cell_description,
)
from coterie.models.hard.description.fit import (
    Described,
    DescriptionRun,
    nested_description,
    shortest_description,
    undirected_data,
)
from coterie.models.hard.description.nested import nested_length
from coterie.models.hard.description.search import TINY
from coterie.models.hard.description.state import DescriptionData
from coterie.models.hard.label_tools import renumber, renumber_sides
from coterie.models.hard.search.agglomerate import enlarge_small
from coterie.models.hard.search.auto_k import description_length
from coterie.models.hard.weight_models import COUNTS

DENSITIES = {"uniform": "uniform-communities", "per-block": "communities"}
PLANTED_MODELS = tuple(DENSITIES.values())
MODELS = ("degree-corrected", "simple", *PLANTED_MODELS)  # what `objective="auto"` chooses from
NESTED = ("degree-corrected", "simple")  # models that can have levels
_KICK_WORK = 1.8  # a unit of work of kicks takes less time than one of the other searches
_KICK_SHARE = 0.1  # of the work of a fit is for kicks at effort 1; tiny graphs: as much again
DESCRIBED = (*MODELS, *DIRECTED, "auto")  # objectives whose search minimises the description
# what a `BlockModel` can be asked for: points have no description length without a scale
CHOICES = tuple(
    dict.fromkeys(
        (*DESCRIBED, *(name for name, kind in OBJECTIVES.items() if kind.data is not np.ndarray))
    )
)
_ASSUMPTIONS = {
    "auto": "Of the models simple, degree-corrected and communities (with one density inside each "
    "block, or inside all), the result has the one with the shortest description.",
    "communities": "Every node keeps its own number of edges; every block has a density of its own "
    "inside, and all pairs of blocks the same density between them.",
    "uniform-communities": "Every node keeps its own number of edges; all blocks have the same "
    "density inside, and all pairs of blocks the same density between them.",
    "directed-degree-corrected": "Every node keeps its own numbers of outgoing and of incoming "
    "edges; the blocks decide only whom it is connected to.",
}
AT_FIXED_NUMBER = {  # models that only a description has, and the objective with a given number
    "auto": "degree-corrected",
    "communities": "degree-corrected",
    "uniform-communities": "degree-corrected",
    "directed-degree-corrected": "directed",
}


def graph_objective(name: str, weights: str = COUNTS) -> str:
    """Return the objective at a fixed number of blocks that belongs to a described one: the model
    of the edges, without real-valued weights.

    >>> graph_objective("communities"), graph_objective("weighted", "normal")
    ('degree-corrected', 'simple')
    """
    if name == "weighted" and weights != COUNTS:
        return "simple"
    return AT_FIXED_NUMBER.get(name, name)


def model_assumption(name: str, weights: str = COUNTS) -> str:
    """Return what a model assumes, in words.

    >>> model_assumption("weighted", "normal").partition(" The weights")[2]
    ' of the edges between two blocks have one normal distribution.'
    """
    if weights != COUNTS:
        edges = model_assumption("simple" if name == "weighted" else name)
        edges = edges.replace("; edges have no direction and no weight", "")
        return (
            f"{edges} The weights of the edges between two blocks have one {weights} distribution."
        )
    return _ASSUMPTIONS.get(name) or OBJECTIVES[name].assumption


def is_described(name: str, data: Any, weights: str = COUNTS) -> bool:
    """Return whether `n_blocks="auto"` minimises the description itself for these data.

    Weights that are neither whole numbers nor have a model of their own have no description."""
    if name == "weighted" and weights == COUNTS:
        given = data.weights if isinstance(data, Graph) else None
        return given is not None and bool((given == np.floor(given)).all() and (given >= 0).all())
    return name in DESCRIBED or weights != COUNTS


def choose_description(
    name: str,
    objective: BlockObjective,
    graph: Graph,
    run: DescriptionRun,
    *,
    n_init: int = 1,
    min_block_size: int = 0,
    nested: bool = False,
    density: str | None = None,
    weights: str = COUNTS,
    n_blocks: int | None = None,
) -> tuple[Described, dict[int, float]]:
    """Return the shortest description of all runs and models, and the shortest length of every
    number of blocks that a run passed through.

    `density` is that of communities: "uniform", "per-block", or None for the shorter one. `weights`
    is the model of real-valued weights, for which the number of blocks may be fixed (`n_blocks`).
    """
    saver = run.saver
    choice = saver.take(_Choice) or _Choice()
    with saver.errors():
        choice.check(objective.n_elements[0])
    size = objective.n_elements[0] + len(objective.sides[0].indices) // 2
    others = set(PLANTED_MODELS) - {DENSITIES[density]} if density else set()
    models = tuple(model for model in MODELS if model not in others)
    steps = _steps(
        name, models, nested, small=size <= TINY, kicks=weights == COUNTS, effort=run.effort
    )
    if run.start is not None:  # the model that describes the blocks to begin with best
        among = (NESTED if nested else models) if name == "auto" else (name,)
        fits = {model: description_length_of(model, graph, run.start) for model in among}
        steps = [_Step(min(fits, key=lambda model: fits[model]), nested=nested)]
        steps += [_Step("", kicks=True)] if run.effort > 1 and not nested else []
    inside = replace(run, saver=saver.inside(lambda: choice))
    for place in range(choice.done, n_init * len(steps)):
        step = steps[place % len(steps)]
        if step.other and choice.shortest(step).objective == steps[0].model:
            choice.done += 1
            continue
        model = step.model or choice.shortest(step).objective
        own = objective
        if graph_objective(model, weights) != objective.name:
            own = make_objective(graph_objective(model), graph)
        start, rival = choice.start(step)
        if run.start is not None:
            start = run.start
        kicks = None
        if step.kicks:
            share = run.effort - 1 + (1.0 if size <= TINY else _KICK_SHARE)
            before = choice.shortest(step)
            start, kicks = before.labels, (share * _KICK_WORK * choice.work, before.history)
        if (model in DIRECTED or weights != COUNTS) and start is None:
            found = shortest_cell_description(
                model, graph, inside, weights=weights, n_blocks=n_blocks
            )
        elif step.nested:
            found = nested_description(model, own, inside, start)
        else:
            data, last = description_data(model, own, graph), steps[-1].kicks
            found = shortest_description(
                model,
                data,
                own,
                inside,
                start=start,
                rival=rival,
                kicks=kicks,
                kicks_follow=last,
                brief=run.start is not None and kicks is None,
            )
        if min_block_size > 1 and step.counts:
            found = _with_minimum_size(found, own, graph, min_block_size, run)
        choice.add(step, found)
        if found.interrupted:
            break
        saver.save(lambda: choice)
    if choice.best is None:  # stopped in a search that others would have begun with
        choice.best = _as_result(found, steps[-1], graph)
    return choice.best, choice.lengths


def description_data(name: str, objective: BlockObjective, graph: Graph) -> DescriptionData:
    """Return the data of a description without real-valued weights."""
    return cell_data(graph, name) if name in DIRECTED else undirected_data(name, objective.sides[0])


def description_length_of(name: str, graph: Graph, labels: np.ndarray) -> float:
    """Return the description length of the blocks of a graph in nats, without real-valued weights.

    >>> import networkx
    >>> graph = Graph.from_networkx(networkx.karate_club_graph())
    >>> round(description_length_of("degree-corrected", graph, np.zeros(34, np.int32)), 1)
    222.9
    """
    objective = make_objective(graph_objective(name), graph)
    assert isinstance(objective, BlockObjective)
    return description_data(name, objective, graph).length(labels)


def _as_result(found: Described, step: _Step, graph: Graph) -> Described:
    """Return blocks as the result of another search, without any search."""
    model = step.model or found.objective
    data = undirected_data(model, make_objective(graph_objective(model), graph).sides[0])
    if not step.nested:
        return replace(found, objective=model, length=data.length(found.labels))
    groups = np.zeros(found.n_blocks, np.int32)
    length = nested_length(data.kind, data.graph, [found.labels, groups])
    return replace(found, objective=model, length=length, levels=(found.labels,))


class _Step(NamedTuple):
    """One search of `choose_description`."""

    model: str  # "": the model of the shortest description so far
    counts: bool = True  # the result may be chosen
    warm: bool = False  # it begins with the blocks of the flat search before
    nested: bool = False
    kicks: bool = False  # it begins with the shortest description so far and kicks its blocks
    other: bool = False  # only if another model than the first one is the shortest


def _steps(
    name: str,
    models: tuple[str, ...],
    nested: bool,
    *,
    small: bool,
    kicks: bool,
    effort: float,
) -> list[_Step]:
    """Return the searches of one run; "auto" chooses from `models`.

    The degree-corrected model comes first, from single nodes. The other models begin with its
    blocks and are given up early if they are clearly longer: all of them together take less time
    than a second search. Communities are found better from there, too: their description does not
    tell good small blocks from bad ones. Small graphs have all searches in full."""
    if nested:
        chosen = NESTED if name == "auto" else (name,)
        if effort == 1 and (small or name != "auto"):
            return [_Step(model, nested=True) for model in chosen]
        others = [_Step(model, counts=False, warm=True) for model in chosen[1:]]
        last = [_Step("", counts=False, kicks=True)] if effort > 1 else []
        return [_Step(chosen[0], counts=False), *others, *last, _Step("", warm=True, nested=True)]
    last = [_Step("", kicks=True)] if kicks else []
    first = _Step("degree-corrected", counts=name == "auto")
    if name == "auto":
        warm = [_Step(model, warm=True) for model in models[1:]]
        if small:
            return [first, *(_Step(model) for model in models[1:]), *warm, *last]
        # first all that a fit of this model alone has, so that "auto" is never longer than it
        return [first, *last, *warm, *(step._replace(other=True) for step in last)]
    if name in PLANTED_MODELS:
        return [first, *([_Step(name)] if small else []), _Step(name, warm=True), *last]
    return [_Step(name), *last]


@dataclass
class _Choice:
    """The shortest description so far, and the flat one that other searches begin with."""

    best: Described | None = None
    flat: Described | None = None
    lengths: dict[int, float] = field(default_factory=dict)
    done: int = 0  # searches
    work: float = 0.0  # of these

    def shortest(self, step: _Step) -> Described:
        """Return what a search begins with whose model is chosen by the searches before it."""
        found = self.best if step.counts and not step.nested else self.flat
        assert found is not None
        return found

    def check(self, n: int) -> None:
        """Raise ArrayError if the content of a file is not that of n nodes."""
        for described in (self.best, self.flat):
            if described is not None:
                described.check(n)

    def start(self, step: _Step) -> tuple[np.ndarray | None, float]:
        """Return the blocks that a search begins with, and the length of its rival."""
        if not step.warm or self.flat is None:
            return None, math.inf
        rival = math.inf
        if self.best is not None or not step.counts:
            rival = (self.best or self.flat).length
        # Two densities can tell blocks apart where more parameters cannot.
        few = step.model == "uniform-communities" or (step.model and self.best is None)
        return (None if self.flat.n_blocks == 1 and few else self.flat.labels), rival

    def add(self, step: _Step, found: Described) -> None:
        """Count the result of one search."""
        self.done, self.work = self.done + 1, self.work + found.work
        first = self.flat is None or (step.model and not step.warm and not step.counts)
        if (first and not step.nested) or (
            self.flat is not None
            and (
                (not step.counts and found.length < self.flat.length)
                or (self.flat.n_blocks == 1 < found.n_blocks and step.model in PLANTED_MODELS)
            )
        ):
            self.flat = found
        if not step.counts:
            return
        for blocks, length in {**found.tried, found.n_blocks: found.length}.items():
            self.lengths[blocks] = min(length, self.lengths.get(blocks, math.inf))
        shortest = math.inf if self.best is None else self.best.length
        if found.length < shortest or (step.kicks and found.length == shortest):  # more history
            self.best = found


def _with_minimum_size(
    found: Described,
    objective: BlockObjective,
    graph: Graph,
    min_size: int,
    run: DescriptionRun,
) -> Described:
    """Join blocks that are too small with others."""
    sizes = np.bincount(found.labels)
    if not len(sizes) or sizes.min() >= min_size:
        return found
    k = max(1, min(int((sizes >= min_size).sum()), len(found.labels) // min_size))
    labels = enlarge_small(objective, (found.labels,), (k,), min_size, run.rng, run.engine)[0]
    labels = renumber(labels)
    length = description_length_of_result(found.objective, objective, graph, labels)
    return Described(found.objective, labels, length, found.history, False, found.interrupted)


def description_length_of_result(
    name: str, objective: BlockObjective, data: Any, *labels: np.ndarray
) -> float:
    """Return the description length of the labels of each side by any model."""
    if is_described(name, data):
        return description_data(name, objective, data).length(labels[0])
    return description_length(objective, *renumber_sides(labels))
