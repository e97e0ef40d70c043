"""Set up the EM problem of given data: ratings, sharded ratings, or a graph; and its hard start."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.progress import Callback
from coterie.data import Graph, Ratings
from coterie.data.negatives import uniform_negative_pairs
from coterie.engine import Engine, LocalEngine
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.hard.k_means import GeneralizedKMeans
from coterie.models.soft.em import Problem
from coterie.models.soft.graph_problem import GraphProblem, GraphSettings, first_present_level
from coterie.models.soft.observation_shards import Pairs
from coterie.models.soft.rating_problem import RatingProblem
from coterie.models.soft.state import SoftShape

EXACT_UP_TO = 5_000  # nodes: above, visiting all absent pairs takes too long
_MAX_WEIGHT_VALUES = 100


class ProblemSetup(NamedTuple):
    """A problem, the sizes of its states, and the values that its levels stand for (`values_`)."""

    problem: Problem
    shape: SoftShape
    values: np.ndarray


def set_up_ratings(
    ratings: Ratings | ShardedRatings,
    groups: tuple[int, int],
    engine: Engine,
    *,
    prior: float,
    samples: int,
    negatives_per_rating: float,
    rng: Generator,
) -> ProblemSetup:
    """Set up ratings: one level per value, and one more, "not rated", if there are negatives."""
    n_levels = len(ratings.values)
    if isinstance(ratings, ShardedRatings):
        problem = RatingProblem.of_shards(ratings, engine, prior=prior, samples=samples)
    else:
        users, items = ratings.n_users, ratings.n_items
        pairs = Pairs(ratings.users, ratings.items, ratings.codes, users, items, n_levels)
        if negatives_per_rating > 0:
            pairs = with_negatives(pairs, round(negatives_per_rating * len(ratings)), rng)
            n_levels += 1
        problem = RatingProblem(pairs, groups, engine, prior=prior, samples=samples)
    shape = SoftShape(ratings.n_users, ratings.n_items, *groups, n_levels)
    return ProblemSetup(problem, shape, ratings.values)


def with_negatives(pairs: Pairs, count: int, rng: Generator) -> Pairs:
    """Add `count` unrated pairs as observations of one more level, the last.

    Users are drawn in proportion to their number of ratings and items uniformly: the model then
    explains why some items are rated often, but not why some users rate a lot.
    """
    row, column = uniform_negative_pairs(rng, pairs.rows, pairs.columns, pairs.n_columns, count)
    if len(row) < count:
        warnings.warn(
            f"only {len(row)} of {count} unrated pairs were found: nearly all pairs are rated",
            AssumptionWarning,
            stacklevel=2,
        )
    return Pairs(
        np.concatenate([pairs.rows, row.astype(np.int32)]),
        np.concatenate([pairs.columns, column.astype(np.int32)]),
        np.concatenate([pairs.levels, np.full(len(row), pairs.n_levels, np.int32)]),
        pairs.n_rows,
        pairs.n_columns,
        pairs.n_levels + 1,
    )


def set_up_graph(
    graph: Graph | ShardedGraph, k: int, engine: Engine, settings: GraphSettings
) -> ProblemSetup:
    """Set up the pairs of nodes of a graph, present and absent."""
    values = graph_values(graph, settings.absent)
    problem = GraphProblem(graph, values, settings, engine)
    n = graph.n_nodes
    shape = SoftShape(n, n, k, k, len(values), one_set=True, symmetric=not graph.directed)
    return ProblemSetup(problem, shape, values)


def graph_values(graph: Graph | ShardedGraph, absent: str) -> np.ndarray:
    """Return the values of a graph's levels.

    The first level is "absent", 0, unless absent pairs are ignored. Without weights the other
    level is "present", 1; with weights there is one level per distinct weight.
    """
    weighted = graph.weighted if isinstance(graph, ShardedGraph) else graph.weights is not None
    if not weighted:
        if absent == "ignored":
            raise InputError(
                "without weights and without absent pairs, every pair looks the same",
                remedy='set `absent` to "exact" or "sampled", or give a weighted graph',
            )
        return np.array([0.0, 1.0])
    values = None if graph.weights is None else np.unique(graph.weights)
    if values is None or len(values) > _MAX_WEIGHT_VALUES:
        raise InputError(
            f"the weights have {'too many' if values is None else f'{len(values):,}'} "
            "distinct values",
            remedy=f"round them to at most {_MAX_WEIGHT_VALUES} distinct values",
        )
    if len(values) == 0 and absent == "ignored":
        raise InputError("the graph has no edges to learn from", remedy="give at least one edge")
    return np.append(np.zeros(first_present_level(absent)), values)


def absent_mode(absent: str, n_nodes: int) -> str:
    """Resolve "auto": exact up to 5,000 nodes, sampled above.

    >>> absent_mode("auto", 300), absent_mode("auto", 10**6)
    ('exact', 'sampled')
    """
    if absent == "auto":
        return "exact" if n_nodes <= EXACT_UP_TO else "sampled"
    return absent


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
