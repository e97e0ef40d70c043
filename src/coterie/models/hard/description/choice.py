"""Choose between descriptions: several runs, several models, and a comparison of models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coterie.data import Graph
from coterie.models.hard.costs import OBJECTIVES, make_objective
from coterie.models.hard.costs.block_objective import BlockObjective
from coterie.models.hard.costs.interface import Labels
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
from coterie.models.hard.label_tools import renumber, renumber_sides
from coterie.models.hard.search.agglomerate import enlarge_small
from coterie.models.hard.search.auto_k import description_length
from coterie.models.hard.weight_models import COUNTS

MODELS = ("degree-corrected", "simple", "communities")  # what `objective="auto"` chooses from
NESTED = ("degree-corrected", "simple")  # models that can have levels
DESCRIBED = (*MODELS, *DIRECTED, "auto")  # objectives whose search minimises the description
# what a `BlockModel` can be asked for: points have no description length without a scale
CHOICES = tuple(
    dict.fromkeys(
        (*DESCRIBED, *(name for name, kind in OBJECTIVES.items() if kind.data is not np.ndarray))
    )
)
_ASSUMPTIONS = {
    "auto": "Of the models simple, degree-corrected and communities, the result has the one with "
    "the shortest description.",
    "communities": "Every node keeps its own number of edges; all blocks have the same density "
    "inside, and all pairs of blocks the same density between them.",
    "directed-degree-corrected": "Every node keeps its own numbers of outgoing and of incoming "
    "edges; the blocks decide only whom it is connected to.",
}
AT_FIXED_NUMBER = {  # models that only a description has, and the objective with a given number
    "auto": "degree-corrected",
    "communities": "degree-corrected",
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
    weights: str = COUNTS,
    n_blocks: int | None = None,
) -> tuple[Described, dict[int, float]]:
    """Return the shortest description of all runs and models, and the shortest length of every
    number of blocks that a run passed through.

    `weights` is the model of real-valued weights, for which the number of blocks may be fixed
    (`n_blocks`).
    """
    saver = run.saver
    choice = saver.take(_Choice) or _Choice()
    if choice.best is not None:
        with saver.errors():
            choice.best.check(objective.n_elements[0])
    models: tuple[str, ...] = (name,)
    if name == "auto":
        models = tuple(m for m in MODELS if not nested or m in NESTED)
    inside = replace(run, saver=saver.inside(lambda: choice))
    for place, model in enumerate(models):
        own = objective
        if graph_objective(model, weights) != objective.name:
            own = make_objective(graph_objective(model), graph)
        for number in range(n_init):
            if place * n_init + number < choice.done:
                continue
            if model in DIRECTED or weights != COUNTS:
                found = shortest_cell_description(
                    model, graph, inside, weights=weights, n_blocks=n_blocks
                )
            elif nested:
                found = nested_description(model, own, inside)
            else:
                data = undirected_data(model, own.sides[0])
                found = shortest_description(model, data, own, inside)
            if min_block_size > 1:
                found = _with_minimum_size(found, own, graph, min_block_size, run)
            choice.add(found)
            assert choice.best is not None
            if found.interrupted:
                return choice.best, choice.lengths
            saver.save(lambda: choice)
    assert choice.best is not None
    return choice.best, choice.lengths


@dataclass
class _Choice:
    """The shortest description so far."""

    best: Described | None = None
    lengths: dict[int, float] = field(default_factory=dict)
    done: int = 0  # runs, of all models

    def add(self, found: Described) -> None:
        """Count the result of one run."""
        for blocks, length in {**found.tried, found.n_blocks: found.length}.items():
            self.lengths[blocks] = min(length, self.lengths.get(blocks, math.inf))
        if self.best is None or found.length < self.best.length:
            self.best = found
        self.done += 1


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
    length = description_length_by(found.objective, objective, graph)(labels)
    return Described(found.objective, labels, length, found.history, False, found.interrupted)


def description_length_by(
    name: str, objective: BlockObjective, graph: Graph
) -> Callable[[np.ndarray], float]:
    """Return the function that computes the description length of labels by a model."""

    def length(labels: np.ndarray) -> float:
        return description_length_of_result(name, objective, graph, (labels,))

    return length


def description_length_of_result(
    name: str, objective: BlockObjective, data: Any, labels: Labels
) -> float:
    """Return the description length of labels by any model."""
    if name in DIRECTED:
        return cell_data(data, name).length(labels[0])
    if is_described(name, data):
        return undirected_data(name, objective.sides[0]).length(labels[0])
    return description_length(objective, *renumber_sides(labels))
