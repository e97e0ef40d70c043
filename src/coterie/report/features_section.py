"""The report section about directions, weights, sides and attributes of a release."""

from __future__ import annotations

from collections.abc import Sequence

from coterie.anonymize.figures import FeatureRow
from coterie.report.charts import ChartTable, percent, short
from coterie.report.charts.drawing import Cell
from coterie.report.page import Panel, Section


def features_section(rows: Sequence[FeatureRow], *, exact: bool) -> Section:
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
        shown = percent(row.published) if row.is_distance else _shown(row.published)
        before: list[Cell] = [_shown(row.original)] if exact else []
        cells.append([row.name, *before, shown, "✓ preserved" if row.kept else "✗ not preserved"])
    section.tables.append(
        Panel(
            "What is drawn on top of the edges",
            ChartTable(columns, cells),
            "Attributes, directions and weights of a person are drawn from those of the whole "
            "class. A distance of 0 % means equal distributions.",
        )
    )
    return section


def _shown(value: float | None) -> str:
    return "–" if value is None else short(value)
