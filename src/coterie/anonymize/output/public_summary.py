"""The figures that the report may show: aggregates only, no figure of a single person.

The report is published with the graph. Therefore figures of the original are rounded, its
distributions end where fewer than `MIN_PEOPLE` people are left, and the summary contains no id,
seed or path of a file. The exact figures go to the private audit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.policy import Limit, PolicyDecision
from coterie.anonymize.risk.assessment import PublicationLevel, Risk, publication_levels
from coterie.anonymize.utility.measures import Measures, ScalarMeasures
from coterie.anonymize.utility.release_utility import Utility
from coterie.anonymize.utility.rounding import round_degree, round_figure
from coterie.data import Graph

MIN_PEOPLE = 10  # behind each point of a published distribution

_REMARKS = [
    "This page may be published with the graph: it contains no name, id, seed or file of the "
    "original, and the original's figures are rounded. The folder whose name ends in .private must "
    "not be published.",
    "This model does not provide differential privacy: the figures come from attacks that were run "
    "and from the probabilities of the model. They do not cover every possible attack.",
    "The block of a person is partly disclosed: an attacker who knows many people guesses it more "
    "often than luck explains.",
    "The release was made from these statistics of the original and publishes them: degrees by "
    "class, edges between blocks, clustering by degree, and assortativity.",
    "Every further release of the same original discloses more; the private audit counts the "
    "releases.",
]


class Curve(NamedTuple):
    """The points of a curve."""

    x: list[float]
    y: list[float]


class CurvePair(NamedTuple):
    """One curve of the original and one of the release."""

    original: Curve
    published: Curve


@dataclass(frozen=True)
class Profiles:
    """The distributions that the report draws."""

    degree: CurvePair  # share of nodes with at least this degree
    clustering: CurvePair  # mean local clustering by degree
    distance: CurvePair  # share of connected pairs at this distance
    spectrum: CurvePair  # eigenvalue by rank


@dataclass(frozen=True)
class PublicUtility:
    """The utility of a release, with rounded figures of the original."""

    original: ScalarMeasures
    published: ScalarMeasures
    degree_ks: float
    not_kept: list[str] = field(default_factory=list)


class PublicLimit(NamedTuple):
    """A figure of the release next to its limit; without a limit it is only shown."""

    label: str
    value: float
    limit: float | None = None
    at_least: bool = False
    percent: bool = False
    note: str = ""


class PublicAttack(NamedTuple):
    """The number of people that an attack guessed right in the release and in the controls."""

    label: str
    release: float
    naive: float
    deleted_10: float
    expected: float | None = None  # by luck


@dataclass(frozen=True)
class PublicSummary:
    """Everything that the report of a release shows; a part that is missing is not shown."""

    refused: bool
    reasons: list[str] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    name: str = ""  # of the folder that is published
    forced: bool = False
    model: str = ""
    nodes: int | None = None
    edges: int | None = None
    blocks: int | None = None
    draws: int | None = None
    utility: PublicUtility | None = None
    profiles: Profiles | None = None
    limits: list[PublicLimit] = field(default_factory=list)
    levels: list[PublicationLevel] = field(default_factory=list)
    attacks: list[PublicAttack] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def summarize(
    *,
    original: Graph,
    published: Graph,
    model: str,
    blocks: int,
    draws: int,
    utility: Utility,
    risk: Risk,
    decision: PolicyDecision,
) -> PublicSummary:
    """Select and round what may be published about a release."""
    return PublicSummary(
        refused=decision.refused,
        reasons=decision.reasons,
        model=model,
        nodes=utility.original.nodes,
        edges=utility.original.edges,
        blocks=blocks,
        draws=draws,
        utility=PublicUtility(
            _rounded(utility.original), utility.published, utility.degree_ks, utility.not_kept
        ),
        profiles=_profiles(original, published, utility),
        limits=[*map(_public_limit, decision.limits), *_inference_without_limit(risk, decision)],
        levels=publication_levels(risk),
        attacks=_attacks(risk),
        remarks=[*_REMARKS, *_block_remark(risk)],
    )


def _rounded(measures: Measures) -> ScalarMeasures:
    """Round the figures of the original; the largest degree is one person's, so coarser."""
    rounded: dict[str, Any] = {}
    for name in (f.name for f in fields(ScalarMeasures)):
        value = getattr(measures, name)
        rounded[name] = None if value is None else round_figure(value)
    rounded["degree_max"] = round_degree(measures.degree_max)
    return ScalarMeasures(**rounded)


