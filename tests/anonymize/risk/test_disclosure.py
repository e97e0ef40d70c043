"""A1 and A2 equal slow references."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from coterie.anonymize.draw.classes import Classes, block_matrix, occupied_cells
from coterie.anonymize.draw.sbm import CellModel
from coterie.anonymize.risk.disclosure import (
    cell_disclosure,
    class_risk,
    degree_disclosure,
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
def test_disclosure_with_known_degrees_equals_counting_pairs(seed: int) -> None:
    graph, edges = _random(seed, 20, 50)
    block = (np.arange(20) // 10).astype(np.int32)
    degree, matrix = graph.degrees, block_matrix(graph, block)
    stubs = matrix.sum(1)
    known = [
        degree[u] * degree[v] * matrix[block[u], block[v]] / (stubs[block[u]] * stubs[block[v]])
        for u, v in edges
    ]
    disclosure = degree_disclosure(graph, Classes(block, block), certainty=0.5)
    assert disclosure.shares.at_least_50 == pytest.approx(reference.disclosed_share(known, 0.5))
    for claim in disclosure.claims:
        pairs = sum(
            degree[u] * degree[v] * matrix[block[u], block[v]]
            >= (claim.expected_edges - 1e-9) * stubs[block[u]] * stubs[block[v]]
            for u in range(20)
            for v in range(u)
        )
        true = sum(p >= claim.expected_edges - 1e-9 for p in known)
        assert (claim.pairs, claim.edges) == (pairs, true)
    certain = [c.edges for c in disclosure.claims if c.precision >= 0.5 and c.pairs >= 10]
    assert disclosure.named == pytest.approx(max(certain, default=0) / 50)
