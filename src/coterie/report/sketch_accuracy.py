"""How accurate the answers of a sketch are, and what a recipient of its draws may rely on.

Everything here follows from the sketch and the graphs drawn from it, which are public. The noise of
most answers is known exactly. That of the triangle answers depends on the original, so it is
estimated from a drawn graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from coterie.anonymize.private import exact_counts
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.ladder import Ladder
from coterie.anonymize.private.public_rules import common_neighbour_floor, expected_degrees
from coterie.anonymize.utility.measures import Measures
from coterie.base.number_text import percent, short
from coterie.data import Graph

YES, ROUGHLY, NO = "yes", "roughly", "no"
_RELIABLE, _ROUGH = 0.03, 0.15  # relative errors
_DEGREE_GAPS = (0.01, 0.05)  # largest error of a share of the people
_CORRELATIONS = (0.03, 0.1)  # errors of the assortativity
_MODULARITIES = (0.3, 0.1)  # of the blocks, from their noisy matrix
_MIXING = 3.0  # error of the assortativity per relative error of the bin matrix, on CAIDA
_NEGLIGIBLE = 80.0  # rungs of a ladder with a weight below exp(-80) are left out


class AnswerNoise(NamedTuple):
    """One answer of a sketch: what it cost, and how wrong each of its numbers is."""

    question: str
    numbers: int
    share: Fraction  # of epsilon
    error: float  # expected absolute error per number
    answer: str  # the noisy answer, where it is one number
    estimated: bool = False  # the error is estimated from a drawn graph


class Reliance(NamedTuple):
    """Whether a recipient may rely on a property of the drawn graphs."""

    property: str
    verdict: str
    reason: str


@dataclass(frozen=True)
class LadderErrors:
    """Expected errors of the triangle answers, and their values in a drawn graph."""

    triangles: float
    clustering_sums: tuple[float, ...]
    drawn_triangles: int
    drawn_sums: tuple[int, ...]


def laplace_error(scale: Fraction) -> float:
    """Return the expected size of discrete Laplace noise.

    >>> round(laplace_error(Fraction(50)), 2)
    50.0
    """
    q = math.exp(-1 / float(scale))
    return 2 * q / (1 - q * q)


def geometric_error(scale: Fraction) -> float:
    """Return the standard deviation of geometric noise, P(z) ~ exp(-z / scale) for z >= 0.

    >>> round(geometric_error(Fraction(50)), 1)
    50.0
    """
    q = math.exp(-1 / float(scale))
    return math.sqrt(q) / (1 - q)


def ladder_error(ladder: Ladder, epsilon: Fraction) -> float:
    """Return the expected distance of a ladder's answer from its value."""
    half = float(epsilon) / 2
    rung = np.arange(math.ceil(_NEGLIGIBLE / half) + 10, dtype=np.float64)
    width = ladder.width + rung * ladder.step
    inner = rung * ladder.width + ladder.step * rung * (rung - 1) / 2
    weight = 2 * width * np.exp(-half * (rung + 1))
    return float((weight * (inner + (width + 1) / 2)).sum() / (1 + weight.sum()))


def ladder_errors(answers: SketchAnswers, drawn: Graph) -> LadderErrors:
    """Estimate the errors of the triangle answers from one drawn graph."""
    epsilon, shares = answers.exact_epsilon, answers.shares
    distribution = answers.degree_distribution()
    expected = expected_degrees(answers.noisy_degrees, distribution, epsilon)
    floor = common_neighbour_floor(expected, distribution)
    at_node = exact_counts.node_triangles(drawn)
    triangles = exact_counts.triangle_ladder(drawn, at_node, floor)
    sums = [
        exact_counts.clustering_ladder(drawn, at_node, d, floor) for d in answers.damping_degrees
    ]
    return LadderErrors(
        ladder_error(triangles, epsilon * shares.triangles),
        tuple(
            ladder_error(each, epsilon * share)
            for each, share in zip(sums, shares.clustering_sums, strict=True)
        ),
        triangles.value,
        tuple(each.value for each in sums),
    )


def answer_noise(answers: SketchAnswers, ladders: LadderErrors | None) -> list[AnswerNoise]:
    """List the answers in the order in which they were asked."""
    shares, n, k = answers.shares, answers.n_nodes, answers.n_blocks
    bins, unit = len(answers.bin_edges), answers.clustering_unit
    edges = f"{max(answers.edge_count, 0):,}"

    def counted(
        question: str, numbers: int, sensitivity: int, share: Fraction, answer: str = ""
    ) -> AnswerNoise:
        scale = sensitivity / (answers.exact_epsilon * share)
        return AnswerNoise(question, numbers, share, laplace_error(scale), answer)

    rows = [
        counted("How many friendships are there?", 1, 1, shares.edge_count, edges),
        counted("How many friends does each person have?", n, 2, shares.degrees),
        counted(
            "How many people have at least 1, 2, 3 … friends?",
            len(answers.degree_counts),
            2,
            shares.degree_counts,
        ),
        counted(
            "How many friends do the most connected people have?",
            len(answers.largest_degrees),
            2,
            shares.largest_degrees,
        ),
        AnswerNoise(
            f"In which of {k} blocks does each person have the most friends? (only the choice is "
            "kept; the error is that of the compared counts)",
            n,
            shares.labels,
            geometric_error(1 / (answers.exact_epsilon * shares.labels)),
            "",
        ),
        counted(
            "How many friendships are there between two blocks?",
            k * (k + 1) // 2,
            1,
            shares.block_edges,
        ),
        counted(
            "How many friendships are there between people with few and with many friends?",
            bins * (bins + 1) // 2,
            1,
            shares.bin_edges,
        ),
    ]
    unknown = float("nan")
    triangles = unknown if ladders is None else ladders.triangles
    answer = f"{max(answers.triangles, 0):,}"
    question = "How many triangles of friends are there?"
    rows.append(AnswerNoise(question, 1, shares.triangles, triangles, answer, True))
    for i, damping in enumerate(answers.damping_degrees):
        error = unknown if ladders is None else ladders.clustering_sums[i] / unit
        answer = f"{max(answers.clustering_sums[i], 0) / unit:,.0f}"
        question = (
            "How often are two friends of a person friends? (sum over all people; people with "
            f"fewer than {damping} friends count less)"
        )
        rows.append(AnswerNoise(question, 1, shares.clustering_sums[i], error, answer, True))
    return rows


