"""What the two reports of a release show: the published one, and the private one of the owner.

The published report contains figures of the released graph, which everybody can count, and figures
of the original that `public_figures` has rounded, so that none determines a statistic of fewer than
`min_class_size` people. It contains no id, seed or path of a file. The owner's report shows the
exact figures and goes to the private folder.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from coterie.anonymize.attacks.attack import AttackComparison
from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.figures import FeatureRow, FigureRow, Private, measured, public_rows
from coterie.anonymize.output.public_figures import (
    MIN_GROUP,
    PublicRounding,
    Rounded,
    degree_grid,
)
from coterie.anonymize.policy import Limit, PolicyDecision, figures_without_limit
from coterie.anonymize.risk.assessment import PublicationLevel, Risk, publication_levels
from coterie.anonymize.utility.community_utility import PublicCommunities, public_communities
from coterie.anonymize.utility.measures import Measures
from coterie.anonymize.utility.release_utility import Property, Utility, usefulness
from coterie.data import Graph

_COARSEST_CLUSTERING = 0.2  # a rounder figure says nothing

_PUBLIC_REMARKS = [
    "This page may be published with the graph. It contains no name, id, seed or file of the "
    "original. The number of people is that of the original, and so is the number of edges where "
    "the table says so: everybody can count them in the graph. All other figures of the original "
    "are rounded so that none determines a statistic of fewer than {group} people. Figures that "
    "belong to single people, such as the largest degree, are not shown.",
    "This model does not provide differential privacy: the figures come from attacks that were run "
    "and from the probabilities of the model. They do not cover every possible attack.",
    "The block of a person is partly disclosed: an attacker who knows many people guesses it more "
    "often than luck explains.",
    "The release was made from these statistics of the original and publishes them approximately: "
    "degrees by class, edges between blocks, clustering by degree, and assortativity.",
    "Every further release of the same original discloses more; the owner's ledger counts them.",
]
_FEATURES_REMARK = (
    "Attributes, directions and weights were drawn from further statistics, which are published "
    "approximately too: how often each combination of attributes occurs in a class, how often "
    "edges join two values, directions by class and between blocks, means of groups of weights."
)
_OWNER_REMARKS = [
    "PRIVATE: this page shows exact figures of the original. Never publish it. The page to publish "
    "is report.html in the published folder.",
    *_PUBLIC_REMARKS[1:],
]


class Curve(NamedTuple):
    """The points of a curve."""

    x: list[float]
    y: list[float]


class CurvePair(NamedTuple):
    """One curve of the original and one of the release; an empty curve is not shown."""

    original: Curve
    published: Curve


@dataclass(frozen=True)
class PublicUtility:
    """The utility of a release, with rounded figures of the original."""

    measures: list[FigureRow]
    degree_ks: float  # rounded up
    not_kept: list[str] = field(default_factory=list)
    communities: PublicCommunities | None = None
    further: list[FigureRow] = field(default_factory=list)
    verdict: str = ""  # a sentence about the usefulness

    def measure(self, key: str) -> FigureRow | None:
        """Return one of the measures."""
        return next((row for row in self.measures if row.figure.key == key), None)


@dataclass(frozen=True)
class PublicSummary:
    """Everything that the report of a release shows; a part that is missing is not shown."""

    refused: bool
    reasons: list[str] = field(default_factory=list)
    weaker: str = ""  # a sentence, if the policy is weaker than the default
    suggestions: list[str] = field(default_factory=list)
    name: str = ""  # of the folder that is published
    forced: bool = False
    model: str = ""
    nodes: int | None = None
    edges: int | None = None
    blocks: int | None = None
    draws: int | None = None
    group: int = MIN_GROUP  # people that no figure of the original distinguishes
    utility: PublicUtility | None = None
    # degree: share of nodes with at least this degree; clustering: mean local clustering by
    # degree; distance: share of connected pairs at this distance; spectrum: eigenvalue by rank
    profiles: dict[str, CurvePair] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    levels: list[PublicationLevel] = field(default_factory=list)
    attacks: list[AttackComparison] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    objective: str = "simple"
    features: list[FeatureRow] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class OwnerSummary(Private, PublicSummary):
    """The same with exact figures, for the owner only."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseFigures(Private):
    """What is known of a release when its summaries are made. Private."""

    original: Graph
    published: Graph  # the first draw
    model: str
    blocks: int
    draws: int
    utility: Utility
    risk: Risk
    decision: PolicyDecision
    objective: str = "simple"
    features: FeatureResults | None = None


