"""How accurate the answers of a sketch are, and what a recipient of its draws may rely on.

Everything here follows from the sketch and the graphs drawn from it, which are public. Whether a
figure is reliable follows from its 95 % interval (anonymize/private/posterior.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from coterie.anonymize.private import public_rules
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.budget import HIGHEST_DEGREES
from coterie.anonymize.private.exact_counts import CAPPED_UNIT, capped_sensitivity
from coterie.anonymize.private.noise_laws import geometric_error, laplace_error
from coterie.anonymize.private.posterior import Interval, clustering_error, triangle_error
from coterie.anonymize.utility.measures import Measures
from coterie.base.number_text import figure, percent, short

YES, ROUGHLY, NO = "yes", "roughly", "no"
_RELIABLE, _ROUGH = 0.05, 0.25  # half the interval, relative to its lower end
_DEGREE_GAPS = (0.01, 0.05)  # largest error of a share of the people
_CORRELATIONS = (0.05, 0.15)  # half the interval of the assortativity
_MODULARITIES = (0.3, 0.1)  # lower end of the interval of the blocks


class AnswerNoise(NamedTuple):
    """One answer of a sketch: what it cost, and how wrong each of its numbers is."""

    name: str
    question: str
    numbers: int
    share: Fraction  # of epsilon
    error: float  # expected absolute error per number
    answer: str = ""  # the noisy answer, where it is one number


class Reliance(NamedTuple):
    """Whether a recipient may rely on a property of the drawn graphs."""

    property: str
    verdict: str
    reason: str


_QUESTIONS = (  # field of the shares, what one edge changes (0: a ladder), name, question
    ("edge_count", 1, "edges", "How many friendships are there?"),
    ("degrees", 2, "degree of each node", "How many friends does each person have?"),
    ("degree_counts", 2, "nodes with degree >= d", "How many people have at least 1, 2 … friends?"),
    ("largest_degrees", 2, "largest degrees", "How many friends do the best connected have?"),
    (
        "labels",
        1,
        "block of each node",
        "In which of {} blocks does each person have the most friends? (only the choice is kept; "
        "the error is that of the compared counts)",
    ),
    ("block_edges", 1, "edges between blocks", "How many friendships are between two blocks?"),
    (
        "bin_edges",
        1,
        "edges between degree bins",
        "How many friendships are there between people with few and with many friends?",
    ),
    ("triangles", 0, "triangles", "How many triangles of friends are there?"),
)


def _shown(answer: float) -> str:
    return f"{max(answer, 0):,.0f}"


def answer_noise(answers: SketchAnswers) -> list[AnswerNoise]:
    """List the answers in the order in which they were asked."""
    shares, n, k = answers.shares, answers.n_nodes, answers.n_blocks
    bins, unit = len(answers.bin_edges), answers.clustering_unit
    cap = public_rules.clustering_cap(answers.hub_ratio)

    def noise(sensitivity: int, share: Fraction) -> float:
        return laplace_error(float(sensitivity / (answers.exact_epsilon * share)))

    numbers = {
        "degrees": n,
        "degree_counts": len(answers.degree_counts),
        "largest_degrees": len(answers.largest_degrees),
        "labels": n,
        "block_edges": k * (k + 1) // 2,
        "bin_edges": bins * (bins + 1) // 2,
    }
    rows = []
    for field, sensitivity, name, question in _QUESTIONS:
        share = getattr(shares, field)
        error = noise(sensitivity, share) if sensitivity else triangle_error(answers)
        rows.append(AnswerNoise(name, question, numbers.get(field, 1), share, error))
    chosen = geometric_error(float(1 / (answers.exact_epsilon * shares.labels)))
    rows[0] = rows[0]._replace(answer=_shown(answers.edge_count))
    rows[4] = rows[4]._replace(question=rows[4].question.format(k), error=chosen)
    rows[7] = rows[7]._replace(answer=_shown(answers.triangles))
    often = "How often are two friends of a person friends? (sum over all people; "
    for i, damping in enumerate(answers.damping_degrees):
        name = f"local clustering, damped below degree {damping}"
        question = f"{often}people with fewer than {damping} friends count less)"
        total, error = answers.clustering_sums[i] / unit, clustering_error(answers, i)
        share = shares.clustering_sums[i]
        rows.append(AnswerNoise(name, question, 1, share, error, _shown(total)))
    for value, highest, share in zip(
        answers.capped_sums, HIGHEST_DEGREES, shares.capped_sums, strict=False
    ):
        whom = f"only people with at most {highest} friends; " if highest else ""
        name = "local clustering" + (f", degree <= {highest}" if highest else "")
        question = f"{often}{whom}one friendship counts for at most {cap} people)"
        error = noise(capped_sensitivity(cap), share) / CAPPED_UNIT
        rows.append(AnswerNoise(name, question, 1, share, error, _shown(value / CAPPED_UNIT)))
    return [row._replace(share=cost) for row, cost in zip(rows, shares.parts(), strict=True)]


def reliance(
    answers: SketchAnswers,
    figures: Mapping[str, Interval],
    drawn: Sequence[Measures],
    triangles: Sequence[int] = (),
) -> list[Reliance]:
    """Say which properties of the drawn graphs a recipient may rely on, and why.

    `triangles` are those of the drawn graphs. They and the measures are compared with the
    intervals.
    """
    n, counts = answers.n_nodes, len(answers.degree_counts)
    scale = laplace_error(float(2 / (answers.exact_epsilon * answers.shares.degree_counts)))
    gap = scale * (math.log(max(counts, 1)) + 0.58) / 2 / max(n, 1)
    rows = [
        Reliance("number of people", "exact", "The list of people is public."),
        _relative("number of friendships, mean degree", figures["edges"], []),
        Reliance(
            "degree distribution",
            _grade(gap, _DEGREE_GAPS),
            f"Shares of the people are off by about {percent(gap, 2)} at most.",
        ),
        _relative("triangles, global clustering", figures["triangles"], triangles),
    ]
    if "mean_clustering" in figures:
        local = [each.average_local_clustering for each in drawn]
        rows.append(_relative("mean local clustering", figures["mean_clustering"], local, 3))
    else:
        reason = (
            "An earlier version made this sketch: it has no answer for people with few friends."
        )
        rows.append(Reliance("mean local clustering", NO, reason))
    mixing, found = figures["assortativity"], [each.assortativity for each in drawn]
    half = (mixing.high - mixing.low) / 2
    rows.append(_graded("degree assortativity", mixing, half, _CORRELATIONS, found, 2))
    rows += _communities(figures["modularity"])
    if drawn:
        reason = (
            "Not asked: they follow from degrees, blocks and clustering. On networks of "
            "several kinds the mean path length was 1 % to 60 % off."
        )
        rows.append(Reliance("path lengths, diameter", NO, reason))
    reason = (
        "People of the drawn networks stand for nobody. How much one friendship can change the "
        "sketch is limited by the factor above."
    )
    return [*rows, Reliance("a single friendship", NO, reason)]


def _graded(
    name: str,
    found: Interval,
    error: float,
    limits: tuple[float, float],
    drawn: Sequence[float],
    decimals: int = 0,
) -> Reliance:
    """Grade a figure by the width of its interval, and by whether the draws are inside."""
    low, high = (
        f"{value:,.{decimals}f}" if decimals else figure(value) for value in (found.low, found.high)
    )
    reason = f"{low} to {high} with a probability of 95 %."
    if found.extrapolated:
        reason += f" {found.extrapolated.capitalize()}."
    missed = sum(not found.low <= value <= found.high for value in drawn)
    if 2 * missed > len(drawn):
        reason = f"{reason} {missed} of {len(drawn)} drawn networks are outside."
        return Reliance(name, NO, reason)
    return Reliance(name, _grade(error, limits), reason)


def _relative(name: str, found: Interval, drawn: Sequence[float], decimals: int = 0) -> Reliance:
    return _graded(name, found, found.relative, (_RELIABLE, _ROUGH), drawn, decimals)


def _communities(found: Interval) -> list[Reliance]:
    reliable, rough = _MODULARITIES
    verdict = YES if found.low >= reliable else ROUGHLY if found.low >= rough else NO
    reasons = {
        YES: "Most friendships are inside the blocks, so the blocks are real communities. Smaller "
        "communities within a block are not real.",
        ROUGHLY: "The blocks follow the large communities in part.",
        NO: "The blocks carry almost nothing: people have too few friends for this much noise.",
    }
    shown = f"Modularity of the blocks in the original {short(found.low, 2)} to "
    shown += f"{short(found.high, 2)}. {reasons[verdict]}"
    return [
        Reliance("large communities", verdict, shown),
        Reliance(
            "who belongs to which community",
            NO,
            "People of the drawn networks stand for nobody, and the block of each person in the "
            "sketch is a noisy choice.",
        ),
    ]


def _grade(error: float, limits: tuple[float, float]) -> str:
    reliable, rough = limits
    return YES if error <= reliable else ROUGHLY if error <= rough else NO
