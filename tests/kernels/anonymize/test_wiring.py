"""Wiring, rewiring and reconnecting keep degrees and edges per block pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng
from tests import reference

from coterie.anonymize.draw import rewiring
from coterie.anonymize.draw.classes import Classes, block_matrix
from coterie.anonymize.draw.reconnection import reconnect
from coterie.anonymize.draw.rewiring import (
    communities_of_blocks,
    kept_communities,
    rewire,
    rewire_within_communities,
    rewiring_targets,
)
from coterie.anonymize.draw.wiring import Wired, cell_room, split_stubs, wire, wire_inner_outer
from coterie.anonymize.utility.communities import find_communities
from coterie.anonymize.utility.measures import assortativity, largest_component, measure
from coterie.data import Graph
from coterie.data.demo_data import social_network
from coterie.data.generators import planted_partition
from coterie.kernels.anonymize.rewiring import connected_in_block
from coterie.kernels.anonymize.wiring import WiringCells
from coterie.kernels.graphs.triangles import triangles


@pytest.fixture(scope="module")
def people() -> tuple[Graph, Classes]:
    graph, groups = social_network(n_people=240)
    block = np.unique(groups, return_inverse=True)[1].astype(np.int32)
    return graph, Classes(block, block)


def _graph(edges: Wired, n: int) -> Graph:
    return Graph.from_edges(edges.source, edges.target, n_nodes=n)


@pytest.mark.parametrize("join", [wire, wire_inner_outer])
@pytest.mark.parametrize(("noise", "epsilon"), [(np.inf, 0.0), (0.5, 0.1), (np.inf, 1.0)])
def test_wiring_uses_nearly_all_stubs(
    people: tuple[Graph, Classes], join: Callable[..., Any], noise: float, epsilon: float
) -> None:
    graph, classes = people
    matrix = block_matrix(graph, classes.block)
    edges, _ = join(
        classes, graph.degrees, matrix, noise=noise, epsilon=epsilon, limit=1.0, rng=default_rng(3)
    )
    made = _graph(edges, graph.n_nodes)
    assert made.cleaned == (0, 0, 0)
    assert made.n_edges + edges.given_up == graph.n_edges
    assert (made.degrees <= graph.degrees).all()
    assert (graph.degrees - made.degrees).sum() == 2 * edges.given_up
    assert (matrix >= block_matrix(made, classes.block)).all()
    assert edges.given_up <= 0.01 * graph.n_edges


@pytest.mark.parametrize("join", [wire, wire_inner_outer])
def test_no_cell_exceeds_its_share_of_pairs(
    people: tuple[Graph, Classes], join: Callable[..., Any]
) -> None:
    graph, classes = people
    small = Classes(classes.block, (np.arange(graph.n_nodes) // 6).astype(np.int32))
    block = Classes(np.zeros(graph.n_nodes, np.int32), small.label)
    degrees = graph.degrees * 2
    edges, cells = join(
        block,
        degrees,
        np.array([[degrees.sum()]]),
        noise=np.inf,
        epsilon=0.0,
        limit=0.3,
        rng=default_rng(0),
    )
    assert (cells.filled <= cells.room).all()
    a, b = small.label[edges.source], small.label[edges.target]
    shares = np.zeros((small.n_classes, small.n_classes))
    np.add.at(shares, (np.minimum(a, b), np.maximum(a, b)), 1)
    pairs = np.outer(small.sizes, small.sizes).astype(float)
    np.fill_diagonal(pairs, small.sizes * (small.sizes - 1) / 2)
    assert (shares <= 0.3 * pairs + 1e-9).all()


def test_stubs_are_split_exactly_and_in_proportion_to_degree() -> None:
    rng = default_rng(0)
    degrees = np.repeat([1, 9], 500)
    block = (np.arange(1000) % 2).astype(np.int32)
    inner = split_stubs(degrees, block, np.array([1000, 2500]), rng)
    assert np.bincount(block, inner).tolist() == [1000, 2500]
    assert (inner <= degrees).all() and (inner[(degrees == 1) & (block == 1)] == 1).all()
    few = (degrees == 1) & (block == 0)  # 250 of 2,500 stubs, of which 1,000 are inner
    assert 70 < inner[few].sum() < 130


def test_only_inner_stubs_are_joined_on_the_ring_of_their_block() -> None:
    block = np.repeat([0, 1], 200).astype(np.int32)
    classes = Classes(block, block)
    degrees = np.full(400, 8)
    edges, _ = wire_inner_outer(
        classes,
        degrees,
        np.array([[1200, 400], [400, 1200]]),
        noise=np.inf,
        epsilon=0.0,
        limit=1.0,
        rng=default_rng(4),
    )
    graph = _graph(edges, 400)
    inside = block[edges.source] == block[edges.target]
    counts = triangles(graph.indptr, graph.indices)
    within = Graph.from_edges(edges.source[inside], edges.target[inside], n_nodes=400)
    counts_within = triangles(within.indptr, within.indices)
    # Joined at random, 1,200 edges of a block close about 40 triangles.
    assert counts_within.sum() / 3 > 400
    assert counts.sum() < 1.25 * counts_within.sum()


def test_cells_that_cannot_fill_up_have_no_counter() -> None:
    one = np.zeros(50, np.int32)
    cells = cell_room(Classes(one, one), np.full(50, 3), 0.85)
    assert (cells.tight == -1).all()


def test_rewiring_keeps_degrees_and_block_pairs_and_approaches_its_targets(
    people: tuple[Graph, Classes],
) -> None:
    graph, classes = people
    matrix = block_matrix(graph, classes.block)
    edges, cells = wire(
        classes, graph.degrees, matrix, noise=np.inf, epsilon=1.0, limit=0.85, rng=default_rng(1)
    )
    targets = rewiring_targets(
        graph.degrees, triangles(graph.indptr, graph.indices), assortativity(graph)
    )
    again = rewire(edges, classes.block, cells, targets, default_rng(2))
    before, after = _graph(edges, graph.n_nodes), _graph(again, graph.n_nodes)
    assert after.cleaned == (0, 0, 0)
    assert (after.degrees == before.degrees).all()
    assert (block_matrix(after, classes.block) == block_matrix(before, classes.block)).all()
    assert (cells.filled <= cells.room).all()
    goal, first, last = (measure(g).global_clustering for g in (graph, before, after))
    assert abs(goal - last) < 0.3 * abs(goal - first)
    assert last <= 1.02 * goal
    assert abs(assortativity(after) - assortativity(graph)) < 0.02


def _profiles(graph: Graph, block: np.ndarray) -> np.ndarray:
    """Return the number of neighbours of each node in each block, the slow way."""
    counts = np.zeros((graph.n_nodes, block.max() + 1), np.int64)
    for u, v in zip(*graph.edges(), strict=True):
        counts[u, block[v]] += 1
        counts[v, block[u]] += 1
    return counts


@pytest.fixture
def twelve_blocks() -> tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells]:
    """Return a network, its blocks, their four communities, and a new network to rewire."""
    graph, _ = planted_partition(360, 4, p_in=0.12, p_out=0.01, rng=3)
    community = np.arange(360) // 90
    block = (3 * community + default_rng(0).integers(0, 3, 360)).astype(np.int32)
    edges, cells = wire_inner_outer(
        Classes(block, block),
        graph.degrees,
        block_matrix(graph, block),
        noise=np.inf,
        epsilon=1.0,
        limit=0.85,
        rng=default_rng(1),
    )
    return graph, block, community.astype(np.int32), edges, cells


def _rewired(
    network: tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells],
    monkeypatch: pytest.MonkeyPatch,
    rounds: slice,
    **changes: float,
) -> Graph:
    """Rewire in some of the rounds, none of which is undone; check what every round keeps."""
    graph, block, community, edges, cells = network
    targets = rewiring.RewiringTargets(np.array([2.0, 6, 12]), np.full(3, 0.5), 0.5, 0.0)
    kept = [step._replace(guarded=False, **changes) for step in rewiring._ROUNDS[rounds]]
    monkeypatch.setattr(rewiring, "_ROUNDS", tuple(kept))
    matrix = block_matrix(graph, block)
    made = rewire_within_communities(
        edges, block, community, cells, targets, matrix, default_rng(2)
    )
    before, after = (_graph(e, graph.n_nodes) for e in (edges, made))
    assert after.cleaned == (0, 0, 0) and not np.array_equal(after.indices, before.indices)
    assert (cells.filled <= cells.room).all()
    assert (after.degrees == before.degrees).all()
    assert (block_matrix(after, block) == block_matrix(before, block)).all()
    assert measure(after).global_clustering > measure(before).global_clustering
    return after


def test_all_rounds_keep_degrees_and_block_pairs(
    twelve_blocks: tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, _, community, edges, _ = twelve_blocks
    after = _rewired(twelve_blocks, monkeypatch, slice(None))
    before = _graph(edges, graph.n_nodes)
    assert (_profiles(after, community) != _profiles(before, community)).any()


def test_the_first_round_keeps_how_many_neighbours_everybody_has_in_each_block(
    twelve_blocks: tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, block, _, edges, _ = twelve_blocks
    after = _rewired(twelve_blocks, monkeypatch, slice(1))
    assert (_profiles(after, block) == _profiles(_graph(edges, graph.n_nodes), block)).all()


def test_the_second_round_keeps_how_many_neighbours_everybody_has_in_each_community(
    twelve_blocks: tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph, block, community, edges, _ = twelve_blocks
    after = _rewired(twelve_blocks, monkeypatch, slice(1, 2))
    before = _graph(edges, graph.n_nodes)
    assert (_profiles(after, community) == _profiles(before, community)).all()
    assert (_profiles(after, block) != _profiles(before, block)).any()


@pytest.mark.parametrize("limit", [0.1, 0.25])
def test_the_third_round_keeps_neighbours_in_the_own_community_and_limits_the_others(
    twelve_blocks: tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells],
    monkeypatch: pytest.MonkeyPatch,
    limit: float,
) -> None:
    graph, _, community, edges, _ = twelve_blocks
    after = _rewired(twelve_blocks, monkeypatch, slice(2, 3), outer_limit=limit)
    first, last = (_profiles(g, community) for g in (_graph(edges, graph.n_nodes), after))
    everybody = np.arange(graph.n_nodes)
    own = first[everybody, community]
    assert (last[everybody, community] == own).all() and (first != last).any()
    allowed = np.maximum(np.maximum(1.0, limit * own)[:, None], first)
    others = community[:, None] != np.arange(4)
    assert (last <= allowed)[others].all()


def test_a_round_that_would_lose_communities_is_undone(
    twelve_blocks: tuple[Graph, np.ndarray, np.ndarray, Wired, WiringCells],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The counters of the cells are put back as well."""
    graph, block, community, edges, cells = twelve_blocks
    targets = rewiring.RewiringTargets(np.array([2.0, 6, 12]), np.full(3, 0.5), 0.5, 0.0)
    matrix = block_matrix(graph, block)
    monkeypatch.setattr(rewiring, "_ROUNDS", rewiring._ROUNDS[2:])
    filled = cells.filled.copy()

    def rows(least: float) -> list[np.ndarray]:
        monkeypatch.setattr(rewiring, "_KEPT_COMMUNITIES", least)
        made = rewire_within_communities(
            edges, block, community, cells, targets, matrix, default_rng(2)
        )
        return [_graph(e, graph.n_nodes).indices for e in (edges, made)]

    assert np.array_equal(*rows(np.inf))
    assert np.array_equal(cells.filled, filled)
    assert not np.array_equal(*rows(0.0))


