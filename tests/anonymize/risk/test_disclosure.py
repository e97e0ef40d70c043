"""A1 and A2 equal slow references."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.anonymize.draw.classes import Classes, occupied_cells
from coterie.anonymize.draw.models import CellModel
from coterie.anonymize.risk.disclosure import (
    cell_densities,
    cell_disclosure,
    class_risk,
    edge_shares,
)
from coterie.data import Graph


def _random(seed: int, n: int = 16, m: int = 36) -> tuple[Graph, list[tuple[int, int]]]:
    edges = [(int(u), int(v)) for u, v in nx.gnm_random_graph(n, m, seed=seed).edges]
    return Graph.from_edges(*np.array(edges).T, n_nodes=n), edges


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_class_risk_and_cell_disclosure_equal_the_reference(seed: int) -> None:
    graph, edges = _random(seed, 20, 50)
    block = (np.arange(20) // 10).astype(np.int32)
    classes = Classes(block, (np.arange(20) // 5).astype(np.int32))
    expected = reference.dcsbm_edge_probabilities(edges, block.tolist(), classes.label.tolist())
    disclosure = cell_disclosure(graph, classes, occupied_cells(graph, classes), 0.5)
    assert disclosure.shares.at_least_50 == pytest.approx(reference.disclosed_share(expected, 0.5))
    assert disclosure.shares.at_least_90 == pytest.approx(reference.disclosed_share(expected, 0.9))
    assert disclosure.shares.certain == pytest.approx(reference.disclosed_share(expected, 1.0))
    assert disclosure.above_limit == pytest.approx(disclosure.shares.at_least_50)
    risk = class_risk(classes.label)
    assert (risk.mean, risk.worst) == pytest.approx(reference.block_risk(classes.label.tolist()))
    cells = CellModel.fit(graph, block, limit=1.0 + 1e-9, exact=False).cells(graph)
    expected = reference.sbm_edge_probabilities(edges, block.tolist())
    assert edge_shares(cells.probability, cells.edges).at_least_50 == pytest.approx(
        reference.disclosed_share(expected, 0.5)
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_cell_densities_equal_counting_pairs(seed: int) -> None:
    graph, edges = _random(seed, 20, 70)
    label = (np.arange(20) // 5).astype(np.int32)
    found = cell_densities(occupied_cells(graph, Classes(label // 2, label)), 0.5)
    density = {}
    for a in range(4):
        for b in range(a, 4):
            pairs = [(u, v) for u in range(20) for v in range(u) if {u // 5, v // 5} == {a, b}]
            true = [e for e in edges if {e[0] // 5, e[1] // 5} == {a, b}]
            density[a, b] = len(true) / len(pairs)
    above = sum(density[min(u // 5, v // 5), max(u // 5, v // 5)] >= 0.5 - 1e-9 for u, v in edges)
    assert found.largest == pytest.approx(max(density.values()))
    assert found.above_limit == pytest.approx(above / len(edges))


def test_a_dense_class_is_seen_although_the_model_probability_is_low() -> None:
    """One class of a block is nearly a clique, but its members' degrees are those of the others."""
    clique = [(u, v) for u in range(12) for v in range(u)]
    ring = [(12 + i, 12 + (i + j) % 40) for i in range(40) for j in range(1, 6)]
    graph = Graph.from_edges(*np.array(clique + ring).T, n_nodes=52)
    classes = Classes(np.zeros(52, np.int32), (np.arange(52) >= 12).astype(np.int32))
    found = cell_disclosure(graph, classes, occupied_cells(graph, classes), 0.9)
    assert found.above_limit == 0.0 and found.shares.largest < 0.5
    assert found.densities.largest == 1.0
    assert found.densities.above_limit == pytest.approx(66 / 266)
