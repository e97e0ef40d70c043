"""The release models by name."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.bipartite import BipartiteModel
from coterie.anonymize.draw.class_limits import limit_cells
from coterie.anonymize.draw.classes import ClassCells, Classes, merge_small_blocks
from coterie.anonymize.draw.dcsbm import Steps, StubModel
from coterie.anonymize.draw.sbm import CellModel
from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.data import Graph
from coterie.engine import Engine

MODELS = ("dcsbm", "sbm", "exact-counts")


class ReleaseModel(Protocol):
    """A model that graphs are drawn from: it knows everyone's class and nobody's neighbours."""

    @property
    def classes(self) -> Classes:
        """The classes of the people."""
        ...

    def cells(self, graph: Graph) -> ClassCells:
        """Return the cells with an original edge, and the probability of an edge in each."""
        ...

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """Draw a graph; all that node v of it shares with the original v is the class."""
        ...


def check_model(name: str) -> None:
    """Raise InputError for an unknown model."""
    if name not in MODELS:
        raise InputError(f"unknown model {name!r}", remedy=f"use one of {', '.join(MODELS)}")


def build_model(
    name: str,
    graph: Graph,
    labels: np.ndarray,
    *,
    min_size: int,
    limit: float,
    rng: Generator,
    steps: Steps | None = None,
    core_share: float = np.inf,
    merge_cores: bool = False,
    sides: np.ndarray | None = None,
    callback: Callback = silent,
) -> ReleaseModel:
    """Build the model called `name` from a graph and its blocks.

    Every class has at least `min_size` nodes. Where possible, no original edge is in a cell with
    an edge probability or a density of `limit` or more. For `core_share` and
    `merge_cores` see `release_classes`.
    With `sides` (bool per node), edges join the two sides only, whatever the name.
    """
    check_model(name)
    if sides is not None:
        return BipartiteModel.fit(graph, labels, sides, min_size=min_size, limit=limit, rng=rng)
    if name == "dcsbm":
        return StubModel.fit(
            graph,
            labels,
            min_size=min_size,
            limit=limit,
            steps=steps,
            core_share=core_share,
            merge_cores=merge_cores,
            callback=callback,
        )
    merged = merge_small_blocks(graph, labels, min_size)
    limited = limit_cells(graph, Classes(merged, merged), limit, min_size, by_degree=False)
    return CellModel.fit(graph, limited.block, limit=limit, exact=name == "exact-counts")
