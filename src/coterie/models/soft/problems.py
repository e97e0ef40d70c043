"""From data to a problem that the EM loop can step through."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data import Graph, Ratings
from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.soft.column_blocked_problem import in_column_blocks
from coterie.models.soft.graph_problem import GraphProblem, Settings
from coterie.models.soft.observation_shards import Pairs
from coterie.models.soft.problem_interface import Problem
from coterie.models.soft.rating_problem import RatingProblem
from coterie.models.soft.sharded_graph_problem import ShardedGraphProblem, codes_of, first_class
from coterie.models.soft.state import SoftShape

EXACT_UP_TO = 5_000  # nodes: beyond, all absent pairs take too long
_MOST_CLASSES = 100
_ROUNDS = 100


class Posed(NamedTuple):
    """A problem, the size of its states, and the configurations that are shown."""

    problem: Problem
    shape: SoftShape
    values: np.ndarray


def pose_ratings(
    ratings: Ratings,
    groups: tuple[int, int],
    engine: Engine,
    *,
    prior: float,
    samples: int,
    negatives_per_rating: float,
    rng: Generator,
) -> Posed:
    """Users and items; the values are the configurations, and "not rated" one more if asked."""
    pairs = Pairs(
        ratings.users,
        ratings.items,
        ratings.codes,
        ratings.n_users,
        ratings.n_items,
        len(ratings.values),
    )
    if negatives_per_rating > 0:
        pairs = with_absent(pairs, round(negatives_per_rating * len(ratings)), rng)
    shape = SoftShape(pairs.n_rows, pairs.n_columns, *groups, pairs.n_codes)
    problem = RatingProblem(pairs, groups, engine, prior=prior, samples=samples)
    return Posed(in_column_blocks(problem, shape), shape, ratings.values)


def pose_shards(
    ratings: ShardedRatings, groups: tuple[int, int], engine: Engine, *, prior: float, samples: int
) -> Posed:
    """The same for ratings that lie in shards; their users are the rows."""
    shape = SoftShape(ratings.n_users, ratings.n_items, *groups, len(ratings.values))
    problem = RatingProblem.of_shards(ratings, engine, prior=prior, samples=samples)
    return Posed(in_column_blocks(problem, shape), shape, ratings.values)


def with_absent(pairs: Pairs, count: int, rng: Generator) -> Pairs:
    """`count` pairs that were not rated as observations of one more configuration, the last.

    Rows are drawn as active as they are, columns evenly: so who rates much is no surprise, and
    what is rated often is.
    """
    rated = np.unique(pairs.rows.astype(np.int64) * pairs.n_columns + pairs.columns)
    drawn = np.empty(0, np.int64)
    for _ in range(_ROUNDS):
        missing = count - len(drawn)
        if missing == 0:
            break
        row = pairs.rows[rng.integers(len(pairs.rows), size=missing)].astype(np.int64)
        pair = row * pairs.n_columns + rng.integers(pairs.n_columns, size=missing)
        place = np.minimum(np.searchsorted(rated, pair), len(rated) - 1)
        drawn = np.concatenate([drawn, pair[rated[place] != pair]])
    if len(drawn) < count:
        warnings.warn(
            f"only {len(drawn)} of {count} unrated pairs were found: nearly all pairs are rated",
            AssumptionWarning,
            stacklevel=2,
        )
    row, column = np.divmod(drawn, pairs.n_columns)
    return Pairs(
        np.concatenate([pairs.rows, row.astype(np.int32)]),
        np.concatenate([pairs.columns, column.astype(np.int32)]),
        np.concatenate([pairs.codes, np.full(len(drawn), pairs.n_codes, np.int32)]),
        pairs.n_rows,
        pairs.n_columns,
        pairs.n_codes + 1,
    )


def pose_graph(graph: Graph | ShardedGraph, k: int, engine: Engine, settings: Settings) -> Posed:
    """One node set, and its pairs."""
    if isinstance(graph, ShardedGraph):
        classes = graph_classes(graph, settings.absent)
        problem: Problem = ShardedGraphProblem(graph, classes, settings, engine)
    else:
        classes, codes = graph_codes(graph, settings.absent)
        problem = GraphProblem(graph, codes, len(classes), settings, engine)
    n = graph.n_nodes
    shape = SoftShape(n, n, k, k, len(classes), one_set=True, symmetric=not graph.directed)
    return Posed(problem, shape, classes)


def graph_codes(graph: Graph, absent: str) -> tuple[np.ndarray, np.ndarray]:
    """The configurations of a graph's pairs, and the code of each stored neighbour."""
    classes = graph_classes(graph, absent)
    codes = codes_of(graph.weights, len(graph.indices), classes, first_class(absent))
    return classes, codes


def graph_classes(graph: Graph | ShardedGraph, absent: str) -> np.ndarray:
    """The configurations of a graph's pairs.

    The first is "absent", 0, unless absent pairs are ignored; without weights the other is
    "present", 1, with weights each distinct one is a class.
    """
    weighted = graph.weighted if isinstance(graph, ShardedGraph) else graph.weights is not None
    if not weighted:
        if absent == "ignored":
            raise InputError(
                "without weights and without absent pairs every pair looks the same",
                remedy='give absent="exact" or "sampled", or a weighted graph',
            )
        return np.array([0.0, 1.0])
    classes = None if graph.weights is None else np.unique(graph.weights)
    if classes is None or len(classes) > _MOST_CLASSES:
        raise InputError(
            f"the weights have {'too many' if classes is None else f'{len(classes):,}'} "
            "distinct values",
            remedy=f"round them into at most {_MOST_CLASSES} classes",
        )
    if len(classes) == 0 and absent == "ignored":
        raise InputError("the graph has no edges to learn from", remedy="give at least one")
    return np.append(np.zeros(first_class(absent)), classes)


def absent_mode(absent: str, n_nodes: int) -> str:
    """ "auto" made definite: every absent pair up to 5,000 nodes, sampled ones beyond.

    >>> absent_mode("auto", 300), absent_mode("auto", 10**6)
    ('exact', 'sampled')
    """
    if absent == "auto":
        return "exact" if n_nodes <= EXACT_UP_TO else "sampled"
    if absent not in ("exact", "sampled", "ignored"):
        raise InputError(
            f"absent={absent!r} is unknown", remedy='give "auto", "exact", "sampled" or "ignored"'
        )
    return absent


def smallest_like(data: Ratings | ShardedRatings | Graph | ShardedGraph) -> Ratings | Graph:
    """Data of the same kind that a moment is enough for."""
    if isinstance(data, Ratings | ShardedRatings):
        return Ratings.from_arrays([0, 1, 2], [0, 1, 2], [1, 2, 2])
    weighted = data.weighted if isinstance(data, ShardedGraph) else data.weights is not None
    weights = [1.0, 2.0] if weighted else None
    return Graph.from_edges([0, 1], [1, 2], n_nodes=3, weights=weights, directed=data.directed)