@pytest.mark.parametrize("seed", range(3))
def test_kept_communities_equal_the_reference(seed: int) -> None:
    rng = default_rng(seed)
    graph, _ = planted_partition(45, 3, mean_degree=8, rng=seed)
    block = rng.integers(0, 5, graph.n_nodes)
    block[:5] = range(5)
    matrix = block_matrix(graph, rng.permutation(block))
    found = find_communities(graph, default_rng(0))
    whole = reference.modularity_of_blocks(matrix.tolist(), communities_of_blocks(matrix).tolist())
    expected = reference.expected_modularity(
        matrix.tolist(), block.tolist(), graph.degrees.tolist(), found.tolist()
    )
    assert kept_communities(graph, block, matrix) == pytest.approx(expected / whole)


@pytest.mark.parametrize("seed", range(3))
def test_rewiring_within_communities_divides_no_block(seed: int) -> None:
    """Sparse blocks of 25 people, connected before; closing triangles alone would divide them."""
    rng = default_rng(seed)
    block = np.repeat(np.arange(8), 25).astype(np.int32)
    network = nx.Graph()
    for b in range(8):
        tree = nx.random_labeled_tree(25, seed=10 * seed + b)
        network.add_edges_from((25 * b + u, 25 * b + v) for u, v in tree.edges)
        network.add_edges_from((25 * b + rng.integers(0, 25, (15, 2))).tolist())
    network.add_edges_from(rng.integers(0, 200, (40, 2)).tolist())
    network.remove_edges_from(list(nx.selfloop_edges(network)))
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=200)
    targets = rewiring.RewiringTargets(np.array([2.0, 3, 5]), np.full(3, 0.8), 0.6, 0.1)
    edges = Wired(*graph.edges(), 0)
    cells = cell_room(Classes(block, block), graph.degrees, 1.0)

    def divided(made: Wired) -> int:
        whole = nx.Graph(zip(made.source.tolist(), made.target.tolist(), strict=True))
        whole.add_nodes_from(range(200))
        parts = [whole.subgraph(range(25 * b, 25 * b + 25)) for b in range(8)]
        return sum(nx.number_connected_components(part) > 1 for part in parts)

    matrix = block_matrix(graph, block)
    made = rewire_within_communities(edges, block, block, cells, targets, matrix, default_rng(seed))
    assert divided(edges) == divided(made) == 0
    clustering = [measure(_graph(e, 200)).global_clustering for e in (edges, made)]
    assert clustering[1] > 2 * clustering[0]
    free = rewire(edges, block, cells, targets, default_rng(seed))
    assert divided(free) > 4