def block_modularity(answers: SketchAnswers) -> float:
    """Return the modularity of the blocks, from the noisy edges between them."""
    table = np.maximum(answers.block_edges, 0).astype(np.float64)
    ends = table.sum(1) + np.diag(table)
    total = max(ends.sum() / 2, 1.0)
    return float(np.diag(table).sum() / total - ((ends / (2 * total)) ** 2).sum())


def reliance(
    answers: SketchAnswers, ladders: LadderErrors | None, drawn: Sequence[Measures]
) -> list[Reliance]:
    """Say which properties of the drawn graphs a recipient may rely on, and why."""
    epsilon, shares, n = answers.exact_epsilon, answers.shares, answers.n_nodes
    edges = max(answers.edge_count, 1)
    edge_error = laplace_error(1 / (epsilon * shares.edge_count)) / edges
    scale = laplace_error(2 / (epsilon * shares.degree_counts))
    gap = scale * (math.log(max(len(answers.degree_counts), 1)) + 0.58) / 2 / max(n, 1)
    cells = len(answers.bin_edges) * (len(answers.bin_edges) + 1) / 2
    noise = laplace_error(1 / (epsilon * shares.bin_edges)) * math.sqrt(2 * cells)
    mixing = _MIXING * noise / edges
    paths = Reliance(
        "path lengths, diameter",
        NO,
        "Not asked: they follow from degrees, blocks and clustering. On networks of "
        "several kinds the mean path length was 1 % to 60 % off.",
    )
    return [
        Reliance("number of people", "exact", "The list of people is public."),
        Reliance(
            "number of friendships, mean degree",
            _grade(edge_error, (_RELIABLE, _ROUGH)),
            f"Expected error {percent(edge_error, 2)}.",
        ),
        Reliance(
            "degree distribution",
            _grade(gap, _DEGREE_GAPS),
            f"Shares of the people are off by about {percent(gap, 2)} at most.",
        ),
        *([] if ladders is None else _triangle_reliance(answers, ladders)),
        Reliance(
            "degree assortativity",
            _grade(mixing, _CORRELATIONS),
            f"Expected error about {short(min(mixing, 1.0), 1)} on a scale from -1 to 1.",
        ),
        *_community_reliance(answers),
        *([paths] if drawn else []),
        Reliance(
            "a single friendship",
            NO,
            "People of the drawn networks stand for nobody. What the sketch lets anybody conclude "
            "about two people is limited by the factor above.",
        ),
    ]


def _triangle_reliance(answers: SketchAnswers, ladders: LadderErrors) -> list[Reliance]:
    """Grade triangles and clustering by the noise and by what the draw reached, whichever is worse.

    In sparse networks with a few large hubs, one friendship between two hubs makes so many
    triangles that no private answer can be accurate.
    """
    rows = []
    for name, answer, error, reached in (
        ("triangles, global clustering", answers.triangles, ladders.triangles, True),
        ("mean local clustering", answers.clustering_sums[0], ladders.clustering_sums[0], False),
    ):
        value = ladders.drawn_triangles if reached else ladders.drawn_sums[0]
        noise = error / max(answer, 1)
        missed = abs(value - answer) / max(answer, 1)
        reason = f"Expected error of the answer {_share(noise)}; the draw differs by "
        reason += f"{_share(missed)} from the answer."
        if noise > _ROUGH:
            reason += " One friendship between two hubs would change it by too much."
        rows.append(Reliance(name, _grade(max(noise, missed), (_RELIABLE, _ROUGH)), reason))
    return rows


def _community_reliance(answers: SketchAnswers) -> list[Reliance]:
    found = block_modularity(answers)
    reliable, rough = _MODULARITIES
    verdict = YES if found >= reliable else ROUGHLY if found >= rough else NO
    reasons = {
        YES: "Most friendships are inside the blocks, so the blocks are real communities. Smaller "
        "communities within a block are not real.",
        ROUGHLY: "The blocks follow the large communities in part.",
        NO: "The blocks carry almost nothing: people have too few friends for this much noise.",
    }
    shown = f"Modularity of the blocks {short(found, 2)}. {reasons[verdict]}"
    return [
        Reliance("large communities", verdict, shown),
        Reliance(
            "who belongs to which community",
            ROUGHLY if verdict == YES else NO,
            "The block of each person is a noisy choice."
            + (" Here it is mostly chance." if verdict == NO else ""),
        ),
    ]


def _grade(error: float, limits: tuple[float, float]) -> str:
    reliable, rough = limits
    return YES if error <= reliable else ROUGHLY if error <= rough else NO


def _share(error: float) -> str:
    return "more than 100 %" if error > 1 else percent(error, 2)
