"""Reports show what was measured, for inputs of any size and for unusual ones."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields, replace
from html import unescape

import numpy as np
import pytest
from tests.support import fitted_stand_ins as stand_ins

import coterie as ct
from coterie.anonymize.figures import FIGURES, FigureRow
from coterie.anonymize.output.public_summary import OwnerSummary, PublicSummary
from coterie.anonymize.utility.community_utility import PublicCommunities
from coterie.base.progress import Iteration
from coterie.data import Graph
from coterie.data.generators import planted_partition
from coterie.report import cluster_report as cluster
from coterie.report import recommender_report as recommend
from coterie.report import release_report as anonymize
from coterie.report import soft_report as soft
from coterie.report.block_matrix import arrange
from coterie.report.page import Page, Panel, Section, Verdict, write
from coterie.report.rating_groups import counts_between
from coterie.report.recommender_report import prediction_quality
from coterie.report.release_sections import measure_by_measure
from coterie.report.shared_sections import convergence


def words(html: str) -> str:
    body = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_cluster_report_shows_sizes_entropy_and_what_to_try() -> None:
    _, graph = stand_ins.clustered()
    model = stand_ins.with_labels(graph, np.arange(600) % 12, 12)
    text = words(cluster.render(model, graph, name="a <graph>"))
    assert "12 blocks in a <graph>" in text
    assert f"The 600 nodes with {graph.n_edges:,} edges form 12 blocks" in text
    assert "not locally optimal" in text and "Try the search “best”" in text


def test_cluster_baseline_is_the_entropy_of_one_block() -> None:
    model, graph = stand_ins.clustered()
    n, m = graph.n_nodes, graph.n_edges
    pairs = n * (n - 1) / 2
    p = m / pairs
    expected = -(m * np.log(p) + (pairs - m) * np.log(1 - p))
    found = cluster.blocks_of(model, graph).entropy_without_blocks
    assert found == pytest.approx(expected, rel=1e-12)


def test_merged_block_matrix_keeps_every_edge_and_pair() -> None:
    model, graph = stand_ins.clustered(2000, 100)
    sizes = np.bincount(model.labels_, minlength=100)
    small = arrange(model.block_edges_, model.block_pairs_, sizes)
    assert small.edges.shape == (40, 40)
    assert np.triu(small.edges).sum() == graph.n_edges
    assert np.triu(small.pairs).sum() == 2000 * 1999 // 2
    assert sorted(np.concatenate(small.members).tolist()) == list(range(100))


def test_cluster_report_does_not_grow_with_the_graph() -> None:
    """Apart from the data of the interactive drawing, which are compact."""
    pages = [cluster.render(*stand_ins.clustered(n, 8)) for n in (8_000, 40_000)]
    data = [len(page.page.sections[0].figures[0].chart.network) for page in pages]
    small, large = (len(page) - size for page, size in zip(pages, data, strict=True))
    assert large < 1.2 * small < 1_000_000
    assert len(pages[1]) < 3_000_000


@pytest.mark.parametrize("n_nodes", [1, 2])
def test_cluster_report_of_almost_empty_graphs(n_nodes: int) -> None:
    graph = Graph.from_edges([], [], n_nodes=n_nodes)
    model = stand_ins.with_labels(graph, np.zeros(n_nodes, np.int32), 1)
    assert "</html>" in cluster.render(model, graph)


def test_empty_blocks_are_not_counted() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], n_nodes=5)
    model = stand_ins.with_labels(graph, np.array([0, 0, 4, 4, 4], np.int32), 5)
    assert cluster.blocks_of(model, graph).n_blocks == 2


def test_cluster_report_of_ratings_counts_ratings_between_blocks() -> None:
    data = stand_ins.ratings()
    model = stand_ins.co_clustered(data, max_iter=0)
    counts = counts_between(model.labels_, data)
    assert counts.sum() == len(data)
    inside = (data.users % 4 == 1) & (data.items % 3 == 2) & (data.codes == 4)
    assert counts[1, 2, 4] == inside.sum()
    text = words(cluster.render(model, data, name="films"))
    assert "4 × 3 blocks in films" in text and "Mean rating by block" in text


@pytest.mark.parametrize("kind", ["simple", "degree-corrected", "directed", "weighted"])
def test_cluster_report_of_every_objective_for_graphs(kind: str) -> None:
    graph, _ = planted_partition(120, 3, mean_degree=10, directed=kind == "directed", rng=0)
    if kind == "weighted":
        weights = np.arange(graph.n_edges) % 4 + 1.0
        graph = Graph.from_edges(*graph.edges(), weights=weights, n_nodes=120)
    model = ct.GeneralizedKMeans(3, search="paper", objective=kind, rng=0).fit(graph)
    text = words(cluster.render(model, graph))
    assert "form 3 blocks" in text
    assert ("weight divided by" in text) == (kind == "weighted")
    assert ("less than without blocks" in text) == (kind in ("simple", "directed"))
    card = model._repr_html_()
    assert card is not None and "locally optimal" in card


@pytest.mark.parametrize("kind", ["ratings", "binomial", "likes"])
def test_cluster_report_of_every_objective_for_ratings(kind: str) -> None:
    data = stand_ins.ratings(1500)
    if kind == "likes":
        data = ct.Ratings.from_arrays(data.users, data.items, np.ones(len(data)))
    model = ct.GeneralizedKMeans((4, 3), search="paper", objective=kind, rng=0).fit(data)
    assert "users form 4 blocks and the 80 items 3 blocks" in words(cluster.render(model, data))


def test_cluster_report_of_likes_shows_shares_of_pairs() -> None:
    data = ct.Ratings.from_arrays([0, 1, 2, 3], [0, 0, 1, 1], [1, 1, 1, 1])
    model = stand_ins.co_clustered(data, (2, 2))
    assert "share of pairs" in words(cluster.render(model, data))


def test_release_report_draws_the_profiles_of_both_graphs() -> None:
    text = words(anonymize.render(stand_ins.release()))
    assert "Clustering by degree" in text and "Largest eigenvalues" in text
    assert "steps 1 original: 0.001 release: 0.003" in text


def test_calibration_error_of_true_and_of_overconfident_probabilities() -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 20_000)
    truth = np.array([rng.choice(3, p=row) for row in p])
    values = np.array([1.0, 2.0, 3.0])
    calibrated = prediction_quality(truth, p, values).calibration_error
    certain = np.eye(3)[p.argmax(1)]
    overconfident = prediction_quality(truth, certain, values).calibration_error
    assert calibrated < 0.01 < 0.2 < overconfident


def test_prediction_quality_counts_every_rating() -> None:
    truth = np.array([0, 1, 1])
    p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    quality = prediction_quality(truth, p, np.array([1.0, 5.0]))
    assert quality.mode_by_truth.tolist() == [[1, 0], [1, 1]]
    assert quality.mean_by_truth.tolist() == pytest.approx([1.4, (4.2 + 2.6) / 2])


def test_recommend_report_with_and_without_a_model() -> None:
    ratings = stand_ins.ratings()
    model = ct.MMSBM(n_groups=(4, 3), max_iter=20, rng=0).fit(ratings)
    p = np.full((len(ratings), 5), 0.2)
    full = recommend.render(
        stand_ins.evaluation(),
        name="films",
        model=model,
        ratings=ratings,
        test=(ratings.codes, p),
        titles={str(i): f"Film & <{i}>" for i in range(80)},
    )
    assert "Film &amp; &lt;" in full and "Film & <" not in full
    assert "Mean rating by group" in words(full)
    bare = words(recommend.render(stand_ins.evaluation()))
    assert "Results by fold" in bare and "Mean rating by group" not in bare


def test_recommend_report_of_an_additive_model_lists_both_sides() -> None:
    ratings = stand_ins.ratings()
    model = stand_ins.additive(ratings)
    text = words(recommend.render(stand_ins.evaluation(), model=model, ratings=ratings))
    assert "Table 1: the groups of items" in text and "Table 2: the groups of users" in text


def test_soft_report_of_ratings_names_both_sides() -> None:
    ratings = stand_ins.ratings()
    model = ct.MMSBM(n_groups=(4, 3), max_iter=20, rng=0).fit(ratings)
    text = words(soft.render(model, ratings, name="films"))
    assert "4 groups of users and 3 groups of items" in text


def test_reports_list_the_assumptions() -> None:
    model, graph = stand_ins.clustered()
    remarks = ["/home/somebody/edges.txt: column 3 was not read"]
    text = words(cluster.render(model, graph, assumed=remarks))
    assert "edges.txt: column 3 was not read." in text and "somebody" not in text
    assert "The probability of an edge depends only on the blocks" in text
    ratings = stand_ins.ratings()
    soft_model = ct.MMSBM(n_groups=(4, 3), max_iter=5, rng=0).fit(ratings)
    assert "pairs without a rating carry no information" in words(soft.render(soft_model, ratings))
    evaluated = words(recommend.render(stand_ins.evaluation(), model=soft_model, ratings=ratings))
    assert "Rows were assigned to the folds at random" in evaluated
    assert "no directions, no weights" in words(anonymize.render(stand_ins.release()))


def test_very_high_first_entropies_are_not_drawn() -> None:
    history = [
        Iteration(i, 0.1 * i, s) for i, s in enumerate([2.2e8, 600.0, 520.0, 500.0], start=1)
    ]
    section = convergence(history)
    assert [row[0] for row in section.figures[0].chart.table.rows] == [2, 3, 4]
    assert "Not drawn: the fall from 220M, before iteration 2" in section.figures[0].caption


def test_anonymize_verdict_follows_the_policy() -> None:
    passed = words(anonymize.render(stand_ins.release()))
    assert "✓ released" in passed
    assert "No attack guessed more than 11 of 18,772 people right (less than 1 expected" in passed
    assert "in the copy without names: 10 people known" in passed
    refused = words(anonymize.render(stand_ins.release(refused=True)))
    assert "✗ refused" in refused and "40 blocks would pass" in refused
    assert "limit exceeded" in refused and "limit exceeded" not in passed
    forced = words(anonymize.render(replace(stand_ins.release(refused=True), forced=True)))
    assert "✗ forced" in forced


def test_facts_of_a_release_show_the_published_graph() -> None:
    summary = stand_ins.release()
    text = words(anonymize.render(summary))
    assert "edges 197,720 original 198,050" in text
    unmeasured = words(anonymize.render(replace(summary, utility=None)))
    assert "edges 198,050" in unmeasured


def test_levels_of_risk_are_percentages() -> None:
    text = words(anonymize.render(stand_ins.release()))
    assert "graph with new ids (this release) 2.75 % 10 % – 0.00538 %" in text
    assert "ids kept 100 % 100 % 0 % 100 %" in text


def test_changes_smaller_than_the_rounding_of_the_original_are_not_shown() -> None:
    utility = stand_ins.release().utility
    assert utility is not None
    for released, changes in (
        ((18, 2040, 0.304), ["within rounding", "–", "within rounding"]),
        ((60, 2080, 0.331), ["+200.0 %", "–", "+10.3 %"]),
    ):
        measures = [
            FigureRow(FIGURES["isolates"], 20, released[0], error=10.0),
            FigureRow(FIGURES["degree_max"], None, released[1]),
            FigureRow(FIGURES["global_clustering"], 0.3, released[2], error=0.005),
        ]
        table = measure_by_measure(replace(utility, measures=measures)).tables[0].table
        assert table.columns == ["measure", "original (rounded)", "release", "change"]
        assert [row[1] for row in table.rows] == ["20 ± 10", "–", "0.3 ± 0.005"]
        assert [row[3] for row in table.rows] == changes


def test_the_owner_sees_exact_figures_and_that_they_are_private() -> None:
    public = stand_ins.release()
    private = OwnerSummary(**{f.name: getattr(public, f.name) for f in fields(public)})
    text = words(anonymize.render(private))
    assert "PRIVATE anonymization report" in text and "(less than 1 expected" in text
    assert "PRIVATE" not in words(anonymize.render(public))


def test_title_of_a_release_and_of_a_refusal() -> None:
    summary = stand_ins.release()
    page = anonymize.compose(replace(summary, name="friends", refused=False))
    assert (page.title, page.subtitle) == ("Published network", "“friends”")
    assert anonymize.compose(replace(summary, refused=True)).title == "Refused release"


def test_anonymize_report_of_a_bare_refusal() -> None:
    text = words(anonymize.render(PublicSummary(refused=True, reasons=["the graph is too small"])))
    assert "Nothing was released" in text and "the graph is too small" in text


def test_pages_fetch_nothing_and_escape_their_input() -> None:
    evil = "<script>alert(1)</script>"
    from coterie.report.charts import ChartTable

    page = Page(
        "report",
        evil,
        Verdict(evil, reasons=[evil]),
        sections=[Section(evil, evil, [], [Panel(evil, ChartTable([evil], [[evil]]))], [evil])],
    )
    html = write(page)
    assert html.count("<script>") == 1
    assert not re.search(r"""(src|href)=["'](?!#|data:,)""", html)
    assert "http://" not in html and "https://" not in html


