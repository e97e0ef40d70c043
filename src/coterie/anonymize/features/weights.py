"""Weights of edges, drawn from the weights of many edges between the same blocks.

The weights of a pair of blocks are sorted and divided into groups of at least `min_size` edges and
people. The model contains the mean of each group, so a rare large weight appears only as part of a
mean. Which edge gets a large weight depends on the classes of its two nodes, on how much members
of a class differ, and on the number of common neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array
from scipy.sparse.linalg import lsqr

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.degrees import draw_around_means
from coterie.base.errors import InputError
from coterie.data import Graph
from coterie.kernels.graphs.triangles import shared_weight

_POOL = 50  # times the class size: edges from which a block pair has weights of its own
_MOST_GROUPS = 200
_DIGITS = 3  # of published effects; the last digits of a sum depend on the order of people
_SPREAD_STEPS = 2.0 ** (np.arange(-12, 9) / 2)  # published values of a standard deviation


@dataclass(frozen=True, eq=False)
class WeightPool:
    """The weights of many edges: means of groups, in rising order."""

    size: np.ndarray  # edges per group
    mean: np.ndarray
    equal: np.ndarray  # bool: all weights of the group are equal

    def quantile(self, u: np.ndarray, rng: Generator) -> np.ndarray:
        """Return weights at the quantiles u, drawn between the neighbouring groups."""
        bounds = np.cumsum(self.size) / self.size.sum()
        group = np.minimum(np.searchsorted(bounds, u, side="right"), len(bounds) - 1)
        half = (self.mean[:-1] + self.mean[1:]) / 2
        low = np.r_[self.mean[0] / 2, half]
        high = np.r_[half, self.mean[-1]]
        high[-1] = 2 * self.mean[-1] - low[-1]
        low[0] = max(low[0], 2 * self.mean[0] - high[0])
        drawn = draw_around_means(group, low, self.mean, high, rng)
        return np.where(self.equal[group], self.mean[group], drawn)


@dataclass(frozen=True, eq=False)
class WeightModel:
    """Everything that a draw uses of the original weights."""

    classes: Classes
    pools: list[WeightPool]
    pool_of_cell: np.ndarray  # int64[blocks, blocks]
    class_mean: np.ndarray  # of log weights, relative to the block pair
    class_spread: np.ndarray  # how much members differ; one of a few values
    common_neighbours: float  # slope of log weights
    noise: float
    integers: bool
    least: float  # the smallest weight

    @classmethod
    def fit(cls, graph: Graph, classes: Classes, min_size: int) -> WeightModel:
        """Collect the statistics of classes and block pairs of a weighted graph."""
        source, target = (ends.astype(np.int64) for ends in graph.edges())
        weights = graph.edge_weights()
        check_weights(weights)
        block, k = classes.block, classes.n_blocks
        low = np.minimum(block[source], block[target]).astype(np.int64)
        high = np.maximum(block[source], block[target]).astype(np.int64)
        cell = low * k + high
        counts = np.bincount(cell, minlength=k * k)
        own = np.flatnonzero(counts >= _POOL * min_size)
        pool_of_cell = np.zeros(k * k, np.int64)
        pool_of_cell[own] = 1 + np.arange(len(own))
        pool = pool_of_cell[cell]
        pools = [
            _pool(weights[chosen], source[chosen], target[chosen], min_size)
            for chosen in [np.arange(len(weights))]
            + [np.flatnonzero(pool == number) for number in range(1, len(own) + 1)]
        ]
        rank = _ranks(weights, pool)
        effects, slope, noise = _node_effects(graph, source, target, rank)
        mean, spread = _per_class(effects, noise, graph.degrees, classes)
        symmetric = np.maximum(pool_of_cell.reshape(k, k), pool_of_cell.reshape(k, k).T)
        return cls(
            classes,
            pools,
            symmetric,
            mean,
            spread,
            slope,
            noise,
            bool((weights == np.rint(weights)).all()),
            float(pools[0].mean[0]) if pools[0].equal[0] else float(pools[0].mean[0] / 2),
        )

    def draw(self, skeleton: Graph, rng: Generator) -> Graph:
        """Give every edge of a drawn skeleton a weight."""
        source, target = (ends.astype(np.int64) for ends in skeleton.edges())
        label, block = self.classes.label, self.classes.block
        effect = self.class_mean[label] + self.class_spread[label] * rng.standard_normal(
            skeleton.n_nodes
        )
        score = effect[source] + effect[target] + self.noise * rng.standard_normal(len(source))
        score += self.common_neighbours * _embeddedness(skeleton, source, target)
        pool = self.pool_of_cell[block[source], block[target]]
        rank = _ranks(score, pool, rng)
        weights = np.empty(len(source))
        for number in np.unique(pool):
            here = pool == number
            weights[here] = self.pools[number].quantile(rank[here], rng)
        if self.integers:
            weights = np.maximum(np.floor(weights + rng.random(len(weights))), 1.0)
        return Graph.from_edges(source, target, n_nodes=skeleton.n_nodes, weights=weights)


def check_weights(weights: np.ndarray) -> None:
    """Raise InputError for weights that cannot be released."""
    if not np.isfinite(weights).all() or (weights <= 0).any():
        wrong = weights[~(np.isfinite(weights) & (weights > 0))][0]
        raise InputError(
            f"the weight {wrong:g} is not positive",
            remedy="remove edges of weight 0, and give absolute amounts",
        )


def weight_measures(graph: Graph) -> dict[str, float]:
    """Return the sum of the weights and their correlation with the network around an edge.

    The keys are those of WEIGHT_MEASURES.
    """
    source, target = graph.edges()
    weights = graph.edge_weights()
    x = np.log(weights)
    products = np.log(graph.degrees[source].astype(float) * graph.degrees[target])
    return {
        "sum": float(weights.sum()),
        "degrees": _correlation(x, products),
        "common neighbours": _correlation(x, _embeddedness(graph, source, target)),
    }


def weight_distributions(graph: Graph) -> dict[str, np.ndarray]:
    """Return the weights of nodes and of edges, by the keys of WEIGHT_DISTANCES."""
    return {"strengths": strengths(graph), "weights": graph.edge_weights()}


def strengths(graph: Graph) -> np.ndarray:
    """Return the sum of the weights of each node's edges.

    >>> strengths(Graph.from_edges([0, 1], [1, 2], weights=[2.0, 3.0]))
    array([2., 5., 3.])
    """
    return np.asarray(graph.csr.sum(axis=1)).ravel()


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if len(x) < 2 or x.std() == 0 or y.std() == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def _embeddedness(graph: Graph, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return log(1 + common neighbours) of each edge."""
    every_node = np.ones(graph.n_nodes)
    shared = shared_weight(graph.indptr, graph.indices, every_node, source, target)
    return np.asarray(np.log1p(shared))


