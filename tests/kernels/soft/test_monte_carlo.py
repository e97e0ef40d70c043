"""The Monte Carlo update: its exact mean on small cases, its limit on larger ones."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.kernels.numba.alias import alias_tables
from coterie.models.soft.graph_problem import GraphProblem, GraphSettings
from coterie.models.soft.observation_shards import Pairs
from coterie.models.soft.problems import graph_values
from coterie.models.soft.rating_problem import RatingProblem
from coterie.models.soft.state import SoftShape, SoftState, initial_state


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(0, 3))
@example([2.2250738585e-313], 0)
@example([5e-324, 5e-324, 1e-310], 1)
def test_alias_tables_represent_the_distribution(weights, zeros):
    weights = np.array(weights + [0.0] * zeros)
    if weights.sum() == 0:
        weights[0] = 1.0
    keep, other = alias_tables(weights[None, :])
    drawn = np.zeros(len(weights))
    for slot in range(len(weights)):
        drawn[slot] += keep[0, slot]
        drawn[other[0, slot]] += 1 - keep[0, slot]
    np.testing.assert_allclose(drawn / len(weights), weights / weights.sum(), atol=1e-12)
    assert (drawn[weights == 0] == 0).all()


def one_edge(samples: int, seed: int, repeats: int) -> tuple[SoftState, np.ndarray]:
    """Update one edge `repeats` times with independent draws; return the start and the rows."""
    rng = np.random.default_rng(seed)
    first = initial_state(SoftShape(1, 1, 2, 2, 2), "random", rng)
    state = SoftState(
        np.repeat(first.rows, repeats, 0), np.repeat(first.columns, repeats, 0), first.theta
    )
    each = np.arange(repeats, dtype=np.int32)
    pairs = Pairs(each, each, np.ones(repeats, np.int32), repeats, repeats, 2)
    problem = RatingProblem(pairs, (2, 2), LocalEngine(1), samples=samples)
    after = problem.from_engine(problem.step(problem.to_engine(state), rng)[0])
    return first, after.rows


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_mean_update_equals_the_enumerated_mean(samples):
    """The expected mean enumerates all outcomes of s draws with their probabilities."""
    first, drawn = one_edge(samples, seed=samples, repeats=40_000)
    h_u, h_v, theta = first.rows[0], first.columns[0], np.moveaxis(first.theta, 0, 2)
    mean = np.zeros(2)
    pairs = list(product(range(2), range(2)))
    for outcome in product(pairs, repeat=samples):
        i, j = zip(*outcome, strict=True)
        chance = np.prod([h_u[a] * h_v[b] for a, b in outcome])
        mean += chance * reference.mcmmsbm_shares(i, j, h_u, h_v, theta, 1).sum(axis=1)
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (abs(drawn.mean(axis=0) - mean) <= 5 * error).all()
    assert error.max() < 0.005


def test_bias_decreases_as_one_over_samples():
    exact = None
    biases, errors = [], []
    for samples in (2, 8, 32):
        first, drawn = one_edge(samples, seed=11, repeats=100_000)
        theta = np.moveaxis(first.theta, 0, 2)
        x, _ = reference.responsibilities(first.rows[0], first.columns[0], theta, 1)
        exact = x.sum(axis=1)
        biases.append(abs(drawn.mean(axis=0) - exact)[0])
        errors.append(drawn.std(axis=0)[0] / np.sqrt(len(drawn)))
    assert biases[0] > 5 * errors[0]  # there is a measurable bias
    assert biases[1] < biases[0] / 2 + 5 * errors[1]
    assert biases[2] < biases[0] / 8 + 5 * errors[2]


def test_many_draws_approach_the_exact_update():
    rng = np.random.default_rng(0)
    shape = SoftShape(12, 9, 3, 4, 3)
    observed = [
        (int(rng.integers(12)), int(rng.integers(9)), int(rng.integers(3))) for _ in range(80)
    ]
    u, v, r = (np.array(c, np.int32) for c in zip(*observed, strict=True))
    pairs = Pairs(u, v, r, 12, 9, 3)
    first = initial_state(shape, "random", rng)
    results = []
    for samples in (0, 20_000):
        problem = RatingProblem(pairs, (3, 4), LocalEngine(1), samples=samples)
        results.append(problem.from_engine(problem.step(problem.to_engine(first), rng)[0]))
    for exact, sampled in zip(*results, strict=True):
        assert abs(exact - sampled).max() < 0.02
    np.testing.assert_allclose(results[1].rows.sum(axis=1), 1)


def test_impossible_draws_fall_back_to_the_exact_update():
    """Only the rare group 1 of each side can produce the rating, so draws rarely hit it."""
    h = np.array([[1 - 1e-9, 1e-9]])
    theta = np.zeros((2, 2, 2))
    theta[0] = [[1, 1], [1, 0]]
    theta[1] = [[0, 0], [0, 1]]
    pairs = Pairs(*(np.zeros(1, np.int32),) * 2, np.ones(1, np.int32), 1, 1, 2)
    problem = RatingProblem(pairs, (2, 2), LocalEngine(1), samples=5)
    engine_state, entropy = problem.step(
        problem.to_engine(SoftState(h, h, theta)), np.random.default_rng(0)
    )
    after = problem.from_engine(engine_state)
    np.testing.assert_allclose(after.rows, [[0, 1]], atol=1e-12)
    np.testing.assert_allclose(after.columns, [[0, 1]], atol=1e-12)
    assert after.theta[1, 1, 1] == 1
    assert entropy == pytest.approx(-2 * np.log(1e-9))


def test_cells_that_are_never_drawn_keep_their_theta():
    h = np.array([[1.0, 0.0]])
    theta = initial_state(SoftShape(1, 1, 2, 2, 2), "random", np.random.default_rng(0)).theta
    pairs = Pairs(*(np.zeros(1, np.int32),) * 3, 1, 1, 2)
    problem = RatingProblem(pairs, (2, 2), LocalEngine(1), samples=3)
    engine_state, _ = problem.step(
        problem.to_engine(SoftState(h, h, theta)), np.random.default_rng(0)
    )
    after = problem.from_engine(engine_state)
    np.testing.assert_array_equal(after.theta[:, 1], theta[:, 1])
    np.testing.assert_array_equal(after.theta[:, 0, 0], [1, 0])


@pytest.mark.parametrize("directed", [False, True])
def test_many_draws_on_a_graph_approach_the_exact_update(directed):
    rng = np.random.default_rng(1)
    u, v = np.nonzero(rng.random((15, 15)) < 0.3)
    graph = Graph.from_edges(u, v, n_nodes=15, directed=directed)
    values = graph_values(graph, "exact")
    first = initial_state(SoftShape(15, 15, 3, 3, 2, True, not directed), "random", rng)
    steps = []
    for samples in (0, 20_000):
        settings = GraphSettings("exact", 1, samples, 0.0)
        problem = GraphProblem(graph, values, settings, LocalEngine(1))
        steps.append(problem.step(first, np.random.default_rng(0)))
    (exact, entropy), (sampled, same_entropy) = steps
    assert same_entropy == pytest.approx(entropy)
    assert abs(exact.rows - sampled.rows).max() < 0.01
    assert abs(exact.theta - sampled.theta).max() < 0.02
