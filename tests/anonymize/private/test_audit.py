"""An audit by sampling: what an attacker can prove about the noise, and mutants that it must catch.

Each answer is drawn many times on two neighbours (no edge, one edge). The lower bound on epsilon
(Clopper-Pearson, wrong once in 1e9) must not exceed epsilon, and must come near it, or the audit is
blind.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.reference import choice_probabilities
from tests.support.privacy_checks import (
    SmallGraph,
    audited_epsilon,
    largest_change,
    star,
    two_hubs,
)

from coterie.anonymize.private import budget, exact_counts, noise, public_rules
from coterie.data import Graph
from coterie.kernels.anonymize.private_counts import place_nodes

SAMPLES = 400_000  # the bound is then about .96 ± .005 of epsilon
EPSILON = Fraction(1)
NO_EDGE = SmallGraph(2, frozenset()).graph()
ONE_EDGE = SmallGraph(2, frozenset({(0, 1)})).graph()

Mechanism = Callable[[np.ndarray, int, Fraction], np.ndarray]


def audit_answer(
    exact: Callable[[Graph], np.ndarray], sensitivity: int, add: Mechanism = noise.add_noise
) -> float:
    """Return the audited epsilon of one answer; the event is that all its cells are large."""
    smallest = []
    for graph in (NO_EDGE, ONE_EDGE):
        cells = np.tile(exact(graph), (SAMPLES, 1))
        smallest.append(add(cells, sensitivity, EPSILON).min(axis=1))
    return audited_epsilon(*smallest, np.arange(0, 4))


# One edge more changes every cell of these answers, so that the audit can see the whole loss.
ANSWERS = {
    "edges": (exact_counts.edge_count, 1),
    "degrees": (exact_counts.degrees, 2),
    "degree counts": (lambda g: exact_counts.degree_counts(g, 1), 2),
    "largest degrees": (lambda g: exact_counts.largest_degrees(g, 2), 2),
    "edges between blocks": (lambda g: exact_counts.edges_between(g, np.zeros(2, int), 1), 1),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_audit_of_an_answer_is_within_epsilon_and_not_blind(name: str) -> None:
    bound = audit_answer(*ANSWERS[name])
    assert 0.9 * EPSILON <= bound <= EPSILON


def test_audit_of_a_capped_sum_is_within_epsilon_and_not_blind() -> None:
    """Two nodes that share two others, joined or not: 3.3 of the 4 that the noise allows for."""
    joined = SmallGraph(4, two_hubs(4).edges | {(0, 1)})
    cap = 2
    samples = [
        noise.add_noise(
            np.tile(exact_counts.capped_clustering(graph.graph(), 0, cap), SAMPLES),
            exact_counts.capped_sensitivity(cap),
            EPSILON,
        )
        for graph in (two_hubs(4), joined)
    ]
    bound = audited_epsilon(*samples, np.arange(0, 80, 20))
    assert 0.75 * EPSILON <= bound <= EPSILON


def choices(one_more: bool, epsilon: Fraction) -> np.ndarray:
    """Place one node many times: one neighbour in block 0, none or one in block 1."""
    near_0, near_1 = 1, int(one_more)
    graph = Graph.from_edges(
        [0] * (near_0 + near_1), list(range(1, 1 + near_0 + near_1)), n_nodes=3
    )
    drawn = noise.geometric_noise(1 / epsilon, 2 * SAMPLES).reshape(-1, 2)
    labels = np.empty(SAMPLES, np.int64)
    start = np.array([-1, 0, 1], np.int32)
    for i in range(SAMPLES):
        placed = start.copy()
        place_nodes(
            graph.indptr,
            graph.indices,
            np.zeros(1, np.int64),
            drawn[i : i + 1],
            np.ones(3),
            3.0,
            placed,
            np.zeros(2),
        )
        labels[i] = placed[0]
    return labels


def test_audit_of_the_stream_is_within_epsilon_and_not_blind() -> None:
    bound = audited_epsilon(choices(False, EPSILON), choices(True, EPSILON), np.array([1]))
    assert 0.9 * EPSILON <= bound <= EPSILON


def largest_choice_loss(rate: float) -> float:
    """Return the largest log-ratio of any choice, over rows of counts that differ by one edge."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(40):
        k = int(rng.integers(2, 5))
        counts = rng.integers(0, 4, k).tolist()
        public = rng.integers(0, 2**18, k).tolist()
        here = np.array(choice_probabilities(counts, public, rate, 120))
        assert here.sum() == pytest.approx(1, abs=1e-9)
        for cell in range(k):
            more = [count + (i == cell) for i, count in enumerate(counts)]
            there = np.array(choice_probabilities(more, public, rate, 120))
            largest = max(largest, float(np.abs(np.log(here) - np.log(there)).max()))
    return largest


def test_choice_of_a_block_costs_at_most_epsilon() -> None:
    """The law of a choice in closed form: one neighbour more in any block."""
    assert 0.99 < largest_choice_loss(1.0) <= 1 + 1e-6


# --- mutants: each must be caught ------------------------------------------------------------


def test_mutant_with_halved_scale_is_caught() -> None:
    def halved(exact: np.ndarray, sensitivity: int, epsilon: Fraction) -> np.ndarray:
        return noise.add_noise(exact, sensitivity, 2 * epsilon)

    for answer in ("edges", "degrees"):
        assert audit_answer(*ANSWERS[answer], halved) > 1.5 * EPSILON
    assert largest_choice_loss(2.0) > 1.5


def test_mutant_with_sensitivity_one_for_degrees_is_caught() -> None:
    assert audit_answer(exact_counts.degrees, 1) > 1.5 * EPSILON
    assert largest_change(exact_counts.degrees, star(5)) == 2


def test_mutant_with_one_noise_for_both_cells_is_caught() -> None:
    """Rounding or reusing noise is not seen by a chi-square test of single samples."""

    def shared(exact: np.ndarray, sensitivity: int, epsilon: Fraction) -> np.ndarray:
        one = noise.add_noise(np.zeros((len(exact), 1), np.int64), sensitivity, epsilon)
        return exact + one

    here, there = (shared(np.tile(x, (SAMPLES, 1)), 2, EPSILON) for x in ([0, 0], [0, 1]))
    different = [(x[:, 0] != x[:, 1]).astype(int) for x in (here, there)]
    assert audited_epsilon(*different, np.array([1])) > 1.5 * EPSILON


def test_mutant_with_shares_above_one_is_caught() -> None:
    shares = {**vars(budget.SHARES), "labels": budget.SHARES.labels + Fraction(1, 100)}
    with pytest.raises(ValueError, match="add up to exactly 1"):
        budget.Shares(**shares)
    for each in (*budget.PURPOSES.values(), budget.SHARES_BEFORE):
        assert sum(each.parts()) == 1


def test_mutant_with_a_cap_read_from_the_data_is_caught() -> None:
    """The number of degree counts comes from noisy degrees; from the true ones it would leak."""

    def leaking(graph: Graph) -> np.ndarray:
        return exact_counts.degree_counts(graph, int(graph.degrees.max(initial=0)))

    noisy = np.array([3, 1, 0, 2, 5])

    def right(graph: Graph) -> np.ndarray:
        length = public_rules.n_degree_counts(graph.n_nodes, noisy)
        return exact_counts.degree_counts(graph, length)

    assert largest_change(right, star(5)) <= 2
    assert largest_change(leaking, star(5)) == np.inf
