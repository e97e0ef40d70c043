"""Blocks and classes of a release: A1 and A2 hold by construction."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.draw.classes import (
    _entropy_of_merging,
    block_matrix,
    divide_by_degree,
    divide_into_classes,
    limit_cells,
    merge_small_blocks,
    occupied_cells,
    separate_small_components,
)
from coterie.anonymize.draw.sbm import CellModel
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
    costs = _entropy_of_merging(block_matrix(graph, labels).astype(float), 2)
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


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 0.6]))
def test_no_edge_is_in_a_cell_above_the_limit(seed: int, limit: float) -> None:
    network = nx.relaxed_caveman_graph(8, 8, 0.1, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=64)
    classes = divide_into_classes(graph, (np.arange(64) // 8).astype(np.int32), 4)
    limited = limit_cells(graph, classes, limit, 4)
    assert np.bincount(limited.label).min() >= 4
    above = occupied_cells(graph, limited).probability.max() >= limit
    assert not above or limited.n_classes == 1
    assert (limited.block_of[limited.label] == limited.block).all()


def test_a_complete_graph_exceeds_the_limit_with_any_classes() -> None:
    graph = Graph.from_edges(*np.triu_indices(30, 1), n_nodes=30)
    limited = limit_cells(graph, divide_into_classes(graph, np.zeros(30), 5), 0.85, 5)
    assert occupied_cells(graph, limited).probability.max() >= 0.85


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
