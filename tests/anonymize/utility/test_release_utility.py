"""Means over draws, and which properties count as preserved."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numpy.random import default_rng

from coterie.anonymize.figures import (
    DEGREES,
    EIGENVALUES,
    FURTHER_MEASURES,
    MEASURES,
    PURPOSES,
    FigureRow,
    public_rows,
)
from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.utility.community_utility import (
    CommunityDraw,
    CommunityFigures,
    CommunityUtility,
    assess_communities,
)
from coterie.anonymize.utility.measures import Measures, measure
from coterie.anonymize.utility.release_utility import (
    assess_utility,
    judge,
    judge_communities,
    mean_and_spread,
)
from coterie.data import Graph
from coterie.data.generators import planted_partition
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


def _lost(*arguments) -> list[str]:
    return [found.sentence for found in judge(*arguments) if not found.kept]


def test_properties_outside_their_tolerance_are_described(measures: Measures) -> None:
    changed = replace(
        measures,
        global_clustering=2 * measures.global_clustering,
        degree_max=2 * measures.degree_max,
        isolates=20,
        spectrum=[2 * value for value in measures.spectrum],
    )
    described = _lost(measures, [changed], 0.125)
    assert [text.split(":")[0] for text in described] == [
        "global clustering",
        "largest degree",
        "connection",
        "degree distribution",
        "largest eigenvalues",
    ]
    assert "12.5 % of the nodes" in described[3]


def test_sentences_for_the_owner_have_exact_figures(measures: Measures) -> None:
    # The public report shows only what stands before the colon (test_public_report.py).
    original = replace(measures, degree_max=47)
    (described,) = _lost(original, [replace(measures, degree_max=10)], 0.0)
    assert described == "largest degree: 47 became 10"


def test_one_rule_decides_what_is_preserved() -> None:
    """10 % of counts, means and lengths; .05 of coefficients; .02 of shares and distances."""
    declared = [*MEASURES, *FURTHER_MEASURES, DEGREES, EIGENVALUES]
    judged = [figure for figure in declared if figure.purpose]
    assert {figure.purpose for figure in judged} == set(PURPOSES)
    for figure in judged:
        assert (figure.relative, figure.absolute) in ((0.1, None), (None, 0.05), (None, 0.02))
    coefficients = {figure.key for figure in judged if figure.absolute == 0.05}
    assert coefficients == {"assortativity", "modularity"}


def test_the_usefulness_is_judged_by_purpose(graph: Graph, measures: Measures) -> None:
    blocks = (np.arange(200) // 50).astype(np.int32)
    copy = assign_new_ids(graph, default_rng(0))
    utility = assess_utility(graph, measures, blocks, [copy], LocalEngine(1))
    assert utility.kept_share == 1.0 and utility.fit_for == list(PURPOSES.values())
    assert utility.verdict.startswith(f"{len(utility.properties)} of {len(utility.properties)}")
    lost = [found._replace(kept=found.purpose == "degrees") for found in utility.properties]
    poor = replace(utility, properties=lost)
    assert poor.fit_for == [PURPOSES["degrees"]]
    assert poor.verdict.startswith("Not worth publishing: only ")


# ---- communities ----------------------------------------------------------------------------


def test_communities_of_a_copy_are_kept() -> None:
    graph, _ = planted_partition(400, 4, p_in=0.2, p_out=0.01, rng=0)
    copies = [assign_new_ids(graph, default_rng(seed)) for seed in (1, 2)]
    found = assess_communities(graph, copies, LocalEngine(2))
    assert found.original.communities == 4
    assert found.self_agreement == found.agreement == 1.0
    assert found.foreign_share == pytest.approx(1.0)
    assert all(kept.kept for kept in judge_communities(found))
    assert found == assess_communities(graph, copies, LocalEngine(1))


def test_communities_that_the_release_made_up_are_reported() -> None:
    graph, _ = planted_partition(400, 4, p_in=0.2, p_out=0.01, rng=0)
    other, _ = planted_partition(400, 4, p_in=0.2, p_out=0.01, rng=1)
    found = assess_communities(graph, [assign_new_ids(other, default_rng(0))])
    assert found.draws[0].figures.community_modularity > 0.5
    assert abs(found.foreign_modularity) < 0.05
    foreign, members = (p.sentence for p in judge_communities(found) if not p.kept)
    assert foreign.startswith("communities: those found in the release have modularity")
    assert members.startswith("who is in which community")


def test_original_without_clear_communities() -> None:
    edges = np.array(nx.gnm_random_graph(300, 1500, seed=1).edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=300)
    other = np.array(nx.gnm_random_graph(300, 1500, seed=2).edges)
    drawn = Graph.from_edges(other[:, 0], other[:, 1], n_nodes=300)
    found = assess_communities(graph, [assign_new_ids(drawn, default_rng(0))])
    assert found.self_agreement < 0.8
    (judged,) = judge_communities(found)
    assert not judged.kept and "the original has no clear communities" in judged.sentence


@pytest.mark.parametrize(
    ("foreign", "agreement", "self_agreement", "sentences"),
    [(0.51, 0.75, 1.0, 0), (0.509, 0.75, 1.0, 1), (0.51, 0.74, 1.0, 1), (0.6, 0.1, 0.5, 0)],
)
def test_thresholds_of_communities(
    foreign: float, agreement: float, self_agreement: float, sentences: int
) -> None:
    figures = CommunityFigures(0.6, 10, 3, 0.2)
    draw = CommunityDraw(figures, foreign, agreement)
    found = CommunityUtility(figures, self_agreement, [draw])
    assert sum(not judged.kept for judged in judge_communities(found)) == sentences


# ---- further measures -----------------------------------------------------------------------


def _row(label: str, original: float, published: float) -> FigureRow:
    (figure,) = (f for f in FURTHER_MEASURES if f.label == label)
    return FigureRow(figure, original, published, figure.keeps(original, published))


def test_all_lost_measures_are_named_with_their_figures(measures: Measures) -> None:
    rows = [
        _row("4-cliques", 123_456, 111_111),
        _row("squares, with or without diagonals", 123_456, 60_000),
        _row("nodes in the innermost core", 57, 46),
        _row("diamonds (squares with one diagonal)", 123_456, 0),
    ]
    assert [row.kept for row in rows] == [True, False, False, False]
    assert _lost(measures, [measures], 0.0, None, rows) == [
        "squares, with or without diagonals: 123,456 became 60,000",
        "nodes in the innermost core: 57 became 46",
        "diamonds (squares with one diagonal): 123,456 became 0",
    ]


def test_figures_of_few_people_are_not_public() -> None:
    rows = [
        _row("nodes in the innermost core", 9, 200),
        _row("bridges", 10, 10),  # within 10 %: exactly 10 or 11 would be known
        _row("articulation points", 120, 125),
        _row("largest betweenness", 0.2, 0.2),
        _row("largest eigenvalue", 50.0, 50.0),
        _row("mean core number", 3.14159, 3.2),
    ]
    shown = public_rows(rows, 10)
    assert [row.figure.label for row in shown] == ["articulation points", "mean core number"]
    assert all(row.original is None for row in shown)
