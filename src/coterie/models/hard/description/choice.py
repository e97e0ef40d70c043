"""Choose between descriptions: several runs, several models, and a comparison of models."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from coterie.base.progress import Callback, silent
from coterie.data import Graph
from coterie.engine import Engine
from coterie.models.hard.description.fit import (
    Described,
    description_length_of,
    nested_description,
    shortest_description,
)
from coterie.models.hard.label_tools import renumber, renumber_sides
from coterie.models.hard.objectives import make_objective
from coterie.models.hard.objectives.block_objective import BlockObjective
from coterie.models.hard.objectives.interface import Labels
from coterie.models.hard.search.block_sizes import enlarge_small
from coterie.models.hard.search.description_length import description_length

MODELS = ("degree-corrected", "simple", "communities")  # what `objective="auto"` chooses from
NESTED = ("degree-corrected", "simple")  # models that can have levels
DESCRIBED = (*MODELS, "auto")  # objectives whose search minimises the description length


def graph_objective(name: str) -> str:
    """Return the objective at a fixed number of blocks that belongs to a described one.

    >>> graph_objective("communities")
    'degree-corrected'
    """
    return "degree-corrected" if name in ("communities", "auto") else name


def choose_description(
    name: str,
    objective: BlockObjective,
    graph: Graph,
    *,
    rng: Generator,
    engine: Engine,
    callback: Callback = silent,
    n_init: int = 1,
    min_block_size: int = 0,
    nested: bool = False,
) -> tuple[Described, dict[int, float]]:
    """Return the shortest description of all runs and models, and the shortest length of every
    number of blocks that a run passed through.
    """
    best: Described | None = None
    lengths: dict[int, float] = {}
    models: tuple[str, ...] = (name,)
    if name == "auto":
        models = tuple(m for m in MODELS if not nested or m in NESTED)
    search = nested_description if nested else shortest_description
    for model in models:
        own = objective
        if graph_objective(model) != objective.name:
            own = make_objective(graph_objective(model), graph)
        for _ in range(n_init):
            found = search(model, own, rng=rng, engine=engine, callback=callback)
            if min_block_size > 1:
                found = _with_minimum_size(found, own, min_block_size, rng, engine)
            k = found.n_blocks
            for blocks, length in {**found.tried, k: found.length}.items():
                lengths[blocks] = min(length, lengths.get(blocks, math.inf))
            if best is None or found.length < best.length:
                best = found
            if found.interrupted:
                return best, lengths
    assert best is not None
    return best, lengths


def _with_minimum_size(
    found: Described, objective: BlockObjective, min_size: int, rng: Generator, engine: Engine
) -> Described:
    """Join blocks that are too small with others."""
    sizes = np.bincount(found.labels)
    if not len(sizes) or sizes.min() >= min_size:
        return found
    k = max(1, min(int((sizes >= min_size).sum()), len(found.labels) // min_size))
    labels = enlarge_small(objective, (found.labels,), (k,), min_size, rng, engine)[0]
    labels = renumber(labels)
    length = description_length_of(found.objective, objective.sides[0], labels)
    return Described(found.objective, labels, length, found.history, False, found.interrupted)


def description_length_of_result(objective: BlockObjective, labels: Labels) -> float:
    """Return the description length of labels for any block objective."""
    if objective.name in MODELS:
        return description_length_of(objective.name, objective.sides[0], labels[0])
    return description_length(objective, *renumber_sides(labels))
