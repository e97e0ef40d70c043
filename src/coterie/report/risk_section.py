"""Report sections about risk: figures next to their limits, and attacks next to their controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TypeVar

import numpy as np

from coterie.anonymize.attacks.attack import AttackComparison
from coterie.anonymize.policy import Limit
from coterie.anonymize.risk.assessment import PublicationLevel
from coterie.report.charts import Gauge, bars, gauges, percent
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
    "to identify the others. Some guesses are right by luck; the limit is what luck explains plus "
    "a margin.",
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
                f" Numbers of people are rounded up to multiples of {rounded_to}, and shares to "
                "1, 2 or 5 times a power of ten."
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
        section.lead += f" All numbers of people are rounded up to multiples of {rounded_to}."
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
