"""Means over draws, and which properties count as preserved."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.utility.measures import Measures, measure
from coterie.anonymize.utility.release_utility import assess_utility, mean_and_spread
from coterie.anonymize.utility.tolerances import properties_not_kept
from coterie.data import Graph
from coterie.engine import LocalEngine


@pytest.fixture(scope="module")
def graph() -> Graph:
    edges = np.array(nx.powerlaw_cluster_graph(200, 3, 0.5, seed=1).edges)
    return Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=200)


@pytest.fixture(scope="module")
def measures(graph: Graph) -> Measures:
    return measure(graph)


def test_a_copy_preserves_everything(graph: Graph, measures: Measures) -> None:
    blocks = (np.arange(200) // 50).astype(np.int32)
    copy = assign_new_ids(graph, default_rng(0))
    utility = assess_utility(graph, measures, blocks, [copy], LocalEngine(1))
    assert utility.not_kept == [] and utility.degree_ks == 0.0
    assert utility.published.modularity == pytest.approx(utility.original.modularity)
    assert isinstance(utility.published.edges, int)  # counts of a single draw stay integers
    assert utility.spread.edges == 0.0


def test_mean_and_standard_deviation_over_draws(measures: Measures) -> None:
    draws = [replace(measures, edges=10), replace(measures, edges=14)]
    mean, spread = mean_and_spread(draws)
    assert mean.edges == 12.0 and spread.edges == pytest.approx(np.sqrt(8))
    assert mean.modularity is None


def test_properties_outside_their_tolerance_are_described(measures: Measures) -> None:
    changed = replace(
        measures,
        global_clustering=2 * measures.global_clustering,
        degree_max=2 * measures.degree_max,
        isolates=20,
        spectrum=[2 * value for value in measures.spectrum],
    )
    described = properties_not_kept(measures, [changed], 0.125)
    assert [text.split(":")[0] for text in described] == [
        "global clustering",
        "largest degree",
        "connection",
        "degree distribution",
        "largest eigenvalues",
    ]
    assert "12.5 % of the nodes" in described[3]


def test_the_exact_largest_degree_is_not_published(measures: Measures) -> None:
    original = replace(measures, degree_max=47)
    (described,) = properties_not_kept(original, [replace(measures, degree_max=10)], 0.0)
    assert described == "largest degree: 50 became 10"
