"""Directions of a release: reciprocity, degrees both ways, triangles by type."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.features.comparison import compare_networks
from coterie.anonymize.features.directions import (
    DirectionModel,
    directed_clustering,
    in_degrees,
    reciprocity,
)
from coterie.anonymize.features.network import Network, skeleton_of
from coterie.anonymize.utility.measures import ks_distance
from coterie.data import Graph


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_clustering_and_reciprocity_equal_the_reference(seed: int) -> None:
    network = nx.gnm_random_graph(9, 30, seed=seed, directed=True)
    edges = [(int(a), int(b)) for a, b in network.edges]
    graph = Graph.from_edges(*np.array(edges).T, n_nodes=9, directed=True)
    expected = reference.directed_clustering(edges, 9)
    assert directed_clustering(graph) == pytest.approx(expected)
    assert reciprocity(graph) == pytest.approx(nx.overall_reciprocity(network))


def test_draw_keeps_the_skeleton_reciprocity_and_both_degrees(planted, directed: Graph) -> None:
    skeleton = skeleton_of(directed)
    model = DirectionModel.fit(directed, planted.classes, 10)
    drawn = model.draw(skeleton, default_rng(0))
    again = skeleton_of(drawn)
    assert np.array_equal(again.indptr, skeleton.indptr)
    assert np.array_equal(again.indices, skeleton.indices)
    assert abs(reciprocity(drawn) - reciprocity(directed)) < 0.03
    assert ks_distance(in_degrees(drawn), in_degrees(directed)) < 0.05
    assert ks_distance(drawn.degrees, directed.degrees) < 0.05
    found = compare_networks((Network(directed), None), [(Network(drawn), None)])
    assert found.measures[0].name == "share of mutual edges (reciprocity)"
    assert {d.name for d in found.distances} == {"in-degrees", "out-degrees"}
    # Directions are new: of the one-way edges, far from all point the old way.
    one_way = directed.csr.astype(bool) > (directed.csr.T.astype(bool).multiply(directed.csr))
    kept = one_way.multiply(drawn.csr.astype(bool)).sum() / one_way.sum()
    assert 0.4 < kept < 0.8


def test_members_of_a_class_can_exchange_places(planted, permutation, directed: Graph) -> None:
    source, target = directed.edges()
    moved = Graph.from_edges(
        permutation[source], permutation[target], n_nodes=directed.n_nodes, directed=True
    )
    drawn = [
        DirectionModel.fit(graph, planted.classes, 10).draw(planted.graph, default_rng(2))
        for graph in (directed, moved)
    ]
    assert np.array_equal(drawn[0].indices, drawn[1].indices)
    assert np.array_equal(drawn[0].indptr, drawn[1].indptr)


def test_a_single_edge_between_blocks_does_not_show_its_direction(planted) -> None:
    """Whichever way the only edge of a pair of blocks points, a draw points either way."""
    rng = default_rng(0)
    label = np.repeat([0, 1], 20).astype(np.int32)
    pairs = [(a, b) for a in range(20) for b in range(a + 1, 20) if rng.random() < 0.3]
    inside = np.array(pairs + [(a + 20, b + 20) for a, b in pairs])
    classes = type(planted.classes)(label, label)
    shares = []
    for way in ((3, 30), (30, 3)):
        edges = np.vstack([inside, way])
        graph = Graph.from_edges(*edges.T, n_nodes=40, directed=True)
        shares.append(DirectionModel.fit(graph, classes, 10).cell_shares[0, 1])
    assert np.abs(shares[0] - shares[1]).max() < 0.15
