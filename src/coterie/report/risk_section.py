"""What could be found in a release: figures against limits, and attacks beside their controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.report.charts import ChartTable, Gauge, bars, gauges, percent
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel, Section

_MEANING = {
    "A1": "A1: the chance to point at the right person for somebody who knows the person's class "
    "(block and degree bin), 1 over the size of the class.",
    "A2": "A2: original edges between classes so closely joined that the edge is as good as "
    "published.",
    "A3": "A3, edge inference: how much better the model knows the edges it was made from than "
    "edges kept from it; 0 is none, 1 is all.",
    "A4": "A4: people found by somebody who knows a few of them and looks for the rest.",
}
_LEVELS = {
    "level": "what is published",
    "A1 mean": "A1, mean",
    "A1 worst": "A1, worst",
    "people found": "people found (A4)",
    "why": "because",
}
_WORDS = {"level", "why"}
_A_PICTURE = 4  # attacks


def risk(summary: Mapping[str, Any]) -> Section:
    """Every figure against its limit, and the same figures if more were published."""
    limits = [_gauge(item) for item in summary.get("limits", [])]
    section = Section("Risk, and the limits set for it", figures_first=True)
    if limits:
        section.lead = _count_limits(limits)
        half = -(-len(limits) // 2) if len(limits) > 4 else len(limits)
        for part in (limits[:half], limits[half:]):
            if part:
                title = "Figures and limits" + ", continued" * bool(section.figures)
                chart = gauges(part, description="Risk figures, each against its limit.")
                section.figures.append(Figure(title, chart))
    rows = [dict(level) for level in summary.get("levels", [])]
    if rows:
        columns = list(dict.fromkeys(key for row in rows for key in row))
        body: list[list[Cell]] = [[_shown(c, row.get(c)) for c in columns] for row in rows]
        section.tables.append(
            Panel(
                "The risk by what is published",
                ChartTable([_LEVELS.get(c, c.replace("_", " ")) for c in columns], body),
                "Each row gives away more than the one above it. –: not shown by what is "
                "published.",
            )
        )
    if section:
        section.notes = list(_MEANING.values())
    return section


def _gauge(item: Mapping[str, Any]) -> Gauge:
    limit = item.get("limit")
    return Gauge(
        str(item["name"]),
        float(item["value"]),
        None if limit is None else float(limit),
        bool(item.get("at_least", False)),
        bool(item.get("percent", False)),
        str(item.get("note", "")),
    )


def _count_limits(limits: list[Gauge]) -> str:
    set_ = [g for g in limits if g.limit is not None]
    kept = sum(bool(g.holds) for g in set_)
    return f"{kept} of {len(set_)} limits hold. The mark across a bar is its limit."


def _shown(column: str, value: Any) -> Cell:
    """All figures of a level are shares."""
    if column in _WORDS or isinstance(value, str):
        return str(value)
    return percent(value)


def attacks(summary: Mapping[str, Any]) -> Section:
    """Whom each attack found, in the release and where it could have found somebody."""
    tried = [dict(a) for a in summary.get("attacks", [])]
    section = Section("Attacks on the release, beside their controls")
    if not tried:
        return section
    section.lead = (
        "Each attack was run on the release, on a naive copy (names removed, edges kept) and on a "
        "copy with a tenth of the edges deleted. An attack that finds nobody in the naive copy "
        "proves nothing."
    )
    named = {
        "release": "this release",
        "naive": "naive copy",
        "deleted_10": "10 % of edges deleted",
        "chance": "by chance",
    }
    groups = {
        title: [_people(a.get(key)) for a in tried]
        for key, title in named.items()
        if any(a.get(key) is not None for a in tried)
    }
    most = max(np.nanmax(values) for values in groups.values())
    of = f" of {summary['nodes']:,}" if summary.get("nodes") else ""
    half = -(-len(tried) // 2) if len(tried) > _A_PICTURE else len(tried)
    for part in (slice(0, half), slice(half, None)):
        if tried[part]:
            chart = bars(
                [str(a["attack"]) for a in tried[part]],
                {title: values[part] for title, values in groups.items()},
                description="People found by each attack in the release and in its controls.",
                of="attack",
                longest=float(most),
                names_above=True,
            )
            more = ", further attacks" if section.figures else ""
            section.figures.append(Figure(f"People found{of}{more}", chart))
    blind = [str(a["attack"]) for a in tried if a.get("naive") is not None and a["naive"] < 1]
    if blind:
        section.notes.append(
            f"Proves nothing here, since it finds nobody in the naive copy: {', '.join(blind)}."
        )
    return section


def _people(found: float | None) -> float:
    """What chance finds is a fraction; a tenth of a person is enough."""
    return float("nan") if found is None else round(float(found), 1)
