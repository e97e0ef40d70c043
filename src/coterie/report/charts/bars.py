"""Horizontal bars for named things, and values with their limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie.base.number_text import short
from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable
from coterie.report.charts.scales import Scale

_LEFT = 150.0  # widest name that is written to the left of its bars
_LINE = 18.0  # height of a line of a name above its bars


def bars(
    names: Sequence[str],
    groups: Mapping[str, Sequence[float]],
    *,
    description: str,
    of: str = "",
    longest: float | None = None,
    names_above: bool = False,
) -> Chart:
    """Draw horizontal bars, one per name and group; bars of one name are together.

    `longest`: value of a bar over the whole width, for several charts with one scale.
    `names_above`: write names above their bars; long names are always above.
    """
    table = ChartTable(
        [of or "name", *groups],
        [[name, *(float(values[i]) for values in groups.values())] for i, name in enumerate(names)],
    )
    if not names or not groups:
        return svg.empty(description, table)
    classes = [f"s{g}" for g in range(len(groups))]
    key, top = svg.legend(list(groups), classes, WIDTH) if len(groups) > 1 else ("", 0.0)
    widest = max(svg.text_width(name) for name in names)
    above = names_above or widest > _LEFT
    left = 0.0 if above else widest + 8
    shown = [short(float(v)) for values in groups.values() for v in values]
    right = max(svg.text_width(text) for text in shown) + 8
    finite = [float(v) for values in groups.values() for v in values if np.isfinite(v)]
    largest = max([longest or 0.0, *finite])
    scale = Scale(0, largest if largest > 0 else 1.0, left, WIDTH - right)
    thick = 15.0 if len(groups) == 1 else 14.0
    gap = 8 if len(groups) == 1 else 12
    parts = [key]
    y = top + 4
    for i, name in enumerate(names):
        if above:
            for words in svg.wrap(name, WIDTH):
                y += _LINE
                parts.append(svg.label(words, 0, y - 5, "tick"))
        else:
            middle = y + thick * len(groups) / 2 + 3.5
            parts.append(svg.label(name, left - 6, middle, "tick", "end"))
        for g, (group, values) in enumerate(groups.items()):
            if np.isfinite(values[i]):
                parts.append(_bar(name, group, float(values[i]), scale, y + g * thick, thick, g))
        y += thick * len(groups) + gap
    return Chart(svg.frame(y + 2, description, *parts, class_="bars"), table)


def _bar(
    name: str, group: str, value: float, scale: Scale, y: float, thick: float, place: int
) -> str:
    end = scale(value)
    return svg.with_tooltip(
        f"{name}\n{group}: {short(value, 4)}",
        svg.rect(scale.start, y, WIDTH - scale.start, thick, "spot"),
        svg.rect(scale.start, y, max(0.8, end - scale.start), thick - 2, f"bar s{place}", 2),
        svg.label(short(value), end + 5, y + thick - 4, "value"),
    )


class Gauge(NamedTuple):
    """A value that may be at most (or at least) a limit; without a limit it is only shown."""

    name: str
    value: float
    limit: float | None = None
    at_least: bool = False
    percent: bool = False
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the value is within its limit; None without a limit."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def text(self, value: float) -> str:
        """Write a value in the unit of this gauge."""
        return f"{short(100 * value)} %" if self.percent else short(value)

    @property
    def verdict(self) -> str:
        """The comparison with the limit in words."""
        return {None: "no limit", True: "within the limit", False: "limit exceeded"}[self.holds]


def gauges(figures: Sequence[Gauge], *, description: str) -> Chart:
    """Draw one bar per value with a mark at its limit; words repeat what colours show."""
    rows: list[list[Cell]] = [
        [
            g.name,
            g.text(g.value),
            "–" if g.limit is None else ("≥ " if g.at_least else "≤ ") + g.text(g.limit),
            g.verdict,
        ]
        for g in figures
    ]
    table = ChartTable(["measure", "value", "limit", "result"], rows)
    if not figures:
        return svg.empty(description, table)
    step = 76.0
    parts = [_gauge(g, i * step) for i, g in enumerate(figures)]
    return Chart(svg.frame(len(figures) * step, description, *parts, class_="gauges"), table)


def _gauge(gauge: Gauge, top: float) -> str:
    whole = 1.0 if gauge.limit is None and gauge.value <= 1 else 0.0  # a share of all
    top_value = max(gauge.value * 1.1 * (not whole), (gauge.limit or 0.0) * 1.6, whole, 1e-12)
    scale = Scale(0, top_value, 0, WIDTH - 2.0)
    tone = {None: "plain", True: "good", False: "bad"}[gauge.holds]
    sign = {None: "", True: "✓ ", False: "✗ "}[gauge.holds]
    value = sign + gauge.text(gauge.value)
    marks = [
        svg.label(svg.clip(gauge.name, WIDTH), 0, top + 15, "name"),
        svg.label(value, 0, top + 32, f"name {tone}"),
        svg.rect(0, top + 39, WIDTH - 2, 9, "track", 4),
        svg.rect(0, top + 39, max(3.0, scale(gauge.value)), 9, f"fill {tone}", 4),
    ]
    if gauge.limit is None:
        marks.append(svg.label("no limit", 0, top + 63, "tick"))
    else:
        at = scale(gauge.limit)
        text = ("at least " if gauge.at_least else "at most ") + gauge.text(gauge.limit)
        anchor = "end" if at > WIDTH / 2 else "start"
        marks += [
            svg.line(at, at, top + 35, top + 53, "limit"),
            svg.label(text, at + (3 if anchor == "start" else -3), top + 63, "tick", anchor),
        ]
    tip = f"{gauge.name}\n{gauge.text(gauge.value)}, {gauge.verdict}"
    return svg.with_tooltip(tip + (f"\n{gauge.note}" if gauge.note else ""), *marks)
