"""The queries of PGB, compared with plain versions and with networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from benchmarks.baselines.pgb_queries import (
    HIGHER_IS_BETTER,
    PGB_QUERIES,
    QUERY_NAMES,
    answer_queries,
    divergence,
    eigenvector_centrality,
    query_errors,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.data import Graph


def _graph(edges: list[tuple[int, int]], n: int) -> Graph:
    ends = np.array(edges, np.int64).reshape(-1, 2)
    return Graph.from_edges(ends[:, 0], ends[:, 1], n_nodes=n)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int]:
    n = draw(st.integers(2, 9))
    pairs = [(u, v) for v in range(n) for u in range(v)]
    return sorted(draw(st.sets(st.sampled_from(pairs), min_size=1))), n


@given(graphs())
@settings(max_examples=40, deadline=None)
def test_answers_agree_with_the_definitions(made: tuple[list[tuple[int, int]], int]) -> None:
    edges, n = made
    answers = answer_queries(_graph(edges, n))
    near = reference.neighbours(edges, n)
    mean_path, diameter = reference.path_lengths(edges, n)
    assert (answers.nodes, answers.edges, answers.diameter) == (n, len(edges), diameter)
    assert answers.triangles == sum(reference.triangles_of(near, u) for u in range(n)) // 3
    assert answers.mean_degree == pytest.approx(2 * len(edges) / n)
    assert answers.degree_variance == pytest.approx(reference.degree_variance(edges, n))
    assert answers.distance_counts.tolist() == reference.distance_counts(edges, n)
    assert answers.mean_path == pytest.approx(mean_path)
    assert answers.global_clustering == pytest.approx(reference.global_clustering(edges, n))
    assert answers.local_clustering == pytest.approx(reference.average_local_clustering(edges, n))
    assert answers.modularity == pytest.approx(
        reference.modularity(edges, answers.communities.tolist())
    )


@pytest.mark.parametrize("n", [60, 700])
def test_answers_agree_with_networkx(n: int) -> None:
    """Below and above the size from which the eigenvector is found iteratively."""
    peer = nx.powerlaw_cluster_graph(n, 3, 0.6, seed=4)
    graph = _graph(list(peer.edges), n)
    answers = answer_queries(graph)
    assert answers.triangles == sum(nx.triangles(peer).values()) // 3
    assert answers.global_clustering == pytest.approx(nx.transitivity(peer))
    assert answers.local_clustering == pytest.approx(nx.average_clustering(peer))
    assert answers.assortativity == pytest.approx(nx.degree_assortativity_coefficient(peer))
    assert answers.diameter == nx.diameter(peer)
    assert answers.mean_path == pytest.approx(nx.average_shortest_path_length(peer))
    central = nx.eigenvector_centrality(peer, max_iter=10_000, tol=1e-10)
    expected = [central[v] for v in range(n)]
    np.testing.assert_allclose(eigenvector_centrality(graph), expected, atol=1e-6)
    np.testing.assert_allclose(answers.centrality, sorted(expected, reverse=True), atol=1e-6)


def test_centrality_without_edges_and_with_equal_components() -> None:
    assert eigenvector_centrality(_graph([], 4)).tolist() == [0.5] * 4
    two = eigenvector_centrality(_graph([(0, 1), (2, 3)], 4))
    np.testing.assert_allclose(two, 0.5)


histograms = st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(sum)


@given(histograms, histograms)
def test_divergence_agrees_with_its_definition(a: list[int], b: list[int]) -> None:
    assert divergence(np.array(a), np.array(b)) == pytest.approx(
        reference.kl_divergence(a, b), abs=1e-12
    )


def test_a_graph_has_no_error_against_itself() -> None:
    graph = _graph(list(nx.karate_club_graph().edges), 34)
    answers = answer_queries(graph)
    errors = query_errors(graph, answers, answers)
    for name in QUERY_NAMES:
        if name == "foreign_modularity":
            assert errors.foreign_modularity == pytest.approx(answers.modularity)
        else:
            wanted = float(name in HIGHER_IS_BETTER)
            assert getattr(errors, name) == pytest.approx(wanted, abs=1e-9), name


def test_errors_are_relative_to_the_original() -> None:
    """A triangle with a tail, compared with a star: every figure by hand."""
    first, second = _graph([(0, 1), (1, 2), (0, 2), (2, 3)], 4), _graph([(0, 1), (0, 2), (0, 3)], 4)
    original, drawn = answer_queries(first), answer_queries(second)
    errors = query_errors(first, original, drawn)
    assert errors.nodes == 0
    assert errors.edges == errors.mean_degree == pytest.approx(1 / 4)
    assert errors.triangles == errors.global_clustering == errors.local_clustering == 1
    assert errors.degree_variance == pytest.approx((1 - 2 / 3) / (2 / 3))
    assert errors.diameter == 0
    assert errors.mean_path == pytest.approx(((9 / 6) - (8 / 6)) / (8 / 6))
    assert errors.degree_kl == pytest.approx(reference.kl_divergence([0, 1, 2, 1], [0, 3, 0, 1]))
    assert errors.distance_kl == pytest.approx(reference.kl_divergence([4, 8, 4], [4, 6, 6]))
    assert errors.degree_ks == pytest.approx(0.5)
    assert errors.assortativity_difference == pytest.approx(
        abs(original.assortativity - drawn.assortativity)
    )
    assert errors.eigenvector_mae == pytest.approx(
        abs(original.centrality[0] - drawn.centrality[0])
    )


def test_there_are_fifteen_queries() -> None:
    assert len(PGB_QUERIES) == 15
    assert PGB_QUERIES[0] == "nodes" and PGB_QUERIES[-1] == "eigenvector_mae"
