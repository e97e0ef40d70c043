"""Fewer blocks, or diluted cores, if exact degrees would disclose too many edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import default_n_blocks, n_blocks_by_size
from coterie.anonymize.draw.dcsbm import release_classes
from coterie.anonymize.policy import Policy
from coterie.anonymize.risk.disclosure import degree_disclosure
from coterie.anonymize.settings_search import (
    BlockSettings,
    RememberedLabels,
    first_sufficient,
    possible_settings,
)
from coterie.data import Graph

CLIQUE = 24


@pytest.fixture(scope="module")
def team() -> tuple[Graph, np.ndarray]:
    """A complete team of 24 with two guests, among 300 people in groups of moderate density."""
    rng = default_rng(3)
    label = np.r_[np.zeros(CLIQUE + 2, int), 1 + np.arange(300) // 75].astype(np.int32)
    u, v = np.triu_indices(len(label), 1)
    p = np.where(label[u] == label[v], 0.2, 0.004)
    p[(label[u] == 0) & (label[v] == 0)] = 0.05
    p[v < CLIQUE] = 1.0
    kept = rng.random(len(u)) < p
    return Graph.from_edges(u[kept], v[kept], n_nodes=len(label)), label


def _classes(team: tuple[Graph, np.ndarray], core_share: float) -> Classes:
    graph, label = team
    return release_classes(graph, label, 10, 0.85, core_share=core_share)


def test_a_core_with_many_edges_is_diluted(team: tuple[Graph, np.ndarray]) -> None:
    graph, _ = team
    before, after = (
        degree_disclosure(graph, _classes(team, share), 0.9).named for share in (np.inf, 0.02)
    )
    assert before > 0.05 and after <= 0.02
    assert (_classes(team, 0.02).block[:CLIQUE] == _classes(team, 0.02).block[0]).all()
    assert _classes(team, 0.02).n_blocks == _classes(team, np.inf).n_blocks


def test_the_first_settings_that_suffice_are_found(team: tuple[Graph, np.ndarray]) -> None:
    tried = []

    def classes(settings: BlockSettings) -> Classes:
        tried.append(settings)
        return _classes(team, settings.core_share)

    settings = possible_settings(5, 0.02, fewer=False)
    found = first_sufficient(team[0], settings, 0.02, 0.9, classes, lambda settings: None)
    assert found == BlockSettings(5, 0.02)
    assert tried == [found]
    whole = Classes(np.zeros(30, np.int32), np.zeros(30, np.int32))
    complete = Graph.from_edges(*np.triu_indices(30, 1), n_nodes=30)
    assert first_sufficient(complete, settings, 0.02, 0.9, lambda s: whole, lambda s: None) is None


def test_remedies_are_listed_with_the_least_change_first() -> None:
    divided, both, merged, diluted = possible_settings(20, 0.02, fewer=True)
    assert divided == [BlockSettings(10), BlockSettings(6), BlockSettings(5)]
    assert both == [BlockSettings(n, 0.0, merge_cores=True) for n in (10, 6, 5)]
    assert all(s.merge_cores and s.n_blocks == 20 for s in merged)
    assert [s.core_share for s in merged] == [0.02, 0.01, 0.004, 0.0]
    assert [diluted] == possible_settings(20, 0.02, fewer=False)
    assert not any(s.merge_cores for s in diluted)


@pytest.mark.parametrize(("merged_keeps_more", "n_blocks"), [(True, 8), (False, 4)])
def test_of_the_remedies_the_one_that_keeps_communities_is_tried_first(
    merged_keeps_more: bool, n_blocks: int
) -> None:
    """Eight groups of thirty people; blocks are groups, pairs of groups, or mixed."""
    network = nx.disjoint_union_all([nx.gnp_random_graph(30, 0.3, seed=i) for i in range(8)])
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=240)
    own = (np.arange(240) // 30).astype(np.int32)
    mixed = (np.arange(240) % 8).astype(np.int32)

    def classes(settings: BlockSettings) -> Classes:
        if settings.n_blocks == 8:
            keeps = settings.merge_cores and merged_keeps_more
            label = own if keeps else mixed
        else:  # two groups per block; four per block have more modularity than mixed blocks too
            label = own // 2 if settings.n_blocks == 4 else own // 4
        return Classes(label, label)

    remedies = possible_settings(8, 0.02, fewer=True)
    found = first_sufficient(graph, remedies, 0.02, 0.9, classes, lambda settings: None)
    assert found is not None
    assert (found.n_blocks, found.merge_cores) == (n_blocks, merged_keeps_more)


def test_cliques_of_different_sizes_keep_communities() -> None:
    """Exact degrees tell the cliques apart, so the default blocks disclose too much. A quarter of
    the blocks suffices, but merging the blocks of cores keeps more."""
    sizes = range(10, 61, 5)
    network = nx.disjoint_union_all([nx.complete_graph(size) for size in sizes])
    rng = default_rng(2)
    network.add_edges_from(rng.integers(0, len(network), (20, 2)).tolist())
    network.remove_edges_from(list(nx.selfloop_edges(network)))
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=len(network))
    policy = Policy(accepted_inference=1.0)  # of cliques, nearly all edges can be concluded
    made = Anonymizer(policy=policy).release(graph, suggest=False)
    assert not made.refused and made.utility is not None
    assert (made.utility.original.modularity or 0) > 0.65  # .495 with a quarter of the blocks


def test_merging_the_block_of_a_core_discloses_less_and_leaves_the_other_blocks(
    team: tuple[Graph, np.ndarray],
) -> None:
    graph, label = team
    merged = release_classes(graph, label, 10, 0.85, core_share=0.02, merge_cores=True)
    assert degree_disclosure(graph, merged, 0.9).named <= 0.02
    assert merged.n_blocks == _classes(team, np.inf).n_blocks - 1
    # Nobody leaves a block: the team has one other block with it.
    assert all(len(np.unique(merged.block[label == block])) == 1 for block in range(5))


def test_the_other_blocks_stay_if_one_core_would_disclose_too_much() -> None:
    """A complete team of 24 among forty groups: half as many blocks would join the groups."""
    rng = default_rng(5)
    label = np.r_[np.zeros(CLIQUE + 2, int), 1 + np.arange(1200) // 30]
    u, v = np.triu_indices(len(label), 1)
    activity = rng.lognormal(0, 0.6, len(label))
    active = 0.24 * (activity[u] * activity[v]) / activity.mean() ** 2
    p = np.where(label[u] == label[v], np.minimum(active, 0.6), 0.0005)
    p[(label[u] == 0) & (label[v] == 0)] = 0.05
    p[v < CLIQUE] = 1.0
    kept = rng.random(len(u)) < p
    graph = Graph.from_edges(u[kept], v[kept], n_nodes=len(label))
    expected = default_n_blocks(graph)
    assert expected > n_blocks_by_size(graph)
    made = Anonymizer(policy=Policy(known_degrees_share=0.01)).release(graph, suggest=False)
    assert made.risk is not None and made.record is not None
    assert made.risk.disclosed_edges.known_degrees.disclosed <= 0.01
    assert made.record.blocks > 0.9 * expected


def test_the_anonymizer_dilutes_cores_before_it_refuses(team: tuple[Graph, np.ndarray]) -> None:
    graph, label = team
    made = Anonymizer(5).release(graph, labels=label, suggest=False)
    assert made.risk is not None
    assert made.risk.disclosed_edges.known_degrees.disclosed <= 0.02


def test_a_graph_is_clustered_once_per_number_of_blocks() -> None:
    runs = []
    ring, path = (
        Graph.from_edges(*np.array(g.edges).T, n_nodes=9)
        for g in (nx.cycle_graph(9), nx.path_graph(9))
    )

    def cluster(graph: Graph, n_blocks: int) -> np.ndarray:
        runs.append((graph, n_blocks))
        return np.zeros(graph.n_nodes, np.int32)

    remembered = RememberedLabels()
    for graph, n_blocks in ((ring, 2), (path, 2), (ring, 2), (ring, 3)):
        remembered.get(graph, n_blocks, cluster)
    assert len(runs) == 3
