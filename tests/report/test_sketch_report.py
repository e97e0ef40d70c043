"""The report of a sketch: its guarantee, its errors, and that it needs nothing of the original."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support import fitted_stand_ins as stand_ins

from coterie.anonymize.private.ladder import Ladder
from coterie.anonymize.private.ladder import draw as draw_from_ladder
from coterie.anonymize.private.noise import discrete_laplace
from coterie.anonymize.private.noise_laws import (
    LadderLaw,
    ladder_half_width,
    laplace_error,
    laplace_half_width,
)
from coterie.anonymize.private.posterior import Interval, intervals
from coterie.anonymize.private.sketch_file import read_answers, to_bytes
from coterie.anonymize.utility.communities import modularity
from coterie.anonymize.utility.measures import measure
from coterie.data import Graph
from coterie.report.sketch_accuracy import answer_noise, reliance
from coterie.report.sketch_report import render


@pytest.fixture(scope="module")
def cliques() -> Graph:
    return stand_ins.clique_network()


@pytest.fixture(scope="module")
def page(cliques: Graph) -> str:
    return _text(render(stand_ins.sketch(cliques), [cliques]))


def _text(html: str) -> str:
    without = re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", without)).replace("\u00a0", " ")


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(50)])
def test_expected_laplace_error_is_what_the_sampler_gives(scale: Fraction) -> None:
    sampled = np.abs(discrete_laplace(scale, 40_000))
    standard_error = sampled.std() / 200
    assert abs(sampled.mean() - laplace_error(scale)) < 5 * standard_error


def test_expected_ladder_error_is_that_of_its_law() -> None:
    """The law by its definition: an integer on rung t has weight exp(-epsilon t / 2)."""
    ladder, epsilon = Ladder(100, 3, 2), Fraction(1, 2)
    values = range(-20_000, 20_001)
    weights = np.array([np.exp(-0.25 * ladder.rung(x)) for x in values])
    distance = np.abs(np.array(values) - 100)
    law = LadderLaw.of(ladder.width, ladder.step, float(epsilon))
    assert law.error() == pytest.approx(float((weights * distance).sum() / weights.sum()), rel=1e-9)
    sampled = np.array([abs(draw_from_ladder(ladder, epsilon) - 100) for _ in range(3000)])
    assert abs(sampled.mean() - law.error()) < 5 * sampled.std() / 54


def test_guarantee_is_stated_in_words_and_numbers(page: str) -> None:
    assert "no result is more than e^ε = 2.7 times as likely" in page
    assert "The factor is no bound for somebody who expects friendships to come together" in page
    assert "one friendship 2.7 at most 2.7 %" in page
    assert "a person’s 10 friendships together 22,000 anything" in page
    assert "a person’s 50 friendships together 5·10²¹ anything" in page


def test_every_answer_is_listed_with_its_share_and_error(cliques: Graph, page: str) -> None:
    answers = stand_ins.sketch(cliques)
    rows = answer_noise(answers)
    assert sum(row.share for row in rows) == 1
    assert [row.share for row in rows] == list(answers.shares.parts())
    edges = rows[0]
    scale = 1 / answers.shares.edge_count
    assert edges.error == pytest.approx(float(scale), rel=0.01)
    assert rows[1].error == pytest.approx(float(2 / answers.shares.degrees), rel=0.01)
    for row in rows:
        assert row.question in page


def test_a_larger_epsilon_means_smaller_errors(cliques: Graph) -> None:
    low, high = (
        answer_noise(each)
        for each in (stand_ins.sketch(cliques, "0.5"), stand_ins.sketch(cliques, "2"))
    )
    assert all(b.error < a.error for a, b in zip(low, high, strict=True))


def test_modularity_of_the_blocks_needs_no_original(cliques: Graph) -> None:
    answers = stand_ins.sketch(cliques)
    found = intervals(answers)["modularity"]
    assert found.low <= modularity(cliques, answers.labels) <= found.high
    assert found.value == pytest.approx(modularity(cliques, answers.labels), abs=0.05)


def test_recipients_are_told_what_to_rely_on(cliques: Graph) -> None:
    star = stand_ins.star_network()
    dense, sparse = (
        {
            row.property: row.verdict
            for row in reliance(answers, intervals(answers), [measure(graph)])
        }
        for graph, answers in (
            (cliques, stand_ins.sketch(cliques, "4")),
            (star, stand_ins.sketch(star)),
        )
    )
    assert dense["number of people"] == sparse["number of people"] == "exact"
    assert dense["triangles, global clustering"] == "yes"
    assert dense["large communities"] == "yes"
    assert sparse["triangles, global clustering"] == "no"
    assert sparse["mean local clustering"] == "no"
    assert sparse["large communities"] == "no"
    assert sparse["who belongs to which community"] == "no"
    assert dense["a single friendship"] == sparse["a single friendship"] == "no"


def test_half_widths_are_those_of_the_laws() -> None:
    for scale in (0.3, 3.0, 50.0):
        z = np.arange(-3000, 3001)
        law = np.exp(-np.abs(z) / scale)
        k = laplace_half_width(scale)
        inside = law[np.abs(z) <= k].sum() / law.sum()
        assert inside >= 0.95 and (k == 0 or law[np.abs(z) < k].sum() / law.sum() < 0.95)
    ladder = Ladder(0, 3, 2)
    x = np.arange(-20_000, 20_001)
    weights = np.array([np.exp(-0.25 * ladder.rung(value)) for value in x.tolist()])
    half = ladder_half_width([LadderLaw.of(3, 2, 0.5)])
    found = weights[np.abs(x) <= half].sum() / weights.sum()
    assert found == pytest.approx(0.95, abs=0.005)


def test_reliability_follows_from_the_interval_and_from_what_was_drawn(cliques: Graph) -> None:
    """A noisy answer that is too high does not look more reliable: its lower end counts."""
    answers = stand_ins.sketch(cliques, "4")
    figures = intervals(answers)
    wide = Interval(56_000.0, 4_000.0, 108_000.0)
    rows = reliance(answers, {**figures, "triangles": wide}, [])
    verdicts = {row.property: (row.verdict, row.reason) for row in rows}
    assert verdicts["triangles, global clustering"][0] == "no"
    assert "4,000 to 108,000" in verdicts["triangles, global clustering"][1]
    missed = reliance(answers, figures, [], [1])
    row = next(row for row in missed if row.property.startswith("triangles"))
    assert row.verdict == "no" and "1 of 1 drawn networks are outside" in row.reason


def test_report_needs_the_file_of_the_sketch_and_nothing_else(
    cliques: Graph, tmp_path: Path
) -> None:
    answers = stand_ins.sketch(cliques)
    path = tmp_path / "a.sketch"
    path.write_bytes(to_bytes(answers))
    assert render(read_answers(path), [cliques]) == render(answers, [cliques])


def test_a_large_epsilon_is_shown_as_a_warning(cliques: Graph) -> None:
    assert 'class="verdict warn"' in render(stand_ins.sketch(cliques, "5"))
    assert 'class="verdict good"' in render(stand_ins.sketch(cliques, "4"))
