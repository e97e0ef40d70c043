"""Randomized response: its law, its privacy, and the size that it refuses."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import exp

import numpy as np
import pytest
from benchmarks.baselines.randomized_response import (
    expected_false_edges,
    flip_probability,
    randomized_response,
)
from scipy.stats import chisquare
from tests import reference

from benchmarks.baselines import randomized_response as module
from coterie.base.errors import InputError
from coterie.data import Graph

PAIRS = [(u, v) for v in range(4) for u in range(v)]
TRIANGLE = {(0, 1), (0, 2), (1, 2)}


def _edges(graph: Graph) -> frozenset[tuple[int, int]]:
    source, target = (ends.tolist() for ends in graph.edges())
    return frozenset((min(e), max(e)) for e in zip(source, target, strict=True))


def test_every_graph_has_its_probability() -> None:
    """All 64 graphs on four nodes, by chi-square."""
    graph = Graph.from_edges(*np.array(sorted(TRIANGLE)).T, n_nodes=4)
    rng = np.random.default_rng(1)
    drawn = Counter(_edges(randomized_response(graph, Fraction(1), rng)) for _ in range(20_000))
    every = [frozenset(c) for k in range(7) for c in combinations(PAIRS, k)]
    expected = [reference.randomized_response_probability(TRIANGLE, set(e), 4, 1.0) for e in every]
    assert sum(expected) == pytest.approx(1)
    observed = [drawn[e] for e in every]
    assert chisquare(observed, np.array(expected) * 20_000).pvalue > 1e-4


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_edge_changes_the_probability_by_e_to_the_epsilon(epsilon: float) -> None:
    path = {(0, 1), (1, 2)}
    ratios = [
        reference.randomized_response_probability(TRIANGLE, set(drawn), 4, epsilon)
        / reference.randomized_response_probability(path, set(drawn), 4, epsilon)
        for k in range(7)
        for drawn in combinations(PAIRS, k)
    ]
    assert max(ratios) == pytest.approx(exp(epsilon))
    assert min(ratios) == pytest.approx(exp(-epsilon))
    flip = flip_probability(Fraction(str(epsilon)))
    assert (1 - flip) / flip == pytest.approx(exp(epsilon))


def test_missing_pairs_are_numbered_without_gaps() -> None:
    graph = Graph.from_edges([0, 1, 2, 5], [1, 2, 3, 7], n_nodes=8)
    missing = 8 * 7 // 2 - 4
    found = zip(
        *(x.tolist() for x in module._missing_pairs(graph, np.arange(missing))), strict=True
    )
    every = {(u, v) for v in range(8) for u in range(v)}
    assert sorted(found) == sorted(every - _edges(graph))


def test_pair_numbers_are_exact_for_large_graphs() -> None:
    number = np.arange(1000) * 49_999_999_999_9 + np.arange(1000) % 7
    low, high = module._pair_of(number)
    assert (module._pair_number(low, high) == number).all()
    assert (low >= 0).all() and (low < high).all()


def test_too_many_false_edges_are_refused() -> None:
    graph = Graph.from_edges([0], [1], n_nodes=1000)
    assert expected_false_edges(graph, Fraction(1)) == pytest.approx(499_499 * 0.268941, rel=1e-4)
    with pytest.raises(InputError, match="about 134,336 false edges"):
        randomized_response(graph, Fraction(1), np.random.default_rng(0), max_false_edges=100_000)
