"""What the two reports of a release show: the published one, and the private one of the owner.

The published report contains figures of the released graph, which everybody can count, and figures
of the original that `public_figures` has rounded, so that none determines a statistic of fewer than
`min_class_size` people. It contains no id, seed or path of a file. The owner's report shows the
exact figures and goes to the private folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.figures import FeatureRow, FigureRow, Private, measured, public_rows
from coterie.anonymize.output.public_figures import (
    MIN_GROUP,
    PublicRounding,
    Rounded,
    degree_grid,
)
from coterie.anonymize.policy import Limit, PolicyDecision
from coterie.anonymize.risk.assessment import PublicationLevel, Risk, publication_levels
from coterie.anonymize.utility.community_utility import PublicCommunities, public_communities
from coterie.anonymize.utility.measures import Measures
from coterie.anonymize.utility.release_utility import Utility
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
class Profiles:
    """The distributions that the report draws."""

    degree: CurvePair  # share of nodes with at least this degree
    clustering: CurvePair  # mean local clustering by degree
    distance: CurvePair  # share of connected pairs at this distance
    spectrum: CurvePair  # eigenvalue by rank


@dataclass(frozen=True)
class PublicUtility:
    """The utility of a release, with rounded figures of the original."""

    measures: list[FigureRow]
    degree_ks: float  # rounded up
    not_kept: list[str] = field(default_factory=list)
    communities: PublicCommunities | None = None
    further: list[FigureRow] = field(default_factory=list)

    def measure(self, key: str) -> FigureRow | None:
        """Return one of the measures."""
        return next((row for row in self.measures if row.figure.key == key), None)


class PublicLimit(NamedTuple):
    """A figure of the release next to its limit; without a limit it is only shown."""

    label: str
    value: float
    limit: float | None = None
    at_least: bool = False
    percent: bool = False
    note: str = ""


class PublicAttack(NamedTuple):
    """The number of people that an attack guessed right in the release and in the controls.

    In the published report the numbers are rounded up.
    """

    label: str
    release: float
    naive: float
    deleted_10: float
    expected: float | None = None  # by luck
    has_power: bool = True  # it identifies people in the copy without names


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
    profiles: Profiles | None = None
    limits: list[PublicLimit] = field(default_factory=list)
    levels: list[PublicationLevel] = field(default_factory=list)
    attacks: list[PublicAttack] = field(default_factory=list)
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
    return PublicSummary(
        refused=decision.refused,
        reasons=[f"limit exceeded: {_label(x)}" for x in decision.limits if not x.holds],
        weaker=decision.qualification,
        model=figures.model,
        nodes=figures.original.n_nodes,
        blocks=figures.blocks,
        draws=figures.draws,
        group=rounding.group,
        utility=PublicUtility(
            [_public_measure(row, utility, rounding) for row in _measured(utility)],
            rounding.at_most_share(max(utility.degree_ks, rounding.share_step / 2)),
            # The sentences contain exact figures; the table has the rounded ones.
            list(dict.fromkeys(sentence.split(":")[0] for sentence in utility.not_kept)),
            _public_communities(utility, rounding),
            public_rows(utility.further, rounding.group),
        ),
        profiles=_public_profiles(figures, rounding),
        limits=[
            *(_public_limit(limit, rounding) for limit in decision.limits),
            *(
                limit._replace(value=rounding.at_most_share(limit.value), note=_NAMED_NOTE)
                for limit in _named_edges(risk)
            ),
            *(
                limit._replace(value=rounding.at_most_share(limit.value), note="")
                for limit in _inference_without_limit(risk, decision)
            ),
        ],
        levels=[_public_level(level, rounding) for level in publication_levels(risk)],
        attacks=[_public_attack(attack, rounding) for attack in _attacks(risk)],
        remarks=[
            *(remark.format(group=rounding.group) for remark in _PUBLIC_REMARKS),
            *_block_remark(risk, rounding),
            *([] if figures.features is None else [_FEATURES_REMARK]),
        ],
        objective=figures.objective,
        features=_public_features(figures.features, rounding),
    )


def summarize_for_owner(figures: ReleaseFigures) -> OwnerSummary:
    """Return everything about a release with exact figures. Never publish it."""
    utility, risk, decision = figures.utility, figures.risk, figures.decision
    return OwnerSummary(
        refused=decision.refused,
        reasons=decision.reasons,
        weaker=decision.qualification,
        model=figures.model,
        nodes=utility.original.nodes,
        edges=utility.original.edges,
        blocks=figures.blocks,
        draws=figures.draws,
        utility=PublicUtility(
            _measured(utility),
            utility.degree_ks,
            utility.not_kept,
            public_communities(utility.communities),
            utility.further,
        ),
        profiles=_owner_profiles(figures),
        limits=[
            *map(_owner_limit, decision.limits),
            *_named_edges(risk),
            *_inference_without_limit(risk, decision),
        ],
        levels=publication_levels(risk),
        attacks=_attacks(risk),
        remarks=[
            *_OWNER_REMARKS,
            *_block_remark(risk, None),
            *([] if figures.features is None else [_FEATURES_REMARK]),
        ],
        objective=figures.objective,
        features=[] if figures.features is None else figures.features.rows(),
    )


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


# --- curves ----------------------------------------------------------------------------------


def _public_profiles(figures: ReleaseFigures, rounding: PublicRounding) -> Profiles:
    before, after = figures.utility.original, figures.utility.draws[0]
    return Profiles(
        degree=CurvePair(
            _public_degree_tail(figures.original.degrees, rounding),
            _degree_tail(figures.published.degrees),
        ),
        clustering=CurvePair(_public_clustering(before, rounding), _clustering(after)),
        distance=CurvePair(
            _public_distances(before.distances, rounding), _distances(after.distances)
        ),
        # Eigenvalues follow the largest degrees: in a star, the first one gives the hub's exactly.
        spectrum=CurvePair(Curve([], []), _ranked(after.spectrum)),
    )


def _owner_profiles(figures: ReleaseFigures) -> Profiles:
    before, after = figures.utility.original, figures.utility.draws[0]
    return Profiles(
        degree=CurvePair(
            _degree_tail(figures.original.degrees), _degree_tail(figures.published.degrees)
        ),
        clustering=CurvePair(_clustering(before), _clustering(after)),
        distance=CurvePair(_distances(before.distances), _distances(after.distances)),
        spectrum=CurvePair(_ranked(before.spectrum), _ranked(after.spectrum)),
    )


def _public_degree_tail(degrees: np.ndarray, rounding: PublicRounding) -> Curve:
    """Return the share of nodes with at least each degree of a fixed grid, in wide bins."""
    points = []
    for degree in degree_grid(int(degrees.max(initial=0))):
        share = rounding.head_count(int((degrees >= degree).sum()))
        if share is None:
            break
        points.append((degree, share))
    return Curve([x for x, _ in points], [y for _, y in points])


def _public_clustering(measures: Measures, rounding: PublicRounding) -> Curve:
    """Return the mean local clustering of the degree bins (2-3, 4-7, …) with enough people."""
    points = []
    for found in measures.clustering_by_degree:
        step = rounding.step_of(found.nodes)
        if step <= _COARSEST_CLUSTERING:
            value = PublicRounding(found.nodes, rounding.group).share(found.clustering).value
            points.append((found.degree_from, value))
    return Curve([x for x, _ in points], [y for _, y in points])


def _public_distances(counts: list[int], rounding: PublicRounding) -> Curve:
    total = max(sum(counts), 1)
    points = [(x, rounding.pair_share(c / total).value) for x, c in enumerate(counts, 1)]
    points = [(x, y) for x, y in points if y > 0]
    return Curve([x for x, _ in points], [y for _, y in points])


def _degree_tail(degrees: np.ndarray) -> Curve:
    """Return the share of nodes with at least each degree of a fixed grid."""
    places = degree_grid(int(degrees.max(initial=0)))
    return Curve([*places], [float((degrees >= place).mean()) for place in places])


def _clustering(measures: Measures) -> Curve:
    bins = measures.clustering_by_degree
    return Curve([b.degree_from for b in bins], [b.clustering for b in bins])


def _distances(counts: list[int]) -> Curve:
    total = max(sum(counts), 1)
    points = [(x, c / total) for x, c in enumerate(counts, 1) if c]
    return Curve([x for x, _ in points], [y for _, y in points])


def _ranked(values: list[float]) -> Curve:
    return Curve(list(range(1, len(values) + 1)), values)


# --- risk ------------------------------------------------------------------------------------

_NAMED_NOTE = (
    "for information: most can be named also if they were left out of the data, because "
    "people of these blocks and degrees are connected that often"
)


def _label(limit: Limit) -> str:
    return limit.label or limit.name


def _owner_limit(limit: Limit) -> PublicLimit:
    note = "" if limit.holds else limit.reason
    return PublicLimit(_label(limit), limit.value, limit.limit, limit.at_least, limit.percent, note)


def _public_limit(limit: Limit, rounding: PublicRounding) -> PublicLimit:
    """Round a figure towards its limit; what is within the limit stays within it."""
    value, allowed = limit.value, limit.limit
    if limit.percent:
        value = rounding.at_most_share(value)
        value = min(value, allowed) if limit.holds else value
    elif limit.at_least:
        value = rounding.at_least(value)
        value = max(value, allowed) if limit.holds else min(value, allowed - 1)
    elif limit.name.startswith("people found"):
        value, allowed = rounding.at_most(value), rounding.at_most(allowed)
        if not limit.holds and value <= allowed:
            value = allowed + rounding.group
    return PublicLimit(_label(limit), value, allowed, limit.at_least, limit.percent)


def _named_edges(risk: Risk) -> list[PublicLimit]:
    """Return all that is named if degrees are known, where the limit is about the excess only."""
    known = risk.disclosed_edges.known_degrees
    if known.control is None:
        return []
    return [
        PublicLimit(
            "edges named in all, all degrees known", known.named, percent=True, note=_NAMED_NOTE
        )
    ]


def _inference_without_limit(risk: Risk, decision: PolicyDecision) -> list[PublicLimit]:
    """Return A3 if it was measured and the policy sets no limit for it."""
    found = risk.edge_inference
    if (
        found is None
        or found.risk is None
        or any(x.name == "edge inference" for x in decision.limits)
    ):
        return []
    note = (
        f"{100 * found.main:.1f} % of the edges that the model was fitted to are recognised, and "
        f"{100 * found.control:.1f} % of the edges that were held out"
    )
    return [PublicLimit("edge inference", found.risk, percent=True, note=note)]


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


def _attacks(risk: Risk) -> list[PublicAttack]:
    return [
        PublicAttack(
            row.label, row.found, row.naive, row.deleted_10, row.expected, has_power=row.has_power
        )
        for row in risk.attacks.all_comparisons()
        if row.attack.public
    ]


def _public_attack(attack: PublicAttack, rounding: PublicRounding) -> PublicAttack:
    """Round the numbers of people up."""
    return PublicAttack(
        attack.label,
        rounding.at_most(attack.release),
        rounding.at_most(attack.naive),
        rounding.at_most(attack.deleted_10),
        None if attack.expected is None else rounding.at_most(attack.expected),
        has_power=attack.naive > rounding.group,
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
