"""Printed tables of the measures of two networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coterie.base.number_text import figure, percent

if TYPE_CHECKING:
    from rich.table import Table

    from coterie.anonymize.features.comparison import FeatureResults
    from coterie.anonymize.utility.measures import ScalarMeasures


def measures_table(
    original: ScalarMeasures,
    published: ScalarMeasures,
    degree_ks: float,
    title: str = "original and release",
) -> Table:
    """Return a table of the measures of two graphs."""
    from rich.table import Table

    from coterie.anonymize.figures import measured

    table = Table("measure", "original", "published", title=title, title_justify="left")
    for declared, before, after in measured(original, published):
        shown = share_text if declared.percent else counted
        table.add_row(declared.label, shown(before), shown(after))
    table.add_row("largest difference of degree shares (KS)", "", share_text(degree_ks))
    return table


def share_text(share: float | None) -> str:
    """Format a share as a percentage with four digits."""
    return percent(share, digits=4)


def counted(value: float | None) -> str:
    """Format counts without decimals and all other figures with four.

    >>> counted(198050.0), counted(0.30103), counted(4.19)
    ('198,050', '0.3010', '4.1900')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4f}"


def features_table(features: FeatureResults) -> Table:
    """Return a table of the measures of directions, weights, sides and attributes."""
    from rich.table import Table

    table = Table(
        "measure",
        "original",
        "published",
        "",
        title="directions, weights, sides and attributes",
        title_justify="left",
    )
    for row in features.rows():
        original = "" if row.is_distance else figure(row.original)
        published = (
            f"{100 * row.published:.2g} %"
            if row.is_distance and row.published is not None
            else figure(row.published)
        )
        table.add_row(row.name, original, published, "kept" if row.kept else "not kept")
    return table
