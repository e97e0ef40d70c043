"""Compare models of one graph by their description lengths."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.base.renderers import NotebookView
from coterie.data import Graph
from coterie.data.foreign import as_graph
from coterie.engine import Engine, LocalEngine, running_engine
from coterie.models.hard.costs import make_objective
from coterie.models.hard.description.choice import (
    MODELS,
    choose_description,
    description_length_of_result,
    graph_objective,
)
from coterie.models.hard.description.directed_weighted import DIRECTED
from coterie.models.hard.description.fit import DescriptionRun

_NESTED = "nested, degree-corrected"
_SMALLEST_ODDS = 690.0  # nats: exp(-690) is about 1e-300


@dataclass(frozen=True)
class ComparedModel:
    """One model of a graph, with its shortest description.

    Attributes
    ----------
    model : str
        The name of the model.
    n_blocks : int
        Number of blocks of its shortest description; of a hierarchy, on the lowest level.
    description_length : float
        In nats.
    difference : float
        How much longer than the shortest of all models, in nats.
    odds : float
        Posterior odds against the shortest, exp(-difference), if both are equally likely a priori.
    """

    model: str
    n_blocks: int
    description_length: float
    difference: float
    odds: float

    @property
    def printed_odds(self) -> str:
        """The odds as text; below the smallest number of the processor as a bound."""
        return f"{self.odds:.3g}" if self.difference < _SMALLEST_ODDS else "< 1e-300"


class ModelComparison(NotebookView, list[ComparedModel]):
    """Models of one graph, the shortest description first; a notebook shows a table."""

    def __repr__(self) -> str:
        best = self[0]
        blocks = f"{best.n_blocks:,} block" + "s" * (best.n_blocks != 1)
        return f"<ModelComparison: {best.model} with {blocks} is the shortest of {len(self)}>"


def compare_models(
    graph: Graph,
    *,
    rng: RandomState = 0,
    engine: str | Engine = "local",
    callback: Callback = silent,
) -> ModelComparison:
    """Describe a graph by several models, the shortest description first.

    All descriptions are of the same data, the graph as an undirected multigraph, so their
    differences mean something: exp(-difference) are the odds of a model against the shortest one.
    A directed graph is described by the directed models, with and without degree correction, each
    with one block and with several. Every model has the result that a fit of this model alone has
    with the same seed.

    Parameters
    ----------
    graph : Graph
        The graph; weights are ignored.
    rng : int, numpy.random.Generator or None, default=0
        Seed.
    engine : str or Engine, default="local"
        Where the work runs; "local" or a `LocalEngine`.
    callback : callable, optional
        Called with a `Progress` after each step.

    Returns
    -------
    ModelComparison
        A list with one `ComparedModel` per model, the shortest description first.

    Examples
    --------
    >>> import coterie as ct
    >>> import networkx
    >>> graph = ct.Graph.from_networkx(networkx.karate_club_graph())
    >>> best = ct.compare_models(graph)[0]
    >>> best.model, best.n_blocks, best.odds
    ('simple', 2, 1.0)
    """
    graph = as_graph(graph)
    seeded = as_generator(rng)
    found: list[tuple[str, int, float]] = []
    with running_engine(engine) as running:
        if not isinstance(running, LocalEngine):
            raise InputError(
                "models are compared on one machine only", remedy='use `engine="local"`'
            )
        # with one block, then with any number, the last one as a hierarchy
        single = DIRECTED if graph.directed else ("simple", "degree-corrected")
        flat = DIRECTED if graph.directed else MODELS
        names = {name: (name, False) for name in flat}
        if not graph.directed:
            names[_NESTED] = ("degree-corrected", True)
        objectives = {name: make_objective(name, graph) for name in map(graph_objective, single)}
        for name in single:
            own, nobody = objectives[graph_objective(name)], np.zeros(graph.n_nodes, np.int32)
            length = description_length_of_result(name, own, graph, nobody)
            found.append((f"one block, {name}", min(1, graph.n_nodes), length))
        for label, (name, nested) in names.items():
            run = DescriptionRun(deepcopy(seeded), running, callback)
            objective = objectives[graph_objective(name)]
            best, _ = choose_description(name, objective, graph, run, nested=nested)
            found.append((label, best.n_blocks, best.length))
    shortest = min(length for _, _, length in found)
    return ModelComparison(
        ComparedModel(name, k, length, length - shortest, math.exp(shortest - length))
        for name, k, length in sorted(found, key=lambda row: row[2])
    )
