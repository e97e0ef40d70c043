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
from coterie.anonymize.draw.wiring import Wired, cell_room
from coterie.anonymize.utility.measures import assortativity, measure
from coterie.data import Graph
from coterie.data.demo_data import social_network
from coterie.kernels.anonymize.clique_wiring import join_outer
from coterie.kernels.anonymize.wiring import Ring
from coterie.kernels.graphs.triangles import triangles


def _targets(graph: Graph) -> RewiringTargets:
    counts = triangles(graph.indptr, graph.indices)
    return rewiring_targets(graph.degrees, counts, assortativity(graph))


def _graph(edges: Wired, n: int) -> Graph:
    return Graph.from_edges(edges.source, edges.target, n_nodes=n)


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.floats(0.3, 1.0), st.booleans(), st.booleans())
def test_degrees_and_block_pairs_are_exact_and_no_cell_exceeds_its_limit(
    seed: int, limit: float, cliques: bool, together: bool
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
        classes,
        graph.degrees,
        matrix,
        _targets(graph),
        limit=limit,
        rng=rng,
        cliques=cliques,
        together=together,
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


def test_contacts_in_another_block_know_each_other() -> None:
    """Two blocks of ten cliques of ten people with many contacts in the other block."""
    n, clique = 200, np.arange(200) // 10
    block = (np.arange(n) // 100).astype(np.int32)
    same = np.triu(clique[:, None] == clique[None, :], 1)
    inner = Graph.from_edges(*np.nonzero(same), n_nodes=n)
    ring = Ring(
        np.arange(n, dtype=np.int32),
        np.arange(n, dtype=np.int32),
        np.array([0, 100, 200]),
        block,
        np.full(n, 4),
    )
    cells = cell_room(Classes(block, block), np.full(n, 13), 1.0)

    def open_and_closed(together: float, community: list[int], most: int) -> tuple[int, int, int]:
        pairs = np.zeros(400, np.int32)
        source, target, made, open_u, _ = join_outer(
            ring,
            np.array(community, np.int32),
            np.full(n, 4),
            inner.indptr,
            inner.indices,
            pairs,
            pairs + 1,
            np.array([[0, 400], [400, 0]]),
            np.full(n, together),
            np.full(n, most),
            cells,
            np.uint64(1),
        )
        assert made + len(open_u) == 400
        edges = np.stack([source[:made], target[:made]])
        assert (block[edges[0]] != block[edges[1]]).all()
        assert (np.bincount(edges.ravel(), minlength=n) <= 4).all()
        assert len(np.unique(np.sort(edges, axis=0), axis=1).T) == made
        network = nx.Graph(edges.T.tolist())
        counts = [0, 0]
        for v in network:
            contacts = list(network[v])
            for i, a in enumerate(contacts):
                for b in contacts[:i]:
                    counts[int(clique[a] == clique[b])] += 1
        return counts[0], counts[1], made

    apart, known, made = open_and_closed(0.0, [0, 0], 9)
    assert known < 0.2 * (apart + known) and made > 380
    apart, known, made = open_and_closed(1.0, [0, 0], 0)
    assert known > 0.4 * (apart + known) and made > 380
    limited = open_and_closed(1.0, [0, 1], 0)
    assert limited[1] < 0.2 * sum(limited[:2])
    some = open_and_closed(1.0, [0, 1], 2)
    assert limited[1] / sum(limited[:2]) < some[1] / sum(some[:2]) < known / (apart + known)


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
