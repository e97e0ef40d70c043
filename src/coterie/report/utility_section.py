"""Report sections that compare the original with the release: curves and single measures."""

from __future__ import annotations

from typing import NamedTuple

from coterie.anonymize.output.public_summary import CurvePair, Profiles, PublicUtility
from coterie.anonymize.utility.measures import MEASURE_NAMES, SHARES
from coterie.anonymize.utility.rounding import degree_error, figure_error
from coterie.report.charts import Axis, ChartTable, Series, percent, xy
from coterie.report.charts.drawing import Cell, Chart
from coterie.report.page import Figure, Panel, Section


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
    "Figures of the original are rounded, because this page may be published. “Within rounding”: "
    "the difference is not larger than the rounding error."
)


def curves(profiles: Profiles | None) -> Section:
    """Draw each distribution of the original and of the release in one chart."""
    section = Section("How similar the two graphs are")
    if profiles is None:
        return section
    for name, chart in _CHARTS.items():
        drawn = _curves(getattr(profiles, name), chart)
        section.figures.append(Figure(chart.title, drawn, chart.caption))
    return section


def _curves(pair: CurvePair, chart: _ProfileChart) -> Chart:
    series = [
        Series(name, curve.x, curve.y, chart.kind, colour=colour)
        for colour, (name, curve) in enumerate(
            zip(("original", "release"), (pair.original, pair.published), strict=True)
        )
    ]
    description = f"{chart.title} of the original and of the release."
    return xy(series, chart.x, chart.y, description=description)


def measure_by_measure(utility: PublicUtility | None) -> Section:
    """List every measure of the original and of the release, and the change.

    The original's figures are rounded, so a change that rounding may explain is not shown.
    """
    rows: list[list[Cell]] = []
    if utility is not None:
        for key, name in MEASURE_NAMES.items():
            a, b = getattr(utility.original, key), getattr(utility.published, key)
            if a is None or b is None:
                continue
            shown = [percent(a), percent(b)] if key in SHARES else [a, b]
            error = degree_error(a) if key == "degree_max" else figure_error(a)
            rows.append([name, *shown, _change(a, b) if abs(b - a) > error else _unchanged(error)])
    table = ChartTable(["measure", "original (rounded)", "release", "change"], rows)
    panel = Panel("", table, _ROUNDED)
    return Section("Measure by measure", tables=[panel] if rows else [])


def _unchanged(error: float) -> str:
    return "within rounding" if error else "±0"


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
