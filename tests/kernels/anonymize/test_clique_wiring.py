"""Wiring in cliques keeps degrees, edges per block pair and the limit of every cell."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from coterie.anonymize.draw.classes import Classes, block_matrix
from coterie.anonymize.draw.clique_wiring import choose_outer_stubs, wire_cliques
from coterie.anonymize.draw.rewiring import RewiringTargets, rewiring_targets
from coterie.anonymize.draw.wiring import Wired
from coterie.anonymize.utility.measures import assortativity, measure
from coterie.data import Graph
from coterie.data.demo_data import social_network
from coterie.kernels.graphs.triangles import triangles


def _targets(graph: Graph) -> RewiringTargets:
    counts = triangles(graph.indptr, graph.indices)
    return rewiring_targets(graph.degrees, counts, assortativity(graph))


def _graph(edges: Wired, n: int) -> Graph:
    return Graph.from_edges(edges.source, edges.target, n_nodes=n)


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.floats(0.3, 1.0), st.booleans())
def test_degrees_and_block_pairs_are_exact_and_no_cell_exceeds_its_limit(
    seed: int, limit: float, cliques: bool
) -> None:
    rng = default_rng(seed)
    n = int(rng.integers(20, 60))
    block = rng.integers(0, 3, n).astype(np.int32)
    block[:3] = np.arange(3)
    classes = Classes(block, (2 * block + (rng.random(n) < 0.5)).astype(np.int32))
    classes = Classes(block, np.unique(classes.label, return_inverse=True)[1].astype(np.int32))
    graph = Graph.from_edges(*rng.integers(0, n, (2, int(rng.integers(n, 4 * n)))), n_nodes=n)
    matrix = block_matrix(graph, block)
    edges, cells = wire_cliques(
        classes, graph.degrees, matrix, _targets(graph), limit=limit, rng=rng, cliques=cliques
    )
    made = _graph(edges, n)
    assert made.cleaned == (0, 0, 0)
    assert made.n_edges + edges.given_up == graph.n_edges
    assert (made.degrees <= graph.degrees).all()
    assert (graph.degrees - made.degrees).sum() == 2 * edges.given_up
    assert (cells.filled <= cells.room).all()
    if limit == 1.0 and not edges.given_up:
        assert (made.degrees == graph.degrees).all()
    a, b = classes.label[edges.source], classes.label[edges.target]
    counts = np.zeros((classes.n_classes, classes.n_classes))
    np.add.at(counts, (np.minimum(a, b), np.maximum(a, b)), 1)
    pairs = np.outer(classes.sizes, classes.sizes).astype(float)
    np.fill_diagonal(pairs, classes.sizes * (classes.sizes - 1) / 2)
    assert (counts <= limit * pairs + 1e-9).all()


def test_block_pairs_stay_exact_where_there_is_room() -> None:
    graph, groups = social_network(n_people=240)
    block = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    matrix = block_matrix(graph, block)
    edges, _ = wire_cliques(
        Classes(block, block), graph.degrees, matrix, _targets(graph), limit=1.0, rng=default_rng(0)
    )
    made = _graph(edges, graph.n_nodes)
    assert edges.given_up == 0
    assert (made.degrees == graph.degrees).all()
    assert (block_matrix(made, block) == matrix).all()


def _papers(seed: int) -> tuple[Graph, np.ndarray]:
    """Return eight communities of 40 people who write papers in groups of three to five."""
    rng = default_rng(seed)
    network = nx.Graph()
    network.add_nodes_from(range(320))
    for paper in range(240):
        home = 40 * (paper % 8)
        authors = home + rng.choice(40, rng.integers(3, 6), replace=False)
        if rng.random() < 0.15:
            authors[0] = rng.integers(320)
        nx.add_path(network, authors)
        network.add_edges_from((a, b) for a in authors for b in authors if a < b)
    return Graph.from_edges(*np.array(network.edges).T, n_nodes=320), np.arange(320) // 40


@pytest.mark.parametrize("seed", range(3))
def test_cliques_close_most_triangles_and_hold_sparse_blocks_together(seed: int) -> None:
    graph, groups = _papers(seed)
    block = groups.astype(np.int32)
    matrix = block_matrix(graph, block)

    def wired(cliques: bool) -> Graph:
        edges, _ = wire_cliques(
            Classes(block, block),
            graph.degrees,
            matrix,
            _targets(graph),
            limit=1.0,
            rng=default_rng(seed),
            cliques=cliques,
        )
        return _graph(edges, graph.n_nodes)

    in_cliques, at_random = measure(wired(True)), measure(wired(False))
    goal = measure(graph).average_local_clustering
    assert in_cliques.average_local_clustering > 0.6 * goal
    assert in_cliques.average_local_clustering > 1.5 * at_random.average_local_clustering
    assert in_cliques.average_local_clustering < 1.05 * goal
    whole = nx.Graph(list(zip(*(x.tolist() for x in wired(True).edges()), strict=True)))
    for b in range(8):
        members = [v for v in np.flatnonzero(block == b).tolist() if v in whole]
        largest = max(nx.connected_components(whole.subgraph(members)), key=len)
        assert len(largest) >= 0.9 * len(members)


def test_outer_stubs_are_exact_and_leave_people_with_few_contacts_inside() -> None:
    rng = default_rng(1)
    degrees = np.repeat([1, 2, 10], [300, 300, 100])
    block = (np.arange(700) % 2).astype(np.int32)
    known = (degrees > 1).astype(float)  # all contacts of everybody know each other
    outer = choose_outer_stubs(degrees, block, np.array([300, 200]), known, rng)
    assert np.bincount(block, outer).tolist() == [300, 200]
    assert (outer <= degrees).all() and (outer[degrees == 1] == 0).all()
    assert outer[degrees == 10].sum() > 2 * outer[degrees == 2].sum()
    everything = choose_outer_stubs(
        degrees, block, np.bincount(block, degrees).astype(int), known / 2, rng
    )
    assert (everything == degrees).all()


def test_people_whose_contacts_know_each_other_have_fewer_outer_stubs() -> None:
    degrees, block = np.full(1000, 6), np.zeros(1000, np.int32)
    clustering = np.repeat([0.0, 0.4], 500)  # a mean of .2: most outer stubs are random ones
    outer = choose_outer_stubs(degrees, block, np.array([1500]), clustering, default_rng(2))
    assert outer.sum() == 1500
    assert 1.2 * outer[500:].sum() < outer[:500].sum()


def test_the_same_seed_gives_the_same_edges() -> None:
    graph, groups = _papers(0)
    block = groups.astype(np.int32)
    made = [
        wire_cliques(
            Classes(block, block),
            graph.degrees,
            block_matrix(graph, block),
            _targets(graph),
            limit=0.85,
            rng=default_rng(s),
        )[0]
        for s in (5, 5, 6)
    ]
    assert np.array_equal(made[0].source, made[1].source)
    assert np.array_equal(made[0].target, made[1].target)
    assert not np.array_equal(made[0].source, made[2].source)
