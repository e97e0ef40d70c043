"""A hard clustering as the start of a soft fit, and how the two compare."""

from __future__ import annotations

from typing import Any, NamedTuple

from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.data import Graph, Ratings
from coterie.engine import Engine, LocalEngine
from coterie.models.hard.k_means import GeneralizedKMeans


class HardStart(NamedTuple):
    """The labels from which a run starts."""

    labels: Any  # one array for a graph, a pair of arrays for ratings
    entropy: float  # of the hard clustering
    comparable: bool  # whether it is the entropy of the same data under the same model


def hard_start(
    data: Any,
    groups: tuple[int, int],
    seed: int,
    engine: Engine | None = None,
    callback: Callback = silent,
    *,
    comparable: bool = True,
) -> HardStart:
    """Cluster the data with one block per group.

    With one-hot memberships the soft model is the hard one, so the entropies of both are those of
    the same model, and the soft fit should end below. `comparable` is False if the soft model is
    fitted to other observations, such as the weights of edges alone.
    """
    if not isinstance(data, Graph | Ratings):
        raise InputError(
            '`init="hard"` needs the whole data in memory and does not support shards',
            remedy='use `init="random"`',
        )
    running = engine if isinstance(engine, LocalEngine) else "local"
    model = _model(data, groups, seed)
    model.fit(data, engine=running, callback=callback)
    return HardStart(model.labels_, float(model.entropy_), comparable)


def compile_hard_start(data: Any, engine: Engine | str = "local") -> None:
    """Compile the kernels of `hard_start`."""
    running = engine if isinstance(engine, LocalEngine) else "local"
    _model(data, (1, 1), 0).compile(data, running)


def _model(data: Any, groups: tuple[int, int], seed: int) -> GeneralizedKMeans:
    """Return the hard model of the same data, with at most one block per node."""
    if isinstance(data, Ratings):
        sides = (min(groups[0], data.n_users), min(groups[1], data.n_items))
        return GeneralizedKMeans(sides, objective="ratings", rng=seed)
    objective = "directed" if data.directed else "simple"
    return GeneralizedKMeans(min(groups[0], data.n_nodes), objective=objective, rng=seed)
