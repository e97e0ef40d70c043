"""Every measure of `compare` equals simple loops, igraph and networkx."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.anonymize.output.json_form import comparison_json
from coterie.anonymize.utility import paths
from coterie.anonymize.utility.measures import compare, measure
from coterie.anonymize.utility.paths import path_lengths
from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.kernels.graphs.triangles import core_numbers, triangles

Edges = list[tuple[int, int]]


def _graph(edges: Edges, n: int) -> Graph:
    return Graph.from_edges([u for u, _ in edges], [v for _, v in edges], n_nodes=n)


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[Edges, int]:
    n = draw(st.integers(1, 14))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [], n


@settings(max_examples=80, deadline=None)
@given(small_graphs())
def test_measures_equal_the_reference(case: tuple[Edges, int]) -> None:
    edges, n = case
    graph = _graph(edges, n)
    m = measure(graph, blocks=np.arange(n) % 2)
    mean, longest = reference.path_lengths(edges, n)
    assert m.average_path_length == pytest.approx(mean)
    assert m.diameter == longest
    assert m.global_clustering == pytest.approx(reference.global_clustering(edges, n))
    assert m.average_local_clustering == pytest.approx(reference.average_local_clustering(edges, n))
    expected = np.nan_to_num(reference.assortativity(edges, n))  # 0 if undefined
    assert m.assortativity == pytest.approx(expected, abs=1e-9)
    assert m.largest_component == max(map(len, reference.components(edges, n))) / n
    assert m.isolates == reference.degrees(edges, n).count(0)
    assert core_numbers(graph.indptr, graph.indices).tolist() == reference.core_numbers(edges, n)
    near = reference.neighbours(edges, n)
    assert triangles(graph.indptr, graph.indices).tolist() == [
        reference.triangles_of(near, u) for u in range(n)
    ]
    if edges:
        assert m.modularity == pytest.approx(reference.modularity(edges, [v % 2 for v in range(n)]))


def test_measures_equal_igraph_and_networkx() -> None:
    network = nx.powerlaw_cluster_graph(700, 3, 0.4, seed=1)
    network.add_nodes_from([700, 701])
    edges = list(network.edges)
    m = measure(_graph(edges, 702), LocalEngine(2))
    other = igraph.Graph(n=702, edges=edges)
    assert m.average_path_length == pytest.approx(other.average_path_length())
    assert m.diameter == other.diameter()
    assert m.global_clustering == pytest.approx(other.transitivity_undirected())
    assert m.average_local_clustering == pytest.approx(nx.average_clustering(network))
    assert m.assortativity == pytest.approx(other.assortativity_degree(directed=False))
    assert m.core_max == max(other.coreness())
    assert m.largest_component == other.connected_components().giant().vcount() / 702
    expected = np.sort(np.linalg.eigvalsh(nx.to_numpy_array(network)))[::-1][:20]
    assert m.spectrum == pytest.approx(expected.tolist(), abs=1e-6)


def test_interval_of_sampled_path_lengths_contains_the_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edges = list(nx.barabasi_albert_graph(3000, 2, seed=2).edges)
    graph = _graph(edges, 3000)
    exact = path_lengths(graph)
    monkeypatch.setattr(paths, "EXACT_WORK", 1)
    sampled = path_lengths(graph)
    assert exact.exact and exact.interval == (exact.mean, exact.mean)
    assert not sampled.exact
    assert sampled.interval[0] < exact.mean < sampled.interval[1]
    assert sampled.interval[1] - sampled.interval[0] < 0.2


def test_a_graph_is_similar_to_itself() -> None:
    graph = _graph([(0, 1), (1, 2), (2, 0), (2, 3)], 5)
    comparison = compare(graph, graph)
    assert comparison.original == comparison.published
    assert comparison.degree_ks == 0.0


def test_comparison_json_has_the_documented_keys() -> None:
    graph = _graph([(0, 1), (1, 2), (2, 0), (2, 3)], 5)
    result = comparison_json(compare(graph, graph))
    assert set(result) == {"format_version", "original", "published", "degree_ks"}
    assert set(result["original"]) == set(result["published"]) == {
        "nodes", "edges", "average_path_length", "path_length_interval", "diameter",
        "global_clustering", "average_local_clustering", "degree_mean", "degree_max",
        "assortativity", "isolates", "largest_component", "core_max", "modularity", "spectrum",
        "distances", "clustering_by_degree", "community_modularity", "communities",
        "communities_for_half", "largest_community",
    }  # fmt: skip
    assert set(result["original"]["clustering_by_degree"][0]) == {
        "degree_from", "nodes", "clustering",
    }  # fmt: skip


def test_measures_of_an_empty_graph() -> None:
    m = measure(_graph([], 3))
    assert (m.average_path_length, m.diameter, m.global_clustering, m.isolates) == (0.0, 0, 0.0, 3)


def test_distances_of_a_long_path_are_those_of_the_formula() -> None:
    """Few nodes are in the front of the search, which has as many levels as the path has nodes."""
    n = 1500
    path = Graph.from_edges(np.arange(n - 1), np.arange(1, n))
    expected = [n] + [2 * (n - d) for d in range(1, n)]
    assert path_lengths(path).counts.tolist() == expected


def test_a_path_of_many_people_is_measured_from_a_sample() -> None:
    """All pairs of 100,000 people in a row would take hours."""
    n = 3000
    found = path_lengths(Graph.from_edges(np.arange(n - 1), np.arange(1, n)))
    assert not found.exact
    assert found.interval[0] <= (n + 1) / 3 <= found.interval[1]
