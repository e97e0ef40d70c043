"""EM over the pairs of a graph, present and absent, compared with the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.models.soft.graph_problem import GraphProblem, GraphSettings
from coterie.models.soft.problems import graph_values
from coterie.models.soft.state import SoftShape, SoftState, initial_state

EXACT = GraphSettings("exact", 1, 0, 0.0)


@st.composite
def graphs(draw, weighted=False):
    """Draw (graph, number of groups, seed)."""
    n = draw(st.integers(1, 7))
    directed = draw(st.booleans())
    nodes = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(nodes, nodes, st.integers(1, 3)), max_size=15))
    unique = {(u, v) if directed else (min(u, v), max(u, v)): (u, v, w) for u, v, w in edges}
    edges = list(unique.values())
    u, v, w = (list(c) for c in zip(*edges, strict=True)) if edges else ([], [], [])
    graph = Graph.from_edges(u, v, n_nodes=n, directed=directed, weights=w if weighted else None)
    return graph, draw(st.integers(1, 4)), draw(st.integers(0, 2**32))


def problem_of(graph: Graph, settings: GraphSettings) -> tuple[GraphProblem, int]:
    values = graph_values(graph, settings.absent)
    return GraphProblem(graph, values, settings, LocalEngine(1)), len(values)


def first_state(graph: Graph, k: int, n_levels: int, seed: int) -> SoftState:
    shape = SoftShape(graph.n_nodes, graph.n_nodes, k, k, n_levels, True, not graph.directed)
    return initial_state(shape, "random", np.random.default_rng(seed))


def observations(graph: Graph, levels: np.ndarray, with_absent: bool) -> list[tuple[int, int, int]]:
    """Return every pair once, with its level."""
    found = {}
    for u in range(graph.n_nodes):
        for e in range(graph.indptr[u], graph.indptr[u + 1]):
            found[u, int(graph.indices[e])] = int(levels[e])
    return [
        (u, v, found.get((u, v), 0))
        for u in range(graph.n_nodes)
        for v in range(graph.n_nodes)
        if (u != v if graph.directed else u < v) and (with_absent or (u, v) in found)
    ]


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([0.0, 0.05]), st.sampled_from([(1, 1e-10), (10, 1e-8)]))
def test_exact_absent_pairs_equal_the_reference(case, prior, wanted):
    graph, k, seed = case
    iterations, tolerance = wanted
    problem, n_levels = problem_of(graph, EXACT._replace(prior=prior))
    state = first_state(graph, k, n_levels, seed)
    h, P = state.rows, state.theta[1]
    edges = list(zip(*(side.tolist() for side in graph.edges()), strict=True))
    for _ in range(iterations):
        expected = reference.simple_graph_entropy(edges, h, P, graph.directed)
        state, entropy = problem.step(state, np.random.default_rng(0))
        h, P = reference.simple_graph_iteration(edges, h, P, graph.directed, prior)
        assert entropy == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(state.rows, h, atol=tolerance)
    np.testing.assert_allclose(state.theta[1], P, atol=tolerance)
    expected = reference.simple_graph_entropy(edges, h, P, graph.directed)
    assert problem.entropy(state) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(graphs(weighted=True), st.sampled_from(["exact", "ignored"]))
def test_each_distinct_weight_is_a_level(case, absent):
    graph, k, seed = case
    if absent == "ignored" and not len(graph.indices):
        return
    problem, n_levels = problem_of(graph, EXACT._replace(absent=absent))
    state = first_state(graph, k, n_levels, seed)
    values = graph_values(graph, absent)
    levels = np.searchsorted(values[absent == "exact" :], graph.weights) + (absent == "exact")
    pairs = observations(graph, levels, absent == "exact")
    theta = np.moveaxis(state.theta, 0, 2)
    h, new_theta = reference.mmsbm_graph_iteration(pairs, state.rows, theta, graph.directed)
    expected = reference.mmsbm_entropy(pairs, state.rows, state.rows, theta)
    after, entropy = problem.step(state, np.random.default_rng(0))
    assert entropy == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(after.rows, h, atol=1e-10)
    np.testing.assert_allclose(np.moveaxis(after.theta, 0, 2), new_theta, atol=1e-10)


@pytest.mark.parametrize("directed", [False, True])
def test_sampled_absent_pairs_are_unbiased(directed):
    """Means over many random streams are within five standard errors of the exact values."""
    rng = np.random.default_rng(3)
    n, k = 40, 3
    u, v = np.nonzero(rng.random((n, n)) < 0.2)
    graph = Graph.from_edges(u, v, n_nodes=n, directed=directed)
    state = first_state(graph, k, 2, 5)
    exact, _ = problem_of(graph, EXACT)
    sampled, _ = problem_of(graph, EXACT._replace(absent="sampled", absent_samples=20))
    wanted, entropy = exact.step(state, rng)
    runs = [sampled.step(state, np.random.default_rng(seed)) for seed in range(400)]
    for drawn, truth in (
        (np.array([s.rows for s, _ in runs]), wanted.rows),
        (np.array([s.theta for s, _ in runs]), wanted.theta),
        (np.array([e for _, e in runs]), entropy),
    ):
        error = drawn.std(axis=0) / np.sqrt(len(drawn))
        # Dividing by the row's sum leaves a bias of the order of the variance.
        assert (abs(drawn.mean(axis=0) - truth) <= 5 * error + drawn.var(axis=0) + 1e-12).all()


def test_sampled_absent_pairs_are_more_accurate_than_uniform_sampling():
    """The closed-form terms reduce the error of h to a quarter of that of plain sampling."""
    rng = np.random.default_rng(0)
    n, s = 60, 30
    u, v = np.nonzero(rng.random((n, n)) < 0.1)
    graph = Graph.from_edges(u, v, n_nodes=n)
    state = first_state(graph, 3, 2, 1)
    state.theta[1] *= 0.4
    state.theta[0] = 1 - state.theta[1]
    exact = problem_of(graph, EXACT)[0].step(state, rng)[0].rows
    sampled = problem_of(graph, EXACT._replace(absent="sampled", absent_samples=s))[0]
    errors = [
        abs(sampled.step(state, np.random.default_rng(i))[0].rows - exact).max() for i in range(20)
    ]
    h, theta = state.rows, state.theta
    neighbours = [
        set(graph.indices[graph.indptr[a] : graph.indptr[a + 1]].tolist()) for a in range(n)
    ]
    plain_errors = []
    for _ in range(20):
        numerators = np.zeros_like(h)
        for a in range(n):
            absent = [b for b in range(n) if b != a and b not in neighbours[a]]
            for b in neighbours[a]:
                x = h[a] * (theta[1] @ h[b])
                numerators[a] += x / x.sum()
            for b in rng.choice(absent, s):
                x = h[a] * (theta[0] @ h[b])
                numerators[a] += x / x.sum() * len(absent) / s
        plain_errors.append(abs(numerators / (n - 1) - exact).max())
    assert np.mean(errors) < 0.25 * np.mean(plain_errors)


def test_entropy_never_increases_with_exact_absent_pairs():
    rng = np.random.default_rng(0)
    u, v = np.nonzero(rng.random((50, 50)) < 0.1)
    problem, _ = problem_of(graph := Graph.from_edges(u, v, n_nodes=50), EXACT)
    state = first_state(graph, 4, 2, 0)
    entropies = []
    for _ in range(60):
        state, entropy = problem.step(state, rng)
        entropies.append(entropy)
    assert (np.diff(entropies) <= 1e-9 * abs(np.array(entropies[1:]))).all()
    assert entropies[-1] < 0.95 * entropies[0]
