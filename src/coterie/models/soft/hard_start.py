"""A hard clustering as the start of a soft fit."""

from __future__ import annotations

from typing import Any

from coterie.base.errors import InputError
from coterie.base.progress import Callback
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine
from coterie.models.hard.k_means import GeneralizedKMeans


def hard_start(
    data: Any, groups: tuple[int, int], seed: int, engine: Engine, callback: Callback
) -> GeneralizedKMeans:
    """Cluster the data with one block per group, at most one per node.

    With one-hot memberships the soft model is the hard one, so the entropies of both are those of
    the same model, and the soft fit should end below.
    """
    if not isinstance(data, Graph | Ratings):
        raise InputError(
            '`init="hard"` needs the whole data in memory and does not support shards',
            remedy='use `init="random"`',
        )
    return hard_model(data, groups, seed).fit(data, engine=local(engine), callback=callback)


def hard_model(data: Graph | Ratings, groups: tuple[int, int], seed: int) -> GeneralizedKMeans:
    """Return the unfitted hard model of the same data."""
    if isinstance(data, Ratings):
        sides = (min(groups[0], data.n_users), min(groups[1], data.n_items))
        return GeneralizedKMeans(sides, objective="ratings", rng=seed)
    objective = "directed" if data.directed else "simple"
    return GeneralizedKMeans(min(groups[0], data.n_nodes), objective=objective, rng=seed)


def local(engine: Engine | str) -> Engine | str:
    """Return the engine of a hard clustering: threads of this machine, also beside a cluster."""
    return engine if isinstance(engine, LocalEngine) else "local"
