"""From blocks to new graphs: the models by name, and draws from them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.random import Generator

from coterie.anonymize.draw.classes import ClassCells, Classes, merge_small_blocks
from coterie.anonymize.draw.dcsbm import Steps, StubModel
from coterie.anonymize.draw.sbm import CellModel
from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.data import Graph
from coterie.engine import Engine

MODELS = ("dcsbm", "sbm", "exact-counts")


class ReleaseModel(Protocol):
    """What a graph can be drawn from: it knows everybody's class, and nobody's neighbours."""

    @property
    def classes(self) -> Classes: ...

    def cells(self, graph: Graph) -> ClassCells:
        """The cells that hold an original edge, and the probability of a pair in each."""
        ...

    def draw(self, rng: Generator, engine: Engine | None = None) -> Graph:
        """A new graph; node v of it has v's class, and nothing else of v."""
        ...


def check_model(name: str) -> None:
    if name not in MODELS:
        raise InputError(f"model={name!r} is unknown", remedy=f"give one of {', '.join(MODELS)}")


def build_model(
    name: str,
    graph: Graph,
    labels: np.ndarray,
    *,
    min_size: int,
    limit: float,
    path_length: float,
    rng: Generator,
    steps: Steps | None = None,
    engine: Engine | None = None,
    callback: Callback = silent,
) -> ReleaseModel:
    """The model called `name` of this graph and these blocks: no class under `min_size` nodes, no
    original edge in a cell with p >= `limit`, as far as that can be had."""
    check_model(name)
    if name == "dcsbm":
        return StubModel.fit(
            graph,
            labels,
            min_size=min_size,
            limit=limit,
            path_length=path_length,
            rng=rng,
            steps=steps,
            engine=engine,
            callback=callback,
        )
    merged = merge_small_blocks(graph, labels, min_size)
    return CellModel.fit(graph, merged, limit=limit, exact=name == "exact-counts")