def summarize(figures: ReleaseFigures, min_class_size: int) -> PublicSummary:
    """Select and round what may be published about a release."""
    utility, risk, decision = figures.utility, figures.risk, figures.decision
    rounding = PublicRounding(figures.original.n_nodes, max(MIN_GROUP, min_class_size))
    further = public_rows(utility.further, rounding.group)
    judged = _public_properties(utility, further)
    return PublicSummary(
        **_known_to_all(figures),
        reasons=[f"limit exceeded: {x.label}" for x in decision.limits if not x.holds],
        group=rounding.group,
        utility=PublicUtility(
            [_public_measure(row, utility, rounding) for row in _measured(utility)],
            rounding.at_most_share(max(utility.degree_ks, rounding.share_step / 2)),
            # The sentences contain exact figures; the table has the rounded ones.
            [found.name for found in judged if not found.kept],
            _public_communities(utility, rounding),
            further,
            usefulness(judged),
        ),
        profiles=_profiles(figures, rounding),
        limits=[_public_limit(limit, rounding) for limit in _risk_figures(figures)],
        levels=[_public_level(level, rounding) for level in publication_levels(risk)],
        attacks=[_public_attack(attack, rounding) for attack in _attacks(figures)],
        remarks=_remarks(
            [remark.format(group=rounding.group) for remark in _PUBLIC_REMARKS], figures, rounding
        ),
        features=_public_features(figures.features, rounding),
    )


def summarize_for_owner(figures: ReleaseFigures) -> OwnerSummary:
    """Return everything about a release with exact figures. Never publish it."""
    utility = figures.utility
    return OwnerSummary(
        **_known_to_all(figures),
        reasons=figures.decision.reasons,
        edges=utility.original.edges,
        utility=PublicUtility(
            _measured(utility),
            utility.degree_ks,
            utility.not_kept,
            public_communities(utility.communities),
            utility.further,
            utility.verdict,
        ),
        profiles=_profiles(figures, None),
        limits=_risk_figures(figures),
        levels=publication_levels(figures.risk),
        attacks=_attacks(figures),
        remarks=_remarks(_OWNER_REMARKS, figures, None),
        features=[] if figures.features is None else figures.features.rows(),
    )


def _known_to_all(figures: ReleaseFigures) -> dict[str, Any]:
    """Return what needs no rounding: the settings, the decision, the number of people."""
    decision = figures.decision
    return {
        "refused": decision.refused,
        "weaker": decision.qualification,
        "nodes": figures.original.n_nodes,
        **{name: getattr(figures, name) for name in ("model", "blocks", "draws", "objective")},
    }


def _remarks(
    remarks: list[str], figures: ReleaseFigures, rounding: PublicRounding | None
) -> list[str]:
    return [
        *remarks,
        *_block_remark(figures.risk, rounding),
        *([] if figures.features is None else [_FEATURES_REMARK]),
    ]


def _public_features(features: FeatureResults | None, rounding: PublicRounding) -> list[FeatureRow]:
    """Return the figures of features without those of the original; distances are rounded up.

    The release can be measured by everybody, so its figures disclose nothing.
    """
    rows = [] if features is None else features.rows()
    return [
        row._replace(
            original=None,
            published=(
                rounding.at_most_share(max(row.published, rounding.share_step / 2))
                if row.is_distance and row.published is not None
                else row.published
            ),
        )
        for row in rows
    ]


# --- measures --------------------------------------------------------------------------------


