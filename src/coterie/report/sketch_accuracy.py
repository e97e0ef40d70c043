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


def answer_noise(answers: SketchAnswers) -> list[AnswerNoise]:
    """List the answers in the order in which they were asked."""
    shares, n, k = answers.shares, answers.n_nodes, answers.n_blocks
    bins, unit = len(answers.bin_edges), answers.clustering_unit
    cap = public_rules.clustering_cap(answers.hub_ratio)

    def noise(sensitivity: int, share: Fraction) -> float:
        return laplace_error(float(sensitivity / (answers.exact_epsilon * share)))

    counted = [
        ("edges", "How many friendships are there?", 1, 1, shares.edge_count),
        ("degree of each node", "How many friends does each person have?", n, 2, shares.degrees),
        (
            "nodes with degree >= d",
            "How many people have at least 1, 2, 3 … friends?",
            len(answers.degree_counts),
            2,
            shares.degree_counts,
        ),
        (
            "largest degrees",
            "How many friends do the most connected people have?",
            len(answers.largest_degrees),
            2,
            shares.largest_degrees,
        ),
        (
            "edges between blocks",
            "How many friendships are there between two blocks?",
            k * (k + 1) // 2,
            1,
            shares.block_edges,
        ),
        (
            "edges between degree bins",
            "How many friendships are there between people with few and with many friends?",
            bins * (bins + 1) // 2,
            1,
            shares.bin_edges,
        ),
    ]
    rows = [
        AnswerNoise(name, question, numbers, share, noise(sensitivity, share))
        for name, question, numbers, sensitivity, share in counted
    ]
    rows[0] = rows[0]._replace(answer=f"{max(answers.edge_count, 0):,}")
    blocks = AnswerNoise(
        "block of each node",
        f"In which of {k} blocks does each person have the most friends? (only the choice is "
        "kept; the error is that of the compared counts)",
        n,
        shares.labels,
        geometric_error(float(1 / (answers.exact_epsilon * shares.labels))),
    )
    rows.insert(4, blocks)
    triangles = f"{max(answers.triangles, 0):,}"
    rows.append(
        AnswerNoise(
            "triangles",
            "How many triangles of friends are there?",
            1,
            shares.triangles,
            triangle_error(answers),
            triangles,
        )
    )
    often = "How often are two friends of a person friends? (sum over all people; "
    for i, damping in enumerate(answers.damping_degrees):
        rows.append(
            AnswerNoise(
                f"local clustering, damped below degree {damping}",
                f"{often}people with fewer than {damping} friends count less)",
                1,
                shares.clustering_sums[i],
                clustering_error(answers, i),
                f"{max(answers.clustering_sums[i], 0) / unit:,.0f}",
            )
        )
    for value, highest, share in zip(
        answers.capped_sums, HIGHEST_DEGREES, shares.capped_sums, strict=False
    ):
        whom = f"only people with at most {highest} friends; " if highest else ""
        rows.append(
            AnswerNoise(
                "local clustering" + (f", degree <= {highest}" if highest else ""),
                f"{often}{whom}one friendship counts for at most {cap} people)",
                1,
                share,
                noise(capped_sensitivity(cap), share) / CAPPED_UNIT,
                f"{max(value, 0) / CAPPED_UNIT:,.0f}",
            )
        )
    return rows


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
        found = [each.average_local_clustering for each in drawn]
        rows.append(_relative("mean local clustering", figures["mean_clustering"], found, 3))
    else:
        reason = (
            "An earlier version made this sketch: it has no answer for people with few friends."
        )
        rows.append(Reliance("mean local clustering", NO, reason))
    rows += [_mixing(figures["assortativity"], drawn), *_communities(figures["modularity"])]
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


def _relative(name: str, found: Interval, drawn: Sequence[float], decimals: int = 0) -> Reliance:
    """Grade a figure by the width of its interval, and by whether the draws are inside."""
    verdict = _grade(found.relative, (_RELIABLE, _ROUGH))
    reason = f"{_range(found, decimals)} with a probability of 95 %."
    if found.extrapolated:
        reason += f" {found.extrapolated.capitalize()}."
    return Reliance(name, *_compared(verdict, reason, found, drawn))


def _mixing(found: Interval, drawn: Sequence[Measures]) -> Reliance:
    verdict = _grade((found.high - found.low) / 2, _CORRELATIONS)
    reason = f"{_range(found, 2)} with a probability of 95 %, on a scale from -1 to 1."
    if found.extrapolated:
        reason += f" {found.extrapolated.capitalize()}."
    values = [each.assortativity for each in drawn]
    return Reliance("degree assortativity", *_compared(verdict, reason, found, values))


def _compared(
    verdict: str, reason: str, found: Interval, drawn: Sequence[float]
) -> tuple[str, str]:
    """Say if drawn networks miss the interval, which a recipient must know."""
    missed = sum(not found.low <= value <= found.high for value in drawn)
    if 2 * missed > len(drawn):
        return NO, f"{reason} {missed} of {len(drawn)} drawn networks are outside."
    return verdict, reason


def _range(found: Interval, decimals: int) -> str:
    low, high = (
        f"{value:,.{decimals}f}" if decimals else figure(value) for value in (found.low, found.high)
    )
    return f"{low} to {high}"


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
