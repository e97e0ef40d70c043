"""Sections of the report of a release: limits, attacks, curves, measures and communities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

import numpy as np

from coterie.anonymize.attacks.attack import AttackComparison
from coterie.anonymize.figures import AGREEMENT_SHARE, FOREIGN_SHARE, FeatureRow, FigureRow
from coterie.anonymize.output.public_summary import CurvePair, PublicUtility
from coterie.anonymize.policy import Limit
from coterie.anonymize.risk.assessment import PublicationLevel
from coterie.report.charts import Axis, Gauge, Series, bars, gauges, percent, short, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Section

_MEANING = [
    "A1, classes: a class is a group of people with the same block and similar degree. The release "
    "treats them alike, so somebody who knows only the class of a person guesses the right node "
    "with a probability of one divided by the number of people in the class.",
    "A2, edges disclosed: if nearly all members of two classes are connected, an edge between two "
    "of them is as good as published. The figures are the shares of the original edges for which "
    "this is so: by the probability in the model, and by the share of the pairs that are connected "
    "in the original.",
    "A2, all degrees known: somebody who knows everybody's block and exact number of contacts can "
    "name some of the edges and is right about nine in ten. Many of these edges can be named also "
    "if they were left out of the data, because people of these blocks and degrees are nearly "
    "always connected. The limit is about the others: edges that are named because they are in the "
    "data. The figure is the upper end of a 95 % interval.",
    "A3, edge inference: the advantage in recognising edges that the release was made from over "
    "edges that were held out. 0 % means no advantage, 100 % means that all are recognised.",
    "A4, attacks: an attacker who knows the original graph, and some people in the release, tries "
    "to identify the others. Some guesses are right by luck; the limit is the mean and three "
    "standard deviations of what luck explains.",
]
# Group of bars -> the number of people that it shows
_GROUPS: dict[str, Callable[[AttackComparison], float | None]] = {
    "this release": attrgetter("found"),
    "names removed": attrgetter("naive"),
    "10 % of edges deleted": attrgetter("deleted_10"),
    "expected by luck": attrgetter("expected"),
}
_LEVEL_COLUMNS = [
    "what is published",
    "right guess within the class, mean (A1)",
    "right guess within the class, smallest class (A1)",
    "edges disclosed (A2)",
    "people guessed right (A4)",
    "because",
]
_PER_CHART = 4  # attacks or figures
_Shown = TypeVar("_Shown")


def risk(
    limits: Sequence[Limit],
    levels: Sequence[PublicationLevel],
    rounded_to: int | None = None,
) -> Section:
    """Show every figure next to its limit, and the risk if more were published."""
    section = Section("Risk and limits", figures_first=True)
    shown = [Gauge(x.label, x.value, x.limit, x.at_least, x.percent, x.remark()) for x in limits]
    if shown:
        section.lead = _count_limits(shown)
        if rounded_to is not None:
            section.lead += (
                f" Numbers of people are rounded up to multiples of {rounded_to}, 0 too, and "
                "shares to 1, 2 or 5 times a power of ten, above 10 % to steps of 5 % or more."
            )
        for part in _halves(shown):
            title = "Figures and limits" + ", continued" * bool(section.figures)
            section.draw(title, gauges(part, description="Risk figures, each next to its limit."))
    rows: list[list[Cell]] = [
        [
            level.level,
            percent(level.class_mean),
            percent(level.class_worst),
            percent(level.disclosed_edges),
            percent(level.people_found),
            level.why,
        ]
        for level in levels
    ]
    section.tabulate(
        _LEVEL_COLUMNS,
        rows,
        "Each row discloses more than the one above. –: not disclosed by what is published.",
        "The risk by what is published",
    )
    if section:
        section.notes = list(_MEANING)
    return section


def _halves(shown: Sequence[_Shown]) -> list[Sequence[_Shown]]:
    """Divide what one chart would show too densely into two charts."""
    half = -(-len(shown) // 2) if len(shown) > _PER_CHART else len(shown)
    return [part for part in (shown[:half], shown[half:]) if part]


def _count_limits(limits: Sequence[Gauge]) -> str:
    with_limit = [g for g in limits if g.limit is not None]
    kept = sum(bool(g.holds) for g in with_limit)
    return (
        f"{kept} of {len(with_limit)} figures are within their limits. The mark across a bar is "
        "the limit."
    )


def attacks(
    tried: Sequence[AttackComparison], nodes: int | None, rounded_to: int | None = None
) -> Section:
    """Show how many people each attack identified in the release and in the controls."""
    section = Section("Attacks on the release and on two controls")
    if not tried:
        return section
    section.lead = (
        "Each attack was run on the release and on two unprotected graphs: a copy with only the "
        "names removed, and a copy in which 10 % of the edges were also deleted. An attack that "
        "identifies nobody in the copy without names says nothing about the release. “Expected by "
        "luck” is the number of right guesses that luck alone explains."
    )
    if rounded_to is not None:
        section.lead += (
            f" All numbers of people are rounded up to multiples of {rounded_to}, 0 too: "
            f"{rounded_to} means at most {rounded_to}."
        )
    measured = {title: [_people(found(a)) for a in tried] for title, found in _GROUPS.items()}
    measured = {title: each for title, each in measured.items() if not np.isnan(each).all()}
    most = max(np.nanmax(values) for values in measured.values())
    of = f" of {nodes:,}" if nodes else ""
    for part in _halves(tried):
        chart = bars(
            [a.label for a in part],
            {title: [_people(_GROUPS[title](a)) for a in part] for title in measured},
            description="People identified by each attack in the release and in its controls.",
            of="attack",
            longest=float(most),
            names_above=True,
        )
        more = ", further attacks" if section.figures else ""
        section.draw(f"People guessed right{of}{more}", chart)
    blind = [a.label for a in tried if not a.has_power]
    if blind:
        section.notes.append(
            "These attacks say nothing here, because they identify nobody or very few people in "
            f"the copy without names: {', '.join(blind)}."
        )
    return section


def _people(found: float | None) -> float:
    """Round expected numbers of people to tenths; NaN if there is none."""
    return float("nan") if found is None else round(float(found), 1)


class _ProfileChart(NamedTuple):
    """The drawing and the explanation of one pair of curves."""

    title: str
    x: Axis
    y: Axis
    kind: str
    caption: str


_CHARTS = {
    "degree": _ProfileChart(
        "Degrees",
        Axis("degree", log=True),
        Axis("share of nodes with at least this degree", log=True),
        "points",
        "How the number of neighbours is distributed.",
    ),
    "clustering": _ProfileChart(
        "Clustering by degree",
        Axis("degree", log=True),
        Axis("mean local clustering", lo=0.0),
        "both",
        "How often two neighbours of a node are neighbours themselves.",
    ),
    "distance": _ProfileChart(
        "Path lengths",
        Axis("steps"),
        Axis("share of connected pairs", lo=0.0),
        "both",
        "How many steps lie between two nodes.",
    ),
    "spectrum": _ProfileChart(
        "Largest eigenvalues",
        Axis("rank"),
        Axis("eigenvalue"),
        "both",
        "Eigenvalues of the adjacency matrix: they follow from hubs and dense groups, and decide "
        "for example how fast an epidemic spreads.",
    ),
}


_ROUNDED = (
    "Figures of the original are rounded, because this page may be published: “± 0.05” says how "
    "far the exact figure can be. “Within rounding”: the difference is not larger than that. "
    "Figures without a value belong to single people or to few, and are not published."
)

_COMMUNITIES = (
    "A community is a group of people who have more ties with each other than their numbers of "
    "ties explain. Both networks were searched by a method that does not know the blocks of the "
    "release: coterie’s own modularity search. If the communities are preserved, whoever studies "
    "the groups of the release finds groups that exist in the original."
)
_COMMUNITY_FIGURES = (
    "The first three figures are modularities: about 0 if there are no communities, close to 1 if "
    "almost all ties are inside them. Agreement is 1 if everybody is in the same community, and 0 "
    "if the communities have nothing to do with each other (normalized mutual information). A "
    "search has a random start, so two searches in the original do not agree perfectly either."
)
_FURTHER = (
    "Patterns are counted exactly. Squares and 4-cliques show dense spots; a core is what remains "
    "if people with few ties are removed again and again; robustness is the share of people who "
    "stay connected while people are removed; epidemic size is the share that a simulated epidemic "
    "reaches; a Gini coefficient is 0 if everybody has the same importance."
)
_FURTHER_PUBLIC = (
    " The figures of the original are not published; the last column says how far the release is "
    "from them at most. Figures that few people determine are left out."
)


def curves(profiles: Mapping[str, CurvePair]) -> Section:
    """Draw each distribution of the original and of the release in one chart."""
    section = Section("How similar the two graphs are")
    for name, pair in profiles.items():
        how = _CHARTS[name]
        shown = (("original", pair.original), ("release", pair.published))
        series = [
            Series(which, curve.x, curve.y, how.kind, colour=colour)
            for colour, (which, curve) in enumerate(shown)
            if curve.x
        ]
        description = f"{how.title} of the original and of the release."
        section.draw(how.title, xy(series, how.x, how.y, description=description), how.caption)
    return section


def measure_by_measure(utility: PublicUtility | None) -> Section:
    """List every measure of the original and of the release, and the change.

    A change that the rounding of the original may explain is not shown.
    """
    section = Section("Measure by measure")
    if utility is None:
        return section
    rows = [_measure_row(found) for found in utility.measures]
    rounded = any(found.error or found.original is None for found in utility.measures)
    first = "original (rounded)" if rounded else "original"
    section.tabulate(["measure", first, "release", "change"], rows, _ROUNDED if rounded else "")
    hidden = all(row.original is None for row in utility.further)
    columns = ["measure", "original", "release", "change", "preserved?"]
    section.tabulate(
        columns[::2] if hidden else columns,
        [_further(row)[:: 2 if hidden else 1] for row in utility.further],
        _FURTHER + _FURTHER_PUBLIC * hidden,
        "Measures that the release is not fitted to",
    )
    return section


def _measure_row(found: FigureRow) -> list[Cell]:
    a, b, error = found.original, found.published, found.error
    share = found.figure.percent
    released: Cell = percent(b) if share else b
    if a is None:
        return [found.figure.label, "–", released, "–"]
    shown: Cell = percent(a) if share else a
    if error:
        spread = percent(error) if share else short(error)
        shown = f"{percent(a) if share else short(a)} ± {spread}"
    within = "within rounding" if error else "±0"
    change = _change(a, b) if abs(b - a) > error else within
    return [found.figure.label, shown, released, change]


def communities(utility: PublicUtility | None) -> Section:
    """Say whether the communities of the release are those of the original."""
    section = Section("Communities", _COMMUNITIES)
    if utility is None or utility.communities is None:
        return section
    found = utility.communities
    clear = found.agreement_kept is not None
    rows: list[list[Cell]] = [
        ["Communities found in the original", short(found.original), "–"],
        ["Communities found in the release", short(found.published), "–"],
        [
            "Communities found in the release, looked up in the original",
            short(found.foreign),
            f"{_kept(found.foreign_kept)} (at least {short(FOREIGN_SHARE * found.original)})",
        ],
        ["Two searches in the original agree at", short(found.self_agreement), "–"],
        [
            "Original and release agree at",
            short(found.agreement),
            f"{_kept(bool(found.agreement_kept))} "
            f"(at least {short(AGREEMENT_SHARE * found.self_agreement)})"
            if clear
            else "the original’s communities are not clear enough to compare",
        ],
    ]
    section.tabulate(["search", "figure", "preserved?"], rows, _COMMUNITY_FIGURES)
    return section


def features(rows: Sequence[FeatureRow], *, exact: bool) -> Section:
    """Show each measure of what was drawn on top of the skeleton; nothing without measures."""
    section = Section("Directions, weights, sides and attributes")
    if not rows:
        return section
    kept = sum(row.kept for row in rows)
    section.lead = f"{kept} of {len(rows)} measures are preserved within their tolerance."
    if not exact:
        section.lead += " Figures of the original are not shown."
    columns = ["measure", *(["original"] if exact else []), "release", "preserved?"]
    cells: list[list[Cell]] = []
    for row in rows:
        shown = percent(row.published) if row.is_distance else short(row.published)
        before: list[Cell] = [short(row.original)] if exact else []
        cells.append([row.name, *before, shown, _kept(row.kept)])
    section.tabulate(
        columns,
        cells,
        "Attributes, directions and weights of a person are drawn from those of the whole class. A "
        "distance of 0 % means equal distributions.",
        "What is drawn on top of the edges",
    )
    return section


def _kept(kept: bool) -> str:
    return "✓ preserved" if kept else "✗ not preserved"


def _further(row: FigureRow) -> list[Cell]:
    change = "–" if row.original is None else _change(row.original, row.published)
    kept = f"{_kept(row.kept)} (within {percent(row.figure.tolerance)})"
    return [row.figure.label, row.original, row.published, change, kept]


def _change(a: float, b: float) -> str:
    """Describe a change as a percentage, or as a difference where that would mislead.

    >>> _change(0.5, 0.6), _change(3, 4), _change(0, 2), _change(5.0, 5.0)
    ('+20.0 %', '+1', '+2', '±0')
    """
    if a == b:
        return "±0"
    if (
        (abs(a) < 20 and float(a).is_integer() and float(b).is_integer())
        or a == 0
        or (a < 0) != (b < 0)
        or abs(a) < 1e-9
    ):
        return f"{b - a:+.3g}"
    percents = round(100 * (b - a) / abs(a), 1)
    return f"{percents:+} %" if percents else "±0.0 %"