@pytest.mark.parametrize("detour", [1, 2, 3, 5])
def test_a_detour_has_at_most_the_given_number_of_edges(detour: int) -> None:
    rng = default_rng(detour)
    graph = Graph.from_edges(*rng.integers(0, 30, (2, 45)), n_nodes=30)
    block = rng.integers(0, 2, 30).astype(np.int32)
    peer = nx.Graph(list(zip(*(x.tolist() for x in graph.edges()), strict=True)))
    seen, queue = np.zeros(30, np.int64), np.empty(30, np.int32)
    found = 0
    for stamp, (u, v) in enumerate(np.argwhere(block[:, None] == block[None, :]).tolist(), 1):
        if u == v or u not in peer or v not in peer:
            continue
        inside = peer.subgraph(np.flatnonzero(block == block[u]).tolist())
        expected = nx.has_path(inside, u, v) and nx.shortest_path_length(inside, u, v) <= detour
        assert expected == connected_in_block(
            graph.indptr, graph.indices, block, u, v, detour, seen, 2 * stamp, queue
        )
        found += expected
    assert found > 0


def test_the_same_seed_gives_the_same_graph(people: tuple[Graph, Classes]) -> None:
    graph, classes = people
    matrix = block_matrix(graph, classes.block)
    made = [
        wire(
            classes, graph.degrees, matrix, noise=1.0, epsilon=0.1, limit=0.85, rng=default_rng(s)
        )[0]
        for s in (5, 5, 6)
    ]
    assert (made[0].source == made[1].source).all() and (made[0].target == made[1].target).all()
    assert not np.array_equal(made[0].source, made[2].source)


def test_reconnecting_keeps_degrees_and_block_pairs() -> None:
    ring, pairs = 60, 20  # a ring of 60 nodes and 20 separate triangles
    source = np.r_[np.arange(ring), ring + np.arange(3 * pairs)].astype(np.int32)
    inner = ring + 3 * (np.arange(3 * pairs) // 3) + (np.arange(3 * pairs) + 1) % 3
    target = np.r_[(np.arange(ring) + 1) % ring, inner].astype(np.int32)
    block = (np.arange(120) % 2).astype(np.int32)
    classes = Classes(block, block)
    edges = Wired(source, target, 0)
    before = _graph(edges, 120)
    cells = cell_room(classes, before.degrees, 0.85)
    after = _graph(reconnect(edges, block, cells, 1.0, default_rng(0)), 120)
    assert largest_component(before) == 0.5
    assert largest_component(after) > 0.9
    assert after.cleaned == (0, 0, 0) and (after.degrees == before.degrees).all()
    assert (block_matrix(after, block) == block_matrix(before, block)).all()
    halfway = _graph(reconnect(edges, block, cells, 0.7, default_rng(0)), 120)
    assert 0.6 < largest_component(halfway) < 0.8
