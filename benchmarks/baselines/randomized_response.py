"""Randomized response: every pair of nodes is flipped with a fixed probability.

This is the plainest graph generator with edge differential privacy: an edge is kept, and a missing
edge stays missing, with probability e^ε / (1 + e^ε). It adds so many false edges that it is of use
for small graphs only.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
from numpy.random import Generator

from coterie.base.errors import InputError
from coterie.data import Graph

MAX_FALSE_EDGES = 50_000_000


def flip_probability(epsilon: Fraction) -> float:
    """Return the probability that a pair changes.

    >>> flip_probability(Fraction(0))
    0.5
    """
    return 1 / (1 + exp(float(epsilon)))


def expected_false_edges(graph: Graph, epsilon: Fraction) -> float:
    """Return the expected number of pairs that are connected only in the drawn graph."""
    return flip_probability(epsilon) * _missing(graph)


def randomized_response(
    graph: Graph, epsilon: Fraction, rng: Generator, *, max_false_edges: int = MAX_FALSE_EDGES
) -> Graph:
    """Flip every pair with the probability that gives edge differential privacy `epsilon`.

    The cost grows with the edges of the drawn graph and not with the pairs: the gaps between false
    edges are drawn. The random numbers have a seed, so a graph drawn here is a baseline and not a
    release.

    Raises
    ------
    InputError
        If more than `max_false_edges` false edges are expected.

    >>> path = Graph.from_edges([0, 1], [1, 2])
    >>> randomized_response(path, Fraction(50), np.random.default_rng(0)).n_edges
    2
    """
    expected = expected_false_edges(graph, epsilon)
    if expected > max_false_edges:
        raise InputError(
            f"randomized response with epsilon {float(epsilon):g} would add about "
            f"{expected:,.0f} false edges to this graph, more than {max_false_edges:,}",
            remedy="use a smaller graph or a larger epsilon",
        )
    flip = flip_probability(epsilon)
    source, target = graph.edges()
    keep = rng.random(len(source)) >= flip
    false_source, false_target = _missing_pairs(graph, _flipped(_missing(graph), flip, rng))
    return Graph.from_edges(
        np.r_[source[keep], false_source], np.r_[target[keep], false_target], n_nodes=graph.n_nodes
    )


def _flipped(count: int, flip: float, rng: Generator) -> np.ndarray:
    """Return the members of range(count) that are flipped, each with probability `flip`."""
    found = [np.empty(0, np.int64)]
    at = -1
    while at < count:
        gaps = rng.geometric(flip, int(1.05 * flip * (count - at)) + 100)
        places = at + np.cumsum(np.minimum(gaps, count + 1))
        found.append(places[places < count])
        at = int(places[-1])
    return np.concatenate(found)


def _missing(graph: Graph) -> int:
    """Return the number of pairs without an edge."""
    return graph.n_nodes * (graph.n_nodes - 1) // 2 - graph.n_edges


def _missing_pairs(graph: Graph, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the chosen pairs without an edge, which are numbered 0, 1, 2 … in rising order."""
    source, target = (ends.astype(np.int64) for ends in graph.edges())
    taken = np.sort(_pair_number(np.minimum(source, target), np.maximum(source, target)))
    # taken[j] - j pairs without an edge come before the j-th edge
    before = np.searchsorted(taken - np.arange(len(taken)), chosen, side="right")
    return _pair_of(chosen + before)


def _pair_number(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Number the pairs (0,1), (0,2), (1,2), (0,3) …"""
    return np.asarray(high * (high - 1) // 2 + low)


def _pair_of(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pair of each number; the inverse of `_pair_number`."""
    high = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    # The square root is rounded; correct it by one where needed
    high -= high * (high - 1) // 2 > number
    high += high * (high + 1) // 2 <= number
    return number - high * (high - 1) // 2, high