def _public_limit(limit: Limit) -> PublicLimit:
    note = "" if limit.holds else limit.reason
    return PublicLimit(
        limit.label or limit.name, limit.value, limit.limit, limit.at_least, limit.percent, note
    )


def _inference_without_limit(risk: Risk, decision: PolicyDecision) -> list[PublicLimit]:
    """Return A3 if it was measured and the policy sets no limit for it."""
    a3 = risk.a3
    if a3 is None or a3.risk is None or any(x.name == "edge inference" for x in decision.limits):
        return []
    note = (
        f"{100 * a3.main:.1f} % of the edges that the model was fitted to are recognised, and "
        f"{100 * a3.control:.1f} % of the edges that were held out"
    )
    return [PublicLimit("edge inference", a3.risk, percent=True, note=note)]


def _profiles(original: Graph, published: Graph, utility: Utility) -> Profiles:
    before, after = utility.original, utility.draws[0]
    return Profiles(
        degree=_pair(_degree_tail(original.degrees), _degree_tail(published.degrees)),
        clustering=_pair(_clustering(before), _clustering(after)),
        distance=_pair(_distances(before.distances), _distances(after.distances)),
        spectrum=_pair(_ranked(before.spectrum), _ranked(after.spectrum)),
    )


def _pair(original: Curve, published: Curve) -> CurvePair:
    return CurvePair(Curve(original.x, [round_figure(y) for y in original.y]), published)


def _degree_tail(degrees: np.ndarray) -> Curve:
    """Return the share of nodes with at least each of 40 degrees that enough nodes reach."""
    ordered = np.sort(degrees[degrees > 0])[::-1]
    if len(ordered) < MIN_PEOPLE:
        return Curve([], [])
    top = int(ordered[MIN_PEOPLE - 1])
    places = np.unique(np.round(np.geomspace(1, max(top, 1), 40)).astype(int))
    places = places[places <= top]
    return Curve(places.tolist(), [float((degrees >= place).mean()) for place in places])


def _clustering(measures: Measures) -> Curve:
    bins = [b for b in measures.clustering_by_degree if b.nodes >= MIN_PEOPLE]
    return Curve([b.degree_from for b in bins], [b.clustering for b in bins])


def _distances(counts: list[int]) -> Curve:
    """Return the share of the pairs at each distance that enough pairs have."""
    total = max(sum(counts), 1)
    points = [(x, c / total) for x, c in enumerate(counts, 1) if c >= MIN_PEOPLE]
    return Curve([x for x, _ in points], [y for _, y in points])


def _ranked(values: list[float]) -> Curve:
    return Curve(list(range(1, len(values) + 1)), values)


def _attacks(risk: Risk) -> list[PublicAttack]:
    rows = [
        PublicAttack(
            attack.result.label,
            attack.result.correct,
            attack.naive,
            attack.deleted_10,
            attack.expected,
        )
        for attack in risk.a4.comparisons()
    ]
    found = (risk.a4.worst, *risk.a4.controls)
    rows.append(
        PublicAttack("exact degree known", *(attacks.degree_known.unique for attacks in found))
    )
    rows.append(
        PublicAttack(
            "exact degrees of all neighbours known",
            *(attacks.neighbour_degrees_known.unique for attacks in found),
        )
    )
    return rows


def _block_remark(risk: Risk) -> list[str]:
    """Describe how often the seeded attack with the most seeds is right about the block."""
    result = risk.a4.worst.seeded[-1]
    if result.luck is None or not result.correct + result.wrong:
        return []
    return [
        f"An attacker who knows {result.seeds} people is right about the block of "
        f"{100 * result.luck.block_accuracy:.0f} % of the people it matches; luck and known "
        f"degrees alone give {100 * result.luck.block_chance:.0f} %."
    ]
