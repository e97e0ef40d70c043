"""Blocks, classes and degrees: A1 and A2 by construction."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator, default_rng
from scipy.sparse.csgraph import connected_components
from tests import reference

from coterie.anonymize.draw.classes import (
    Classes,
    _entropy_of_joining,
    block_matrix,
    classes_of,
    cut_blocks,
    limit_cells,
    merge_small_blocks,
    occupied_cells,
    set_small_components_apart,
)
from coterie.anonymize.draw.degrees import deal_within_classes, quantiles_by_class, redraw_degrees
from coterie.anonymize.draw.reconnection import reconnect
from coterie.anonymize.draw.sbm import CellModel
from coterie.anonymize.draw.wiring import Wired
from coterie.anonymize.risk.disclosure import cell_disclosure, class_risk, disclosure_with_degrees
from coterie.anonymize.utility.measures import largest_component
from coterie.data import Graph
from coterie.kernels.anonymize import wiring as kernel


def _random(seed: int, n: int = 16, m: int = 36) -> tuple[Graph, list[tuple[int, int]]]:
    edges = [(int(u), int(v)) for u, v in nx.gnm_random_graph(n, m, seed=seed).edges]
    return Graph.from_edges(*np.array(edges).T, n_nodes=n), edges


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_joining_blocks_costs_what_the_entropy_says(seed: int) -> None:
    graph, edges = _random(seed)
    labels = default_rng(seed).integers(0, 4, 16)
    labels[:4] = range(4)
    costs = _entropy_of_joining(block_matrix(graph, labels).astype(float), 2)
    for s in (0, 1, 3):
        joined = np.where(labels == 2, s, labels)
        plain = reference.entropy_degree_corrected(
            edges, joined.tolist(), 4
        ) - reference.entropy_degree_corrected(edges, labels.tolist(), 4)
        assert costs[s] == pytest.approx(plain, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_no_block_stays_small(seed: int, minimum: int) -> None:
    graph, _ = _random(seed)
    labels = default_rng(seed).integers(0, 9, 16)
    merged = merge_small_blocks(graph, labels, minimum)
    assert np.bincount(merged).min() >= minimum
    for block in np.unique(labels):  # blocks are joined, never cut
        assert len(set(merged[labels == block])) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_classes_lie_in_blocks_hold_enough_and_rise_with_degree(seed: int, least: int) -> None:
    graph, _ = _random(seed, 40, 90)
    labels = merge_small_blocks(graph, default_rng(seed).integers(0, 4, 40), 2 * least)
    parts = cut_blocks(graph, labels, least, 2.0)
    assert np.bincount(parts).min() >= least
    for part in np.unique(parts):
        inside = parts == part
        (block,) = set(labels[inside])
        above = (labels == block) & (parts > part)
        assert not above.any() or graph.degrees[above].min() > graph.degrees[inside].max()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a1_and_a2_are_the_plain_ones(seed: int) -> None:
    graph, edges = _random(seed, 20, 50)
    block = (np.arange(20) // 10).astype(np.int32)
    classes = Classes(block, (np.arange(20) // 5).astype(np.int32))
    plain = reference.dcsbm_edge_probabilities(edges, block.tolist(), classes.label.tolist())
    shares = cell_disclosure(occupied_cells(graph, classes))
    for threshold in (0.5, 0.9, 1.0):
        assert shares[str(threshold)] == pytest.approx(reference.disclosed_share(plain, threshold))
    degree, matrix = graph.degrees, block_matrix(graph, block)
    ends = matrix.sum(1)
    known = [
        degree[u] * degree[v] * matrix[block[u], block[v]] / (ends[block[u]] * ends[block[v]])
        for u, v in edges
    ]
    told = disclosure_with_degrees(graph, classes, certainty=0.5)
    assert told["0.5"] == pytest.approx(reference.disclosed_share(known, 0.5))
    for claim in told["claims"]:  # every pair from some lambda on, counted one by one
        pairs = sum(
            degree[u] * degree[v] * matrix[block[u], block[v]]
            >= (claim["lambda"] - 1e-9) * ends[block[u]] * ends[block[v]]
            for u in range(20)
            for v in range(u)
        )
        assert (claim["pairs"], claim["edges"]) == (
            pairs,
            sum(p >= claim["lambda"] - 1e-9 for p in known),
        )
    sure = [c["edges"] for c in told["claims"] if c["precision"] >= 0.5 and c["pairs"] >= 10]
    assert told["named"] == pytest.approx(max(sure, default=0) / 50)
    risk = class_risk(classes.label)
    assert (risk["mean"], risk["worst"]) == pytest.approx(
        reference.block_risk(classes.label.tolist())
    )
    sbm = CellModel.fit(graph, block, limit=1.0 + 1e-9, exact=False)
    shares = cell_disclosure(sbm.cells(graph))
    plain = reference.sbm_edge_probabilities(edges, block.tolist())
    assert shares["0.5"] == pytest.approx(reference.disclosed_share(plain, 0.5))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.3, 0.6]))
def test_no_edge_stays_in_a_cell_above_the_limit(seed: int, limit: float) -> None:
    network = nx.relaxed_caveman_graph(8, 8, 0.1, seed=seed)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=64)
    classes = classes_of(graph, (np.arange(64) // 8).astype(np.int32), 4)
    limited = limit_cells(graph, classes, limit, 4)
    assert np.bincount(limited.label).min() >= 4
    above = occupied_cells(graph, limited).probability.max() >= limit
    assert not above or limited.n_classes == 1
    assert (limited.block_of[limited.label] == limited.block).all()


def test_a_complete_graph_cannot_be_smoothed_by_classes() -> None:
    graph = Graph.from_edges(*np.triu_indices(30, 1), n_nodes=30)
    limited = limit_cells(graph, classes_of(graph, np.zeros(30), 5), 0.85, 5)
    assert occupied_cells(graph, limited).probability.max() >= 0.85


def test_cells_of_the_plain_model_are_brought_below_the_limit() -> None:
    graph = Graph.from_edges(*np.triu_indices(30, 1), n_nodes=30)
    model = CellModel.fit(graph, np.zeros(30, np.int32), limit=0.9, exact=False)
    assert model.cells(graph).probability.max() < 0.9


def _new_degrees(degrees: np.ndarray, classes: Classes, rng: Generator) -> np.ndarray:
    drawn = redraw_degrees(quantiles_by_class(degrees, classes), classes, rng)
    return deal_within_classes(drawn, classes, rng)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_new_degrees_keep_block_sums_and_bounds(seed: int) -> None:
    rng = default_rng(seed)
    degrees = np.minimum(rng.zipf(1.7, 120), 90).astype(np.int64) - 1
    block = (np.arange(120) // 60).astype(np.int32)
    order = np.lexsort((degrees, block))
    label = np.empty(120, np.int32)
    label[order] = np.arange(120) // 12
    classes = Classes(block, label)
    new = _new_degrees(degrees, classes, rng)
    low = np.array([degrees[label == c].min() for c in range(10)])
    high = np.array([degrees[label == c].max() for c in range(10)])
    assert (new >= low[label]).all() and (new <= high[label]).all()
    drift = np.abs(np.bincount(block, new) - np.bincount(block, degrees))
    room = np.bincount(block, high[label] - new)
    assert ((drift == 0) | (room <= drift + 40)).all()


def test_the_largest_degree_does_not_show_through() -> None:
    degrees = np.r_[np.full(40, 10), np.arange(11, 21), 500].astype(np.int64)
    one = np.zeros(51, np.int32)
    tops = {int(_new_degrees(degrees, Classes(one, one), default_rng(s)).max()) for s in range(9)}
    assert max(tops) < 500 and len(tops) > 3


def test_degrees_within_a_class_are_dealt_anew() -> None:
    degrees = np.arange(1, 101)
    one = np.zeros(100, np.int32)
    new = _new_degrees(degrees, Classes(one, one), default_rng(0))
    assert abs(np.corrcoef(degrees, new)[0, 1]) < 0.35


def test_what_is_not_connected_stays_apart() -> None:
    graph = Graph.from_edges([0, 1, 2, 5, 6, 8], [1, 2, 3, 6, 7, 9], n_nodes=10)
    labels = set_small_components_apart(graph, np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 0]), 3)
    giant = set(labels[:4])
    assert giant.isdisjoint(labels[4:])
    unchanged = set_small_components_apart(graph, np.zeros(10, int), 7)
    assert set(unchanged) == {0}


@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_joined_even_where_every_edge_is_a_bridge(seed: int) -> None:
    """A forest can only be joined by swapping edges of cycles against any edge of another piece."""
    rng = default_rng(seed)
    tree = np.array(nx.barabasi_albert_graph(300, 1, seed=seed).edges)
    ends = rng.permutation(tree.ravel()).reshape(-1, 2)  # the same degrees, joined anyhow
    graph = Graph.from_edges(*ends[ends[:, 0] != ends[:, 1]].T, n_nodes=300)
    source, target = graph.edges()
    block = np.zeros(300, np.int32)
    before = largest_component(graph)
    cells = kernel.WiringCells(np.full(300, -1, np.int32), *np.zeros((2, 0, 0), np.int32))
    joined = reconnect(Wired(source, target, 0), block, cells, 0.98, rng)
    after = Graph.from_edges(joined.source, joined.target, n_nodes=300)
    assert np.array_equal(after.degrees, graph.degrees)
    assert before < 0.9 and largest_component(after) > before + 0.05
    pieces = connected_components(after.csr, directed=False)[0]
    spare = graph.n_edges - 300 + pieces  # cycles left: all of them are needed to join pieces
    assert largest_component(after) >= 0.98 or spare == 0
