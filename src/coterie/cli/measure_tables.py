"""Printed tables of the measures of two networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coterie.anonymize.features.comparison import FeatureResults
    from coterie.anonymize.utility.measures import ScalarMeasures
    from coterie.cli.session import Session


def show_measures(
    session: Session,
    original: ScalarMeasures,
    published: ScalarMeasures,
    degree_ks: float,
    title: str = "original and release",
) -> None:
    """Print the measures of two graphs."""
    from coterie.anonymize.figures import measured

    rows = []
    for declared, before, after in measured(original, published):
        shown = share_text if declared.percent else counted
        rows.append((declared.label, shown(before), shown(after)))
    rows.append(("largest difference of degree shares (KS)", "", share_text(degree_ks)))
    session.show_table(rows, "measure", "original", "published", title=title, boxed=True)


def share_text(share: float | None) -> str:
    """Format a share as a percentage; all of a column have the same digits.

    >>> share_text(0.2406), share_text(0.0001146)
    ('24.06 %', '0.01 %')
    """
    return "–" if share is None else f"{100 * share:.2f} %"


def counted(value: float | None) -> str:
    """Format counts without decimals and all other figures with four.

    >>> counted(198050.0), counted(0.30103), counted(4.19)
    ('198,050', '0.3010', '4.1900')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4f}"


def show_features(session: Session, features: FeatureResults) -> None:
    """Print the measures of directions, weights, sides and attributes."""
    rows = []
    for row in features.rows():
        published = counted(row.published)
        if row.is_distance and row.published is not None:
            published = share_text(row.published)
        original = "" if row.is_distance else counted(row.original)
        rows.append((row.name, original, published, "kept" if row.kept else "not kept"))
    title = "directions, weights, sides and attributes"
    session.show_table(rows, "measure", "original", "published", "", title=title, boxed=True)
