"""Rules that set the parameters of an answer from public facts and earlier noisy answers.

None of them sees the graph. `RULES` is the version of this file and of the shares: a change that
alters what a sketch asks must raise it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from coterie.anonymize.private.budget import Shares
from coterie.anonymize.private.degree_estimates import DegreeDistribution, posterior_means

# 2: the largest degrees follow from two answers together; 3: capped sums of local clustering in
# place of the one damped below degree 6, and shares by purpose
RULES = 3

N_BINS = 24
FEWEST_BLOCKS, MOST_BLOCKS = 3, 16
_SHORTEST_COUNTS = 10
_FEWEST_LARGEST = 50
_MOST_PAIRS = 5_000_000_000  # pairs of edges at a node that one search may visit, about
_SMALLEST_DEGREE = 0.5
_SMALLEST_CAP, _LARGEST_CAP, _HUB_RATIO = 2, 32, 75.0


def n_degree_counts(n_nodes: int, noisy_degrees: np.ndarray) -> int:
    """Return the largest d for which the nodes of degree >= d are counted."""
    return min(n_nodes - 1, max(_SHORTEST_COUNTS, int(noisy_degrees.max(initial=0))))


def n_largest_degrees(n_nodes: int, epsilon: Fraction, shares: Shares) -> int:
    """Return how many of the largest degrees are asked for."""
    wanted = math.ceil(24 / (epsilon * shares.degree_counts))
    return min(n_nodes, max(_FEWEST_LARGEST, wanted))


def n_blocks(n_nodes: int, epsilon: Fraction, edge_count: int) -> int:
    """Return the number of blocks: more, the more edges per node and the larger epsilon.

    >>> n_blocks(1000, Fraction(1), 8000)
    4
    """
    wanted = round(math.sqrt(epsilon * 2 * max(edge_count, 0) / n_nodes))
    return min(max(wanted, FEWEST_BLOCKS), MOST_BLOCKS)


def degree_distribution(
    n_nodes: int,
    epsilon: Fraction,
    degree_counts: np.ndarray,
    largest_degrees: np.ndarray,
    shares: Shares,
) -> DegreeDistribution:
    """Estimate the degree distribution from answers 3 and 4."""
    return DegreeDistribution.estimate(
        n_nodes,
        degree_counts,
        float(epsilon * shares.degree_counts / 2),
        largest_degrees,
        float(epsilon * shares.largest_degrees / 2),
    )


def expected_degrees(
    noisy_degrees: np.ndarray, distribution: DegreeDistribution, epsilon: Fraction, shares: Shares
) -> np.ndarray:
    """Return the expected degree of each node, given answers 2 to 4; at least one half."""
    rate = float(epsilon * shares.degrees / 2)
    means = posterior_means(noisy_degrees, distribution, rate)
    return np.asarray(np.maximum(means, _SMALLEST_DEGREE))


def stream_order(noisy_degrees: np.ndarray) -> np.ndarray:
    """Return the nodes by falling noisy degree; ties in the order of the node list."""
    return np.argsort(-noisy_degrees, kind="stable")


def bin_thresholds(noisy_degrees: np.ndarray) -> np.ndarray:
    """Return thresholds that cut the nodes into bins with about equal sums of degrees (int64).

    The bin of a node is the number of thresholds that are not above its noisy degree. Nodes with
    the same noisy degree share a bin, so there may be fewer than `N_BINS`.

    >>> bin_thresholds(np.array([1, 1, 2, 4, 8, 8])).tolist()
    [2, 4, 8]
    """
    values, counts = np.unique(noisy_degrees, return_counts=True)
    ends = np.cumsum(np.maximum(values, 1) * counts)
    cuts = ends[-1] * np.arange(1, N_BINS) / N_BINS
    first = np.searchsorted(ends, cuts, side="left") + 1  # the first value of the next bin
    return np.asarray(values[np.unique(first[first < len(values)])], np.int64)


def bins_of(noisy_degrees: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the bin of each node (int64)."""
    return np.searchsorted(thresholds, noisy_degrees, side="right")


def hub_ratio(
    n_nodes: int, epsilon: Fraction, edge_count: int, largest_degrees: np.ndarray, shares: Shares
) -> float:
    """Return how many times the mean degree one of the largest degrees is, cautiously."""
    noise = float(2 / (epsilon * shares.largest_degrees))
    third = float(np.sort(largest_degrees)[-3:].min(initial=n_nodes)) - 2 * noise
    return max(third, 0.0) * n_nodes / (2 * max(edge_count, 1))


def clustering_cap(ratio: float) -> int:
    """Return how much local clustering one edge may carry in a capped sum, given the `hub_ratio`.

    In most networks no edge carries more than 2. In star-like ones, an edge between two hubs
    closes the triangles of many nodes with two neighbours.

    >>> clustering_cap(20.0), clustering_cap(400.0)
    (2, 28)
    """
    return int(min(max((ratio / _HUB_RATIO) ** 2, _SMALLEST_CAP), _LARGEST_CAP))


def common_neighbour_floor(expected: np.ndarray, distribution: DegreeDistribution) -> int:
    """Return a lower bound on the width of a ladder, so that the exact search stays short.

    Only nodes with more neighbours than the floor have to be compared with each other. It is 0
    unless a search over all nodes would visit more than about five thousand million pairs of
    edges, as in a graph of a million nodes in which somebody knows everybody.
    """
    tail = distribution.tail
    low, high = 0, len(tail) - 1
    while low < high:
        middle = (low + high) // 2
        compared = tail[min(middle + 1, len(tail) - 1)]
        if np.square(np.minimum(expected, compared)).sum() / 2 <= _MOST_PAIRS:
            high = middle
        else:
            low = middle + 1
    return low