def test_a_block_model_has_a_notebook_view() -> None:
    """Its `model_` is the name of a model, unlike that of a recommender."""
    graph = ct.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
    html = ct.BlockModel().fit(graph)._repr_html_()
    assert html is not None and "description length" in html and "entropy" not in html
    assert ct.Recommender()._repr_html_() is None


def test_only_fitted_models_have_a_notebook_view() -> None:
    model = ct.MMSBM(n_groups=2, max_iter=5)
    assert model._repr_html_() is None
    html = model.fit(stand_ins.ratings())._repr_html_()
    assert html is not None and "<svg" in html and "user groups" in html
    shown = ct.Recommender(model)._repr_html_()
    assert shown is not None and ">Recommender(" in shown and "user groups" in shown


def test_public_functions_of_the_report_package_are_loaded_on_first_use() -> None:
    import coterie.report as report

    model, graph = stand_ins.clustered()
    assert report.render_cluster_report is cluster.render
    assert "<html" in report.render_cluster_report(model, graph)
    assert all(callable(getattr(report, name)) for name in report.__all__)
    with pytest.raises(AttributeError, match="render_nothing"):
        report.render_nothing  # noqa: B018


def test_importing_coterie_does_not_import_the_report() -> None:
    code = "import sys, coterie; print('coterie.report' in sys.modules, 'jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_release_report_says_whether_communities_are_preserved() -> None:
    text = words(anonymize.render(stand_ins.release()))
    assert "✗ not preserved (at least 0.546)" in text  # 0.293 of 0.642
    assert "✗ not preserved (at least 0.609)" in text  # 0.291, where two searches agree at 0.812
    assert "✓ preserved (within 10" in text and "✗ not preserved (within 10" in text


def test_release_report_of_an_original_without_clear_communities() -> None:
    summary = stand_ins.release()
    assert summary.utility is not None
    vague = PublicCommunities(0.2, 0.21, 0.19, 0.3, 0.4, True, None)
    changed = replace(summary, utility=replace(summary.utility, communities=vague))
    text = words(anonymize.render(changed))
    assert "not clear enough to compare" in text and "own modularity search" in text