def _measured(utility: Utility) -> list[FigureRow]:
    """Return the measures that exist, exactly."""
    return [FigureRow(*found) for found in measured(utility.original, utility.published)]


def _public_measure(row: FigureRow, utility: Utility, rounding: PublicRounding) -> FigureRow:
    """Round the original's figure as its declaration says, or leave it out."""
    figure, exact = row.figure, row.original
    # Every draw has as many nodes as the original, and often as many edges: both can be counted.
    counted = all(draw.edges == utility.original.edges for draw in utility.draws)
    if figure.rounding == "exact" or (figure.countable and counted):
        return row
    if not figure.rounding or exact is None:
        return row._replace(original=None)
    round_figure = {"share": rounding.share, "mean": rounding.mean, "count": rounding.count}
    shown = round_figure[figure.rounding](exact)
    return row._replace(original=shown.value, error=shown.error)


def _public_communities(utility: Utility, rounding: PublicRounding) -> PublicCommunities:
    """Round the figures of communities; those of the release alone can be computed from it."""
    found = public_communities(utility.communities)
    return found._replace(
        original=rounding.share(found.original).value,
        foreign=rounding.share(found.foreign).value,
        # One edge can change which communities a search finds, so these are rounder than needed.
        agreement=round(found.agreement, 1),
        self_agreement=round(found.self_agreement, 1),
    )


def _public_properties(utility: Utility, further: list[FigureRow]) -> list[Property]:
    """Return the properties of which the report may say whether they are preserved."""
    hidden = {row.figure.label for row in utility.further} - {row.figure.label for row in further}
    return [found for found in utility.properties if found.name not in hidden]


# --- curves ----------------------------------------------------------------------------------


def _profiles(figures: ReleaseFigures, rounding: PublicRounding | None) -> dict[str, CurvePair]:
    """Return the curves of the original, rounded or exact, and of the release."""
    before, after = figures.utility.original, figures.utility.draws[0]
    return {
        "degree": CurvePair(
            _degree_tail(figures.original.degrees, rounding),
            _degree_tail(figures.published.degrees),
        ),
        "clustering": CurvePair(_clustering(before, rounding), _clustering(after)),
        "distance": CurvePair(_distances(before.distances, rounding), _distances(after.distances)),
        # Eigenvalues follow the largest degrees: in a star, the first one gives the hub's exactly.
        "spectrum": CurvePair(
            _ranked(before.spectrum if rounding is None else []), _ranked(after.spectrum)
        ),
    }


def _curve(points: Iterable[tuple[float, float]]) -> Curve:
    listed = list(points)
    return Curve([x for x, _ in listed], [y for _, y in listed])


def _degree_tail(degrees: np.ndarray, rounding: PublicRounding | None = None) -> Curve:
    """Return the share of nodes with at least each degree of a fixed grid; in public, in bins.

    The public curve ends before the last `group` people.
    """
    points = []
    for degree in degree_grid(int(degrees.max(initial=0))):
        above = degrees >= degree
        share = float(above.mean()) if rounding is None else rounding.head_count(int(above.sum()))
        if share is None:
            break
        points.append((degree, share))
    return _curve(points)


def _clustering(measures: Measures, rounding: PublicRounding | None = None) -> Curve:
    """Return the mean local clustering of degree bins (2-3, 4-7, …); in public, of large ones."""
    bins = measures.clustering_by_degree
    if rounding is None:
        return _curve((found.degree_from, found.clustering) for found in bins)
    return _curve(
        (
            found.degree_from,
            PublicRounding(found.nodes, rounding.group).share(found.clustering).value,
        )
        for found in bins
        if rounding.step_of(found.nodes) <= _COARSEST_CLUSTERING
    )


def _distances(counts: list[int], rounding: PublicRounding | None = None) -> Curve:
    """Return the share of the connected pairs at each distance that has any."""
    total = max(sum(counts), 1)
    shares = ((steps, count / total) for steps, count in enumerate(counts, 1))
    if rounding is not None:
        shares = ((steps, rounding.pair_share(share).value) for steps, share in shares)
    return _curve((steps, share) for steps, share in shares if share > 0)