def _pool(weights: np.ndarray, source: np.ndarray, target: np.ndarray, min_size: int) -> WeightPool:
    """Divide the weights into groups of at least `min_size` edges of as many people.

    Equal weights are never divided.
    """
    order = np.argsort(weights, kind="stable")
    _, sizes = np.unique(weights, return_counts=True)
    least = max(min_size, len(weights) // _MOST_GROUPS)
    ends = np.cumsum(sizes)  # where each value ends in the order
    cuts, people = [0], set[int]()
    at = 0
    for end in ends:
        people |= set(source[order[at:end]].tolist()) | set(target[order[at:end]].tolist())
        at = int(end)
        if at - cuts[-1] >= least and len(people) >= min_size:
            cuts.append(at)
            people = set()
    if cuts[-1] < len(weights):  # what is left belongs to the last group
        cuts = [*(cuts[:-1] or [0]), len(weights)] if len(cuts) > 1 else [0, len(weights)]
    size = np.diff(cuts)
    ordered = weights[order]
    mean = np.array([ordered[a:b].mean() for a, b in pairwise(cuts)])
    equal = ordered[cuts[:-1]] == ordered[np.array(cuts[1:]) - 1]
    return WeightPool(size, mean, equal)


def _ranks(values: np.ndarray, pool: np.ndarray, rng: Generator | None = None) -> np.ndarray:
    """Return the rank of each value within its pool, between 0 and 1; ties share their mean."""
    order = (
        np.lexsort((values, pool))
        if rng is None
        else np.lexsort((rng.random(len(values)), values, pool))
    )
    sizes = np.bincount(pool)
    start = np.cumsum(sizes) - sizes
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) - start[pool[order]] + 0.5
    if rng is None:
        _, which = np.unique(np.stack([pool, values], axis=1), axis=0, return_inverse=True)
        which = which.ravel()
        rank = (np.bincount(which, rank) / np.bincount(which))[which]
    return np.asarray(rank / sizes[pool])


def _node_effects(
    graph: Graph, source: np.ndarray, target: np.ndarray, rank: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Fit normal scores of the ranks by an effect per node and one of common neighbours."""
    from scipy.special import ndtri

    score = ndtri(np.clip(rank, 1e-9, 1 - 1e-9))
    shared = _embeddedness(graph, source, target)
    centred = shared - shared.mean()
    slope = float(centred @ score / (centred @ centred)) if centred.any() else 0.0
    m, n = len(source), graph.n_nodes
    incidence = csr_array(
        (np.ones(2 * m), (np.r_[np.arange(m), np.arange(m)], np.r_[source, target])), shape=(m, n)
    )
    effects = np.zeros(n)
    for _ in range(3):
        effects = lsqr(incidence, score - slope * centred, damp=1.0, iter_lim=60)[0]
        rest = score - incidence @ effects
        slope = float(centred @ rest / (centred @ centred)) if centred.any() else 0.0
    noise = float(np.std(score - incidence @ effects - slope * centred))
    return effects, round(slope, _DIGITS), round(noise, _DIGITS)


def _per_class(
    effects: np.ndarray, noise: float, degrees: np.ndarray, classes: Classes
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and spread of the effects in each class, the spread as one of a few values."""
    label, k = classes.label, classes.n_classes
    sizes = np.maximum(np.bincount(label, minlength=k), 1)
    mean = np.bincount(label, effects, k) / sizes
    variance = np.bincount(label, (effects - mean[label]) ** 2, k) / sizes
    # A node of few edges has an effect that is mostly noise, shrunk by the damping.
    from_noise = noise**2 * degrees / (degrees + 1.0) ** 2
    variance = np.maximum(variance - np.bincount(label, from_noise, k) / sizes, 0.0)
    # Damping shrinks true effects by degree / (degree + 1).
    shrink = np.bincount(label, (degrees / (degrees + 1.0)) ** 2, k) / sizes
    spread = np.sqrt(variance / np.maximum(shrink, 0.1))
    nearest = np.abs(
        np.log(_SPREAD_STEPS)[None, :] - np.log(np.maximum(spread, 1e-9))[:, None]
    ).argmin(1)
    return np.round(mean, _DIGITS), np.where(
        spread < _SPREAD_STEPS[0] / 2, 0.0, _SPREAD_STEPS[nearest]
    )
