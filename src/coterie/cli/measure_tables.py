"""Printed tables of the measures of two networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from coterie.anonymize.kinds.outcome import KindOutcome
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
    for figure, before, after in measured(original, published):
        shown = percent if figure.percent else counted
        table.add_row(figure.label, shown(before), shown(after))
    table.add_row("largest difference of degree shares (KS)", "", percent(degree_ks))
    return table


def counted(value: float) -> str:
    """Format counts without decimals and all other figures with four.

    >>> counted(198050.0), counted(0.30103), counted(4.19)
    ('198,050', '0.3010', '4.1900')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4f}"


def percent(value: float) -> str:
    """Format a share with four significant digits.

    >>> percent(0.21667)
    '21.67 %'
    """
    return f"{100 * value:.4g} %"


def kind_table(kind: KindOutcome) -> Table:
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
    for m in kind.measures:
        table.add_row(m.name, _four_digits(m.original), _four_digits(m.published), _mark(m.kept))
    for d in kind.distances:
        table.add_row(f"distance of the {d.name}", "", f"{100 * d.value:.2g} %", _mark(d.kept))
    return table


def _four_digits(value: float | None) -> str:
    """Format a figure with four significant digits; a dash if it is not defined.

    >>> _four_digits(162325.0), _four_digits(0.5930238), _four_digits(None)
    ('162,325', '0.593', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _mark(kept: bool) -> str:
    return "kept" if kept else "not kept"
