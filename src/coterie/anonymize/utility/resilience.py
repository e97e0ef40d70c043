"""How a graph falls apart when nodes fail, and how far an epidemic spreads in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.anonymize.figures import EPIDEMIC_MULTIPLES
from coterie.base.randomness import as_generator, stream_keys
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine
from coterie.kernels.graphs.resilience import (
    cut_points_and_bridges,
    largest_after_removal,
    largest_outbreak,
)

REMOVED = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # shares of the nodes
_ORDERS = 8  # random orders of removal
_OUTBREAKS = 16  # simulated outbreaks per transmission probability
_SEED = 0  # fixed: the result depends on the graph alone


class Robustness(NamedTuple):
    """Share of the nodes in the largest component after a share of the nodes was removed."""

    removed: list[float]
    random: list[float]  # mean over random orders
    targeted: list[float]  # the nodes of the largest degree first
    random_mean: float  # mean over all shares, from 0 to 1
    targeted_mean: float


class EpidemicSize(NamedTuple):
    """The largest outbreak of an epidemic in which a case infects each contact with one chance."""

    multiple: float  # of the epidemic threshold
    probability: float  # that a contact is infected
    share: float  # of the nodes that the largest outbreak reaches, mean over the simulations
    outbreaks: int  # number of simulations


class CutPoints(NamedTuple):
    """Nodes and edges whose removal divides a component."""

    articulation_points: int
    bridges: int


def robustness(graph: Graph, engine: Engine | None = None) -> Robustness:
    """Remove nodes at random and by degree, and follow the largest component.

    >>> star = Graph.from_edges([0] * 9, range(1, 10))
    >>> found = robustness(star)
    >>> found.targeted[3], found.targeted_mean < found.random_mean
    (0.1, True)
    """
    n = graph.n_nodes
    random = as_generator(_SEED)
    orders = [random.permutation(n) for _ in range(_ORDERS)]
    by_degree = [order[np.argsort(-graph.degrees[order], kind="stable")] for order in orders]

    def sizes(order: np.ndarray) -> np.ndarray:
        return np.asarray(largest_after_removal(graph.indptr, graph.indices, order))

    found = (engine or LocalEngine(1)).map(sizes, [*orders, *by_degree])
    places = np.round(np.array(REMOVED) * n).astype(np.int64)
    failure, attack = (
        np.sum(part, axis=0) / (_ORDERS * max(n, 1)) for part in (found[:_ORDERS], found[_ORDERS:])
    )
    return Robustness(
        list(REMOVED),
        failure[places].tolist(),
        attack[places].tolist(),
        float(failure.mean()),
        float(attack.mean()),
    )


def epidemic_threshold(graph: Graph) -> float:
    """Return the chance of infection above which an epidemic spreads, from the degrees alone.

    This is mean(d) / mean(d (d - 1)), exact for random graphs with these degrees; 1 at most.
    """
    degrees = graph.degrees.astype(np.float64)
    second = float((degrees * (degrees - 1)).sum())
    return min(float(degrees.sum()) / second, 1.0) if second else 1.0


def epidemic_sizes(
    graph: Graph, threshold: float, engine: Engine | None = None
) -> list[EpidemicSize]:
    """Simulate outbreaks whose chance of infection is a multiple of a threshold.

    Give the threshold of the original for both graphs of a comparison: then both see the same
    disease.
    """
    n = graph.n_nodes
    chances = [min(multiple * threshold, 1.0) for multiple in EPIDEMIC_MULTIPLES]
    keys = stream_keys(as_generator(_SEED), _OUTBREAKS * len(chances))

    def outbreak(chance: float, key: np.uint64) -> int:
        return int(largest_outbreak(graph.indptr, graph.indices, chance, key))

    found = (engine or LocalEngine(1)).map(outbreak, np.repeat(chances, _OUTBREAKS), keys)
    means = np.reshape(found, (len(chances), _OUTBREAKS)).mean(axis=1) / max(n, 1)
    return [
        EpidemicSize(multiple, chance, float(mean), _OUTBREAKS)
        for multiple, chance, mean in zip(EPIDEMIC_MULTIPLES, chances, means, strict=True)
    ]


def cut_points(graph: Graph) -> CutPoints:
    """Count articulation points and bridges.

    >>> cut_points(Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]))
    CutPoints(articulation_points=1, bridges=1)
    """
    nodes, edges = cut_points_and_bridges(graph.indptr, graph.indices)
    return CutPoints(int(nodes), int(edges))
