"""Other techniques do what their names say."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.baselines.benchmark import TECHNIQUES, benchmark
from coterie.anonymize.baselines.configuration import configuration
from coterie.anonymize.baselines.generalization import clusters, generalize
from coterie.anonymize.baselines.k_degree import anonymous_degrees, k_degree
from coterie.anonymize.baselines.perturbation import replace_edges
from coterie.anonymize.draw.classes import block_matrix
from coterie.data import Graph


@pytest.fixture(scope="module")
def people() -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(500, 4, 0.5, seed=1).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=500)


def _cost(falling: list[int], k: int) -> float:
    """The least sum of raises over all cuts into groups of k or more, by trying them all."""
    if not falling:
        return 0.0
    return min(
        (
            sum(falling[0] - d for d in falling[:g]) + _cost(falling[g:], k)
            for g in range(k, len(falling) + 1)
        ),
        default=float("inf"),
    )


@pytest.mark.parametrize("seed", range(8))
def test_degree_groups_cost_least(seed: int) -> None:
    falling = np.sort(default_rng(seed).integers(0, 30, 13))[::-1]
    raised = anonymous_degrees(falling, 3)
    assert (raised >= falling).all() and (np.diff(raised) <= 0).all()
    assert np.unique(raised, return_counts=True)[1].min() >= 3
    assert (raised - falling).sum() == _cost(falling.tolist(), 3)


def test_k_degree_only_adds_edges_and_hides_nearly_everybody(people: Graph) -> None:
    made = k_degree(people, default_rng(0), k=5)
    old, new = (set(zip(*(x.tolist() for x in g.edges()), strict=True)) for g in (people, made))
    assert old <= new
    before, after = (
        (np.bincount(g.degrees)[g.degrees] < 5).mean() for g in (people, made)
    )  # whose degree fewer than five share
    assert after < 0.5 * before and after < 0.05


def test_configuration_keeps_degrees_and_nothing_else(people: Graph) -> None:
    made = configuration(people, default_rng(0))
    assert (made.degrees == people.degrees).mean() > 0.99
    kept = (made.csr.multiply(people.csr)).sum() / (2 * people.n_edges)
    assert kept < 0.2


def test_replaced_edges_are_as_many(people: Graph) -> None:
    made = replace_edges(people, default_rng(0), share=0.2)
    assert abs(made.n_edges - people.n_edges) < 30
    kept = made.csr.multiply(people.csr).sum() / (2 * people.n_edges)
    assert 0.75 < kept < 0.87


def test_generalization_keeps_counts_between_clusters_of_k(people: Graph) -> None:
    labels = clusters(people, 10)
    sizes = np.bincount(labels)
    assert sizes.min() >= 10 and sizes.max() < 20
    made = generalize(people, default_rng(0), k=10)
    full = (block_matrix(people, labels) - block_matrix(made, labels)).sum()
    assert 0 <= full <= 0.03 * 2 * people.n_edges  # cells that are full give up one pair


def test_one_table_for_all(people: Graph) -> None:
    rows = {row["technique"]: row for row in benchmark(people, 5)}
    assert set(rows) == {
        "original",
        *TECHNIQUES,
        "coterie dcsbm",
        "coterie sbm",
        "coterie exact-counts",
    }
    naive, ours = rows["naive copy"], rows["coterie dcsbm"]
    assert naive["found_50_seeds"] > 300 and naive["true_edges"] == 1.0
    assert ours["found_50_seeds"] < 10 and ours["true_edges"] < 0.3
    assert naive["degree_ks"] == 0.0
