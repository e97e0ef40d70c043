"""Blocks and classes of a release: A1 and A2 hold by construction."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.draw.class_limits import (
    classes_with_lone_hub,
    dense_cores,
    limit_cells,
)
from coterie.anonymize.draw.classes import (
    Classes,
    block_matrix,
    divide_by_degree,
    divide_into_classes,
    entropy_of_merging,
    merge_small_blocks,
    occupied_cells,
    separate_small_components,
)
from coterie.anonymize.draw.degrees import group_degrees
from coterie.anonymize.draw.models import CellModel
from coterie.data import Graph


def _random(seed: int, n: int = 16, m: int = 36) -> tuple[Graph, list[tuple[int, int]]]:
    edges = [(int(u), int(v)) for u, v in nx.gnm_random_graph(n, m, seed=seed).edges]
    return Graph.from_edges(*np.array(edges).T, n_nodes=n), edges


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_cost_of_merging_blocks_equals_the_change_of_entropy(seed: int) -> None:
    graph, edges = _random(seed)
    labels = default_rng(seed).integers(0, 4, 16)
    labels[:4] = range(4)
    costs = entropy_of_merging(block_matrix(graph, labels).astype(float), 2)
    for s in (0, 1, 3):
        merged = np.where(labels == 2, s, labels)
        expected = reference.entropy_degree_corrected(
            edges, merged.tolist(), 4
        ) - reference.entropy_degree_corrected(edges, labels.tolist(), 4)
        assert costs[s] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_merged_blocks_have_the_minimum_size(seed: int, minimum: int) -> None:
    graph, _ = _random(seed)
    labels = default_rng(seed).integers(0, 9, 16)
    merged = merge_small_blocks(graph, labels, minimum)
    assert np.bincount(merged).min() >= minimum
    for block in np.unique(labels):  # blocks are merged, never divided
        assert len(set(merged[labels == block])) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_classes_have_the_minimum_size_and_rising_degrees(seed: int, least: int) -> None:
    graph, _ = _random(seed, 40, 90)
    labels = merge_small_blocks(graph, default_rng(seed).integers(0, 4, 40), 2 * least)
    parts = divide_by_degree(graph, labels, least, 2.0)
    assert np.bincount(parts).min() >= least
    for part in np.unique(parts):
        inside = parts == part
        (block,) = set(labels[inside])
        above = (labels == block) & (parts > part)
        assert not above.any() or graph.degrees[above].min() > graph.degrees[inside].max()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_density_of_cells_equals_the_reference(seed: int) -> None:
    graph, edges = _random(seed, 20, 50)
    label = default_rng(seed).integers(0, 4, 20).astype(np.int32)
    label[:4] = range(4)
    cells = occupied_cells(graph, Classes(label, label))
    expected = reference.cell_densities(edges, label.tolist())
    assert len(expected) == len(cells.density)
    for a, b, density in zip(cells.first, cells.second, cells.density, strict=True):
        assert density == pytest.approx(expected[a, b])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.2, 0.5, 0.85]), st.booleans())
def test_no_cell_is_above_the_limit(seed: int, limit: float, by_degree: bool) -> None:
    """Neither the true density of a cell nor the probability of an edge in a draw."""
    network = nx.relaxed_caveman_graph(8, 12, 0.1, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=96)
    block = (np.arange(96) // 12).astype(np.int32)
    classes = divide_into_classes(graph, block, 4) if by_degree else Classes(block, block)
    limited = limit_cells(graph, classes, limit, 4, by_degree=by_degree)
    assert np.bincount(limited.label).min() >= 4
    assert (limited.block_of[limited.label] == limited.block).all()
    assert by_degree or limited.n_classes == limited.n_blocks
    cells = occupied_cells(graph, limited)
    if limited.n_classes > 1:
        assert cells.probability.max() < limit and cells.density.max() < limit
        assert not (by_degree and classes_with_lone_hub(graph.degrees, limited, 4).any())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_limited_classes_do_not_overlap_in_degree(seed: int) -> None:
    network = nx.barabasi_albert_graph(120, 3, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=120)
    block = default_rng(seed).integers(0, 3, 120)
    limited = limit_cells(graph, divide_into_classes(graph, block, 5), 0.3, 5)
    lowest, highest = (
        np.array([f(graph.degrees[limited.label == c]) for c in range(limited.n_classes)])
        for f in (np.min, np.max)
    )
    same = limited.block_of[1:] == limited.block_of[:-1]
    assert (lowest[1:][same] >= highest[:-1][same]).all()


def test_a_near_clique_keeps_its_block() -> None:
    """One class of 63 people had 92 % of its pairs connected. A few others join it, so that its
    edges are spread over more pairs; the communities stay apart."""
    rng = default_rng(1)
    p = np.full((4, 4), 0.01)
    np.fill_diagonal(p, [0.92, 0.3, 0.3, 0.3])
    label = np.repeat(np.arange(4, dtype=np.int32), [63, 120, 120, 120])
    u, v = np.triu_indices(len(label), 1)
    kept = rng.random(len(u)) < p[label[u], label[v]]
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=len(label))
    classes = divide_into_classes(graph, label, 10)
    assert occupied_cells(graph, classes).density.max() > 0.9
    limited = limit_cells(graph, classes, 0.85, 10)
    assert limited.n_blocks == 4
    assert occupied_cells(graph, limited).density.max() < 0.85
    assert (limited.block != label).sum() <= 0.1 * 63


def test_cliques_are_merged_in_pairs_instead_of_exchanging_people() -> None:
    """Adding three people to each clique would take every tenth person out of the own one."""
    u, v = np.triu_indices(300, 1)
    kept = (u // 25 == v // 25) | (default_rng(0).random(len(u)) < 0.001)
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=300)
    block = (np.arange(300) // 25).astype(np.int32)
    limited = limit_cells(graph, divide_into_classes(graph, block, 10), 0.85, 10)
    assert limited.n_blocks == 6
    assert all(len(np.unique(limited.block[block == clique])) == 1 for clique in range(12))
    assert occupied_cells(graph, limited).density.max() < 0.85


def _near_cliques() -> tuple[Graph, np.ndarray]:
    network = nx.relaxed_caveman_graph(8, 24, 0.03, seed=2)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=192)
    return graph, (np.arange(192) // 24).astype(np.int32)


def test_statistics_do_not_change_if_members_of_a_class_exchange_places() -> None:
    """Also after people were moved between blocks. These are all statistics that a draw has of
    classes and degrees."""
    graph, block = _near_cliques()
    classes = limit_cells(graph, divide_into_classes(graph, block, 5), 0.6, 5)
    assert (np.bincount(classes.block) > 24).any()  # people were moved
    places = np.arange(192)
    for c in range(classes.n_classes):
        members = np.flatnonzero(classes.label == c)
        places[members] = default_rng(c).permutation(members)
    source, target = graph.edges()
    moved = Graph.from_edges(places[source], places[target], n_nodes=192)
    one, two = (
        (
            *vars(group_degrees(g.degrees, classes, 5)).values(),
            block_matrix(g, classes.block),
            *vars(occupied_cells(g, classes)).values(),
        )
        for g in (graph, moved)
    )
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b)


def test_a_block_of_one_hub_is_merged() -> None:
    """The degree of the hub would follow from the number of edges of the block."""
    two_stars = [(0, v) for v in range(1, 30)] + [(30, v) for v in range(31, 40)]
    ring = [(v, v + 1) for v in range(40, 99)]
    graph = Graph.from_edges(*np.array([*two_stars, *ring]).T, n_nodes=100)
    labels = np.r_[np.zeros(30, int), np.ones(10, int), np.full(60, 2)]
    limited = limit_cells(graph, divide_into_classes(graph, labels, 10), 0.85, 10)
    assert limited.n_blocks < 3
    assert not classes_with_lone_hub(graph.degrees, limited, 10).any()


def test_dense_cores_are_found_and_diluted() -> None:
    """The best-connected ten people of a block are a clique; the block as a whole is sparse."""
    rng = default_rng(0)
    u, v = np.triu_indices(200, 1)
    same = (u // 50) == (v // 50)
    kept = rng.random(len(u)) < np.where(same, 0.12, 0.01)
    kept |= (u % 50 < 12) & (v % 50 < 12) & same
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=200)
    block = (np.arange(200) // 50).astype(np.int32)

    def cores(block: np.ndarray) -> list[np.ndarray]:
        return dense_cores(*graph.edges(), graph.degrees, block, 0.85, 10, 0.0)

    found = cores(block)
    assert len(found) == 4
    for core in found:
        rest = np.setdiff1d(np.flatnonzero(block == block[core[0]]), core)
        assert graph.degrees[core].min() >= graph.degrees[rest].max()
        inside = graph.csr[np.ix_(core, core)].sum() / (len(core) * (len(core) - 1))
        assert inside >= 0.85
    classes = divide_into_classes(graph, block, 10)
    diluted = limit_cells(graph, classes, 0.85, 10, core_share=0.0)
    assert len(cores(diluted.block)) < 4
    assert len(cores(limit_cells(graph, classes, 0.85, 10).block)) == 4


def test_a_complete_graph_exceeds_the_limit_with_any_classes() -> None:
    graph = Graph.from_edges(*np.triu_indices(30, 1), n_nodes=30)
    limited = limit_cells(graph, divide_into_classes(graph, np.zeros(30), 5), 0.85, 5)
    assert occupied_cells(graph, limited).density.max() == 1


def test_cells_of_the_sbm_model_are_reduced_below_the_limit() -> None:
    graph = Graph.from_edges(*np.triu_indices(30, 1), n_nodes=30)
    model = CellModel.fit(graph, np.zeros(30, np.int32), limit=0.9, exact=False)
    assert model.cells(graph).probability.max() < 0.9


def test_small_components_get_blocks_of_their_own() -> None:
    graph = Graph.from_edges([0, 1, 2, 5, 6, 8], [1, 2, 3, 6, 7, 9], n_nodes=10)
    labels = separate_small_components(graph, np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 0]), 3)
    largest = set(labels[:4])
    assert largest.isdisjoint(labels[4:])
    unchanged = separate_small_components(graph, np.zeros(10, int), 7)
    assert set(unchanged) == {0}