def _ranked(values: list[float]) -> Curve:
    return Curve(list(range(1, len(values) + 1)), values)


# --- risk ------------------------------------------------------------------------------------


def _risk_figures(figures: ReleaseFigures) -> list[Limit]:
    """Return every figure of risk, first those with a limit."""
    decision = figures.decision
    return [*decision.limits, *figures_without_limit(figures.risk, decision)]


def _public_limit(found: Limit, rounding: PublicRounding) -> Limit:
    """Round a figure towards its limit; what is within the limit stays within it."""
    value, limit, label = found.value, found.limit, found.label
    if found.rounding == "share up":
        value = rounding.at_most_share(value)
    if limit is None:
        return replace(found, value=value, reason="")
    if found.rounding == "share up":
        value = min(value, limit) if found.holds else value
    elif found.rounding == "people down":
        value = rounding.at_least(value)
        value = max(value, limit) if found.holds else min(value, limit - 1)
    elif found.rounding == "share down":
        value = math.floor(10 * value) / 10
        value = max(value, limit) if found.holds else value
    elif found.rounding == "people up":
        value, limit = rounding.at_most(value), rounding.at_most(limit)
        label = label.replace("guessed right", "guessed right, at most", 1)
        if not found.holds and value <= limit:
            value = limit + rounding.group
    return replace(found, value=value, limit=limit, label=label, reason="", note="")


def _public_level(level: PublicationLevel, rounding: PublicRounding) -> PublicationLevel:
    """Round the risk of a level up."""
    found = rounding.at_most(level.people_found * rounding.people) / rounding.people
    disclosed = level.disclosed_edges
    return PublicationLevel(
        level.level,
        rounding.at_most_share(level.class_mean),
        rounding.at_most_share(level.class_worst),
        None if disclosed is None else rounding.at_most_share(disclosed),
        min(1.0, rounding.at_most_share(found)),
        level.why.split(";")[0],  # what follows is an exact figure
    )


def _attacks(figures: ReleaseFigures) -> list[AttackComparison]:
    """Return the attacks that reports show, also those that know attributes or directions."""
    rows = [row for row in figures.risk.attacks.all_comparisons() if row.public]
    for found in [] if figures.features is None else figures.features.attacks:
        draws = figures.draws
        rows.append(
            AttackComparison(
                f"somebody who {found.label}",
                None,
                -(-found.correct // draws),
                found.naive // draws,
                None,
                found.expected / draws,
                has_power=found.naive > 0,
                public=True,
            )
        )
    return rows


def _public_attack(row: AttackComparison, rounding: PublicRounding) -> AttackComparison:
    """Round the numbers of people up; leave out the result, which has exact figures."""
    return row._replace(
        result=None,
        found=rounding.at_most(row.found),
        naive=rounding.at_most(row.naive),
        deleted_10=None if row.deleted_10 is None else rounding.at_most(row.deleted_10),
        expected=None if row.expected is None else rounding.at_most(row.expected),
        has_power=row.naive > rounding.group,
    )


def _block_remark(risk: Risk, rounding: PublicRounding | None) -> list[str]:
    """Describe how often the seeded attack with the most seeds is right about the block."""
    result = risk.attacks.worst.seeded[-1]
    matched = result.correct + result.wrong
    if result.luck is None or not matched:
        return []
    right, chance = (
        Rounded(share, 0.0) for share in (result.luck.block_accuracy, result.luck.block_chance)
    )
    if rounding is not None:
        if rounding.step_of(matched) > _COARSEST_CLUSTERING:
            return []
        of_matched = PublicRounding(matched, rounding.group)
        right, chance = of_matched.share(right.value), of_matched.share(chance.value)
    about = "about " if rounding is not None else ""
    return [
        f"An attacker who knows {result.seeds} people is right about the block of "
        f"{about}{100 * right.value:.0f} % of the people it matches; luck and known degrees alone "
        f"give {about}{100 * chance.value:.0f} %."
    ]
