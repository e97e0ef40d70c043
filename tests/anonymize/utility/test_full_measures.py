"""Every further measure of `compare --full` equals simple loops, networkx or igraph."""

from __future__ import annotations

import time

import igraph
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.anonymize.output.json_form import full_comparison_json
from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.utility.full_measures import (
    compare_fully,
    cores,
    full_rows,
    smallest_eigenvalue,
)
from coterie.anonymize.utility.graphlets import count_graphlets
from coterie.anonymize.utility.paths import betweenness_of_nodes, gini, pagerank
from coterie.anonymize.utility.resilience import (
    cut_points,
    epidemic_sizes,
    epidemic_threshold,
    robustness,
)
from coterie.base.json_values import as_json
from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.kernels.graphs.paths import dependencies
from coterie.kernels.graphs.resilience import largest_after_removal, largest_outbreak

Edges = list[tuple[int, int]]


def _graph(edges: Edges, n: int) -> Graph:
    return Graph.from_edges([u for u, _ in edges], [v for _, v in edges], n_nodes=n)


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[Edges, int]:
    n = draw(st.integers(1, 9))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    return draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [], n


@pytest.fixture(scope="module")
def network() -> nx.Graph:
    network = nx.powerlaw_cluster_graph(300, 4, 0.6, seed=3)
    network.add_edges_from([(300, 301), (302, 0), (303, 302)])
    network.add_node(304)
    return network


@pytest.fixture(scope="module")
def graph(network: nx.Graph) -> Graph:
    return _graph(list(network.edges), 305)


