"""Parts of the reports as JSON, so that the pages of the application show the same charts."""

from __future__ import annotations

from coterie.base.json_values import JsonObject
from coterie.report.page import Figure, Page, Section
from coterie.report.tables import write_table


def figure_json(figure: Figure) -> JsonObject:
    """Return a chart with its title, caption and table."""
    table = figure.chart.table
    return {
        "title": figure.title,
        "svg": figure.chart.svg,
        "caption": figure.caption,
        "wide": figure.wide,
        "table": str(write_table(table)) if table.rows else "",
    }


def section_json(section: Section) -> JsonObject:
    """Return a section of a report."""
    return {
        "title": section.title,
        "lead": section.lead,
        "figures": [figure_json(figure) for figure in section.figures],
        "tables": [
            {"title": panel.title, "table": str(write_table(panel.table)), "caption": panel.caption}
            for panel in section.tables
        ],
        "notes": list(section.notes),
    }


def sections_json(page: Page) -> list[JsonObject]:
    """Return the sections of a report that have content."""
    return [section_json(section) for section in page.sections if section]
