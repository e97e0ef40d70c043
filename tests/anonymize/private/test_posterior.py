"""The posterior of the true answers: against rejection sampling, and its intervals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2_contingency
from tests.support import fitted_stand_ins as stand_ins

from coterie.anonymize.private import ladder, noise
from coterie.anonymize.private.answers import SketchAnswers, ask
from coterie.anonymize.private.draw import draw_graphs
from coterie.anonymize.private.posterior import (
    intervals,
    sample_answers,
    sample_count,
    sample_ladder,
)

MOST = 12
SAMPLES = 3000
RARE = 1e-6  # of a chi-square test whose two samples have the same law


@pytest.fixture(scope="module")
def answers() -> SketchAnswers:
    return stand_ins.sketch(stand_ins.clique_network(300, 12), "1")


def agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p-value of two samples having the same law; rare values are put together."""
    values = np.r_[first, second]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, 12)))
    table = [np.histogram(each, [*edges[:-1], np.inf])[0] for each in (first, second)]
    kept = [column for column in np.array(table).T if column.sum() > 10]
    return float(chi2_contingency(np.array(kept).T).pvalue)


@pytest.mark.parametrize("observed", [-3, 0, 5, 14])
def test_a_sampled_count_has_the_law_of_rejection_sampling(observed: int) -> None:
    """A true count, uniform on 0..12, plus noise of the mechanism; kept if it is `observed`."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, MOST + 1, 400_000)
    noisy = noise.add_noise(truth, 1, Fraction(1, 3))
    expected = truth[noisy == observed][:SAMPLES]
    found = np.array([sample_count(observed, Fraction(3), MOST, rng) for _ in range(SAMPLES)])
    assert len(expected) > 500
    assert agreement(expected, found) > RARE
    shifted = np.minimum(found + 1, MOST)  # the test sees a law that is off by one
    assert agreement(expected, shifted) < RARE


@pytest.mark.parametrize("observed", [-2, 4])
def test_a_sampled_ladder_value_has_the_law_of_rejection_sampling(observed: int) -> None:
    rng = np.random.default_rng(0)
    epsilon, kept = Fraction(1), []
    while len(kept) < 800:
        truth = int(rng.integers(0, 30))  # flat; both laws are compared below 30
        if ladder.draw(ladder.Ladder(truth, 1, 1), epsilon) == observed:
            kept.append(truth)
    found = [sample_ladder(observed, 1, 1, epsilon, rng) for _ in range(SAMPLES)]
    found = [value for value in found if value < 30]
    assert len(found) > 0.8 * SAMPLES
    assert agreement(np.array(kept), np.array(found)) > RARE


def test_impossible_answers_are_moved_to_what_is_possible(answers: SketchAnswers) -> None:
    rng = np.random.default_rng(0)
    assert sample_count(-(10**6), Fraction(1), 10, rng) == 0
    assert sample_count(10**6, Fraction(1), 10, rng) == 10
    sampled = sample_answers(answers, rng)
    assert 0 <= sampled.edge_count <= 300 * 299 // 2 and sampled.triangles >= 0
    assert np.array_equal(sampled.block_edges, sampled.block_edges.T)
    np.testing.assert_array_equal(sampled.labels, answers.labels)


def test_the_spread_of_samples_is_that_of_the_noise(answers: SketchAnswers) -> None:
    rng = np.random.default_rng(0)
    edges = np.array([sample_answers(answers, rng).edge_count for _ in range(400)])
    scale = 1 / float(answers.shares.edge_count)
    assert edges.std() == pytest.approx(np.sqrt(2) * scale, rel=0.2)
    found = intervals(answers)["edges"]
    inside = np.mean((edges >= found.low) & (edges <= found.high))
    assert 0.9 < inside <= 1.0


def test_draws_differ_by_the_noise_unless_the_point_is_asked_for(answers: SketchAnswers) -> None:
    spread = [graph.n_edges for graph in draw_graphs(answers, 6, rng=1)]
    point = [graph.n_edges for graph in draw_graphs(answers, 6, rng=1, point=True)]
    assert np.std(spread) > 20 > 10 * np.std(point)


def test_every_figure_has_an_interval_around_its_value(answers: SketchAnswers) -> None:
    found = intervals(answers)
    assert set(found) == {
        "edges",
        "mean_degree",
        "nodes_with_edges",
        "largest_degree",
        "triangles",
        "mean_clustering",
        "global_clustering",
        "assortativity",
        "modularity",
    }
    for key, each in found.items():
        assert each.low <= each.value <= each.high, key
    assert found == intervals(answers)


def test_intervals_of_a_small_network_cover() -> None:
    """16 networks are measured by benchmarks/private_intervals.py; here one, with few sketches."""
    graph = stand_ins.clique_network(400, 10)
    made = [ask(graph, np.arange(400), Fraction(2)) for _ in range(30)]
    found = [intervals(each)["edges"] for each in made]
    # fewer once in a million runs
    assert sum(each.low <= graph.n_edges <= each.high for each in found) >= 22