@settings(max_examples=60, deadline=None)
@given(small_graphs(), st.integers(0, 5))
def test_kernels_equal_the_reference(case: tuple[Edges, int], seed: int) -> None:
    edges, n = case
    graph = _graph(edges, n)
    counted = count_graphlets(graph, LocalEngine(1 + seed % 3))
    assert {key: getattr(counted, key) for key in reference.PATTERNS.values()} == (
        reference.graphlets(edges, n)
    )
    assert counted.squares == counted.four_cycles + counted.diamonds + 3 * counted.four_cliques
    order = np.random.default_rng(seed).permutation(n)
    through = dependencies(graph.indptr, graph.indices, order[: n // 2 + 1])
    expected = reference.betweenness(edges, n, order[: n // 2 + 1].tolist())
    assert through.tolist() == pytest.approx(expected)
    assert largest_after_removal(graph.indptr, graph.indices, order).tolist() == [
        reference.largest_component_without(edges, n, order[:i].tolist()) for i in range(n + 1)
    ]
    assert tuple(cut_points(graph)) == reference.cut_points(edges, n)


@settings(max_examples=15, deadline=None)
@given(small_graphs(), st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_outbreaks_have_the_expected_size(case: tuple[Edges, int], chance: float) -> None:
    edges, n = case[0][:7], case[1]
    graph = _graph(edges, n)
    sizes = [
        largest_outbreak(graph.indptr, graph.indices, chance, np.uint64(key)) for key in range(800)
    ]
    error = 5 * np.std(sizes) / np.sqrt(800) + 1e-9
    assert np.mean(sizes) == pytest.approx(reference.expected_outbreak(edges, n, chance), abs=error)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20))
def test_gini_equals_the_reference(values: list[float]) -> None:
    assert gini(np.array(values)) == pytest.approx(reference.gini(values), abs=1e-9)


def test_graphlets_equal_igraph(network: nx.Graph, graph: Graph) -> None:
    other = igraph.Graph(n=305, edges=list(network.edges))
    size4 = other.motifs_randesu(4)
    found = count_graphlets(graph, LocalEngine(2))
    # igraph numbers the connected patterns of four nodes 4, 6, 7, 8, 9, 10
    assert [size4[i] for i in (4, 6, 7, 8, 9, 10)] == [
        found.four_stars, found.four_paths, found.tailed_triangles, found.four_cycles,
        found.diamonds, found.four_cliques,
    ]  # fmt: skip
    assert found.triangles == sum(nx.triangles(network).values()) // 3


def test_centralities_equal_networkx(network: nx.Graph, graph: Graph) -> None:
    values, sources = betweenness_of_nodes(graph, 1000, LocalEngine(2))
    expected = nx.betweenness_centrality(network)
    assert sources == 305
    assert values.tolist() == pytest.approx([expected[v] for v in range(305)])
    ranks = nx.pagerank(network, tol=1e-12)
    assert pagerank(graph).tolist() == pytest.approx([ranks[v] for v in range(305)], abs=1e-8)


def test_sampled_betweenness_is_close_and_independent_of_threads(graph: Graph) -> None:
    exact, _ = betweenness_of_nodes(graph, 305)
    sampled, sources = betweenness_of_nodes(graph, 150, LocalEngine(1))
    again, _ = betweenness_of_nodes(graph, 150, LocalEngine(2))
    assert sources == 150 and (sampled == again).all()
    assert sampled.max() == pytest.approx(exact.max(), rel=0.15)


def test_cut_points_equal_networkx(network: nx.Graph, graph: Graph) -> None:
    found = cut_points(graph)
    assert found.articulation_points == len(list(nx.articulation_points(network)))
    assert found.bridges == len(list(nx.bridges(network)))


def test_cores_equal_networkx(network: nx.Graph, graph: Graph) -> None:
    numbers = nx.core_number(network)
    found = cores(graph)
    assert found.nodes_by_core == np.bincount(list(numbers.values())).tolist()
    assert found.innermost_nodes == sum(k == found.innermost for k in numbers.values())


def test_smallest_eigenvalue(network: nx.Graph, graph: Graph) -> None:
    expected = np.linalg.eigvalsh(nx.to_numpy_array(network, nodelist=range(305)))[0]
    assert smallest_eigenvalue(graph) == pytest.approx(expected, abs=1e-5)


def test_the_smallest_eigenvalue_of_a_long_path_takes_bounded_time() -> None:
    """Those of a path of 30,000 people are closer together than 1e-8."""
    n = 30_000
    path = Graph.from_edges(np.arange(n - 1), np.arange(1, n))
    started = time.process_time()
    assert smallest_eigenvalue(path) == pytest.approx(-2, abs=0.01)
    assert time.process_time() - started < 30  # minutes before


def test_hubs_hold_a_network_together(graph: Graph) -> None:
    found = robustness(graph, LocalEngine(2))
    assert found == robustness(graph, LocalEngine(1))
    assert found.targeted_mean < found.random_mean
    assert (np.diff(found.random) <= 0).all() and (np.diff(found.targeted) <= 0).all()


def test_epidemics_grow_with_the_chance_of_infection(graph: Graph) -> None:
    threshold = epidemic_threshold(graph)
    degrees = graph.degrees
    assert threshold == pytest.approx(degrees.mean() / (degrees * (degrees - 1)).mean())
    found = epidemic_sizes(graph, threshold, LocalEngine(2))
    assert found == epidemic_sizes(graph, threshold, LocalEngine(1))
    shares = [size.share for size in found]
    assert shares == sorted(shares) and 0 < shares[0] < shares[-1] < 1


def test_a_renamed_copy_is_equal(graph: Graph) -> None:
    copy, identity = assign_new_ids(graph, np.random.default_rng(0))
    found = compare_fully(graph, copy, LocalEngine(2), identity=identity)
    assert found.basic.communities is not None
    for row in full_rows(found.original, [found.published]):
        # Orders of removal and outbreaks are random, and differ between numberings
        inexact = "robustness" in row.figure.label or "epidemic" in row.figure.label
        assert row.published == pytest.approx(row.original, rel=0.2 if inexact else 1e-6), (
            row.figure.label
        )


def test_json_has_the_documented_keys(graph: Graph) -> None:
    result = full_comparison_json(compare_fully(graph, graph, LocalEngine(2)))
    assert set(result) == {"format_version", "original", "published", "degree_ks"}
    assert {
        "graphlets", "cores", "betweenness", "pagerank_gini", "robustness", "epidemic",
        "cut_points", "degree_second_moment", "pendants", "effective_diameter",
        "smallest_eigenvalue", "community_modularity", "communities", "global_clustering",
    } <= set(result["original"])  # fmt: skip
    assert set(result["original"]) == set(result["published"])
    assert "four_cliques" in as_json(result)


def test_graphs_without_edges() -> None:
    for n in (0, 1, 3):
        empty = _graph([], n)
        found = compare_fully(empty, empty)
        assert all(
            row.original == row.published for row in full_rows(found.original, [found.published])
        )
