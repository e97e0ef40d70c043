"""Forces and movement of the layout kernel against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import reference

from coterie.data import Graph
from coterie.kernels.graphs.layout import force_layout, pivot_distances, repulsion


def random_graph(n: int, m: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(rng.integers(0, n, m), rng.integers(0, n, m), n_nodes=n)


def rows(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64)


@given(st.integers(2, 60), st.integers(0, 5))
def test_repulsion_without_approximation_is_the_sum_over_all_pairs(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    place, mass = rng.normal(size=(n, 2)), rng.uniform(1, 9, n)
    between = place[:, None] - place
    square = (between**2).sum(2) + np.eye(n)
    wanted = ((mass[:, None] * mass / square)[:, :, None] * between).sum(1)
    np.testing.assert_allclose(repulsion(place, mass, 0.0), wanted, rtol=1e-9, atol=1e-9)


def test_repulsion_by_cells_is_close_to_the_exact_one() -> None:
    rng = np.random.default_rng(1)
    place, mass = rng.normal(size=(2_000, 2)), rng.uniform(1, 9, 2_000)
    exact, fast = repulsion(place, mass, 0.0), repulsion(place, mass, 0.9)
    error = np.linalg.norm(fast - exact, axis=1) / np.linalg.norm(exact, axis=1).mean()
    assert error.mean() < 0.02
    assert error.max() < 0.2


def test_coincident_nodes_do_not_break_the_tree() -> None:
    place = np.zeros((100, 2))
    place[-1] = 1.0
    force = repulsion(place, np.ones(100), 0.9)
    assert np.isfinite(force).all()
    assert force[-1, 0] == pytest.approx(99 * 0.5)


def test_the_first_step_follows_the_forces() -> None:
    """Without a history the swing is the force itself, so the step of each node is known."""
    graph = random_graph(40, 90, 3)
    start = np.random.default_rng(3).normal(size=(40, 2)) * 20
    force = reference.layout_forces(
        zip(*(ends.tolist() for ends in graph.edges()), strict=True), start, 2.0, 1.5
    )
    mass = 1.0 + graph.degrees
    size = np.linalg.norm(force, axis=1)
    speed = min((mass * size / 2).sum() / (mass * size).sum(), 1.5)
    step = np.minimum(0.1 * speed / (1 + speed * np.sqrt(size)), 10 / size)
    moved = force_layout(*rows(graph), start, 1, 2.0, 1.5, 0.0)
    np.testing.assert_allclose(moved, start + step[:, None] * force, rtol=1e-9)


def test_layout_comes_to_rest_where_forces_balance() -> None:
    """Two connected nodes rest at d = scaling * 2 * 2 / d, if gravity is weak."""
    graph = Graph.from_edges([0], [1])
    start = np.array([[-1.0, 0.0], [9.0, 0.0]])
    place = force_layout(*rows(graph), start, 2_000, 4.0, 0.0, 0.9)
    assert np.linalg.norm(place[0] - place[1]) == pytest.approx(4.0, rel=1e-3)


def test_pivot_distances_are_shortest_paths_to_far_nodes() -> None:
    path = Graph.from_edges(np.arange(9), np.arange(1, 10))
    found = pivot_distances(*rows(path), 3, 2)
    node = np.arange(10)
    # The farthest from node 2 is node 9; then node 5, which is 3 from node 2 and 4 from node 9.
    np.testing.assert_array_equal(found[:, 0], abs(node - 2))
    np.testing.assert_array_equal(found[:, 1], abs(node - 9))
    np.testing.assert_array_equal(found[:, 2], abs(node - 5))
