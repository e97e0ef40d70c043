"""The other techniques, and the table that compares them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from benchmarks.baselines.benchmark import TECHNIQUES, benchmark, benchmark_json
from benchmarks.baselines.configuration import configuration
from benchmarks.baselines.generalization import clusters, generalize
from benchmarks.baselines.k_degree import anonymous_degrees, k_degree
from benchmarks.baselines.perturbation import replace_edges
from numpy.random import default_rng

from coterie.anonymize.draw.classes import block_matrix
from coterie.data import Graph


@pytest.fixture(scope="module")
def people() -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(500, 4, 0.5, seed=1).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=500)


def _cost(falling: list[int], k: int) -> float:
    """Return the smallest sum of increases over all divisions into groups of k or more."""
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
def test_anonymous_degrees_have_the_smallest_cost(seed: int) -> None:
    falling = np.sort(default_rng(seed).integers(0, 30, 13))[::-1]
    raised = anonymous_degrees(falling, 3)
    assert (raised >= falling).all() and (np.diff(raised) <= 0).all()
    assert np.unique(raised, return_counts=True)[1].min() >= 3
    assert (raised - falling).sum() == _cost(falling.tolist(), 3)


def test_k_degree_only_adds_edges_and_leaves_few_rare_degrees(people: Graph) -> None:
    made = k_degree(people, default_rng(0), k=5)
    old, new = (set(zip(*(x.tolist() for x in g.edges()), strict=True)) for g in (people, made))
    assert old <= new
    before, after = (
        (np.bincount(g.degrees)[g.degrees] < 5).mean() for g in (people, made)
    )  # people whose degree fewer than five people share
    assert after < 0.5 * before and after < 0.05


def test_configuration_model_keeps_degrees_but_not_edges(people: Graph) -> None:
    made = configuration(people, default_rng(0))
    assert (made.degrees == people.degrees).mean() > 0.99
    kept = (made.csr.multiply(people.csr)).sum() / (2 * people.n_edges)
    assert kept < 0.2


def test_replacing_edges_keeps_their_number(people: Graph) -> None:
    made = replace_edges(people, default_rng(0), share=0.2)
    assert abs(made.n_edges - people.n_edges) < 30
    kept = made.csr.multiply(people.csr).sum() / (2 * people.n_edges)
    assert 0.75 < kept < 0.87


def test_generalization_keeps_edge_counts_between_clusters(people: Graph) -> None:
    labels = clusters(people, 10)
    sizes = np.bincount(labels)
    assert sizes.min() >= 10 and sizes.max() < 20
    made = generalize(people, default_rng(0), k=10)
    full = (block_matrix(people, labels) - block_matrix(made, labels)).sum()
    assert 0 <= full <= 0.03 * 2 * people.n_edges  # full cells lose one pair


def test_benchmark_has_one_row_per_technique(people: Graph) -> None:
    rows = benchmark(people, 5)
    by_name = {row.technique: row for row in rows}
    assert set(by_name) == {
        "original",
        *TECHNIQUES,
        "coterie dcsbm",
        "coterie sbm",
        "coterie exact-counts",
    }
    naive, release = by_name["naive copy"], by_name["coterie dcsbm"]
    assert naive.risk is not None and release.risk is not None
    assert naive.risk.attacks.seeded[-1].seeds == 50
    assert naive.risk.found["50 people known"] > 300 and naive.risk.true_edges == 1.0
    assert release.risk.found["50 people known"] < 10 and release.risk.true_edges < 0.3
    assert naive.degree_ks == 0.0 and by_name["original"].risk is None
    original, first, *_ = benchmark_json(rows)
    utility = {
        "technique", "edges", "global_clustering", "average_local_clustering",
        "average_path_length", "degree_max", "assortativity", "isolates", "largest_component",
        "degree_ks",
    }  # fmt: skip
    assert set(original) == utility
    assert set(first) == utility | {
        "people_found", "precision", "true_edges", "seconds",
    }  # fmt: skip
    assert list(first["people_found"]) == [
        "10 people known", "50 people known", "50 people known, a guess for everyone",
        "nobody known, a guess for everyone", "exact degree known",
        "exact degrees of all neighbours known", "rank by degree",
    ]  # fmt: skip
