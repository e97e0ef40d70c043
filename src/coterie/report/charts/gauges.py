"""Values and their limits: how far each value is from its limit, and on which side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coterie.base.number_text import short
from coterie.report.charts.drawing import (
    WIDTH,
    Cell,
    Chart,
    ChartTable,
    clip,
    empty,
    frame,
    label,
    tag,
    with_tooltip,
)
from coterie.report.charts.scales import Scale


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
        return Chart(empty(description), table)
    step = 76.0
    parts = [_gauge(g, i * step) for i, g in enumerate(figures)]
    return Chart(frame(len(figures) * step, description, *parts, class_="gauges"), table)


def _gauge(gauge: Gauge, top: float) -> str:
    whole = 1.0 if gauge.limit is None and gauge.value <= 1 else 0.0  # a share of all
    top_value = max(gauge.value * 1.1 * (not whole), (gauge.limit or 0.0) * 1.6, whole, 1e-12)
    scale = Scale(0, top_value, 0, WIDTH - 2.0)
    tone = {None: "plain", True: "good", False: "bad"}[gauge.holds]
    sign = {None: "", True: "✓ ", False: "✗ "}[gauge.holds]
    value = sign + gauge.text(gauge.value)
    marks = [
        label(clip(gauge.name, WIDTH), 0, top + 15, "name"),
        label(value, 0, top + 32, f"name {tone}"),
        tag("rect", x=0, y=top + 39, width=WIDTH - 2, height=9, rx=4, class_="track"),
        tag(
            "rect",
            x=0,
            y=top + 39,
            width=max(3.0, scale(gauge.value)),
            height=9,
            rx=4,
            class_=f"fill {tone}",
        ),
    ]
    if gauge.limit is None:
        marks.append(label("no limit", 0, top + 63, "tick"))
    else:
        at = scale(gauge.limit)
        text = ("at least " if gauge.at_least else "at most ") + gauge.text(gauge.limit)
        anchor = "end" if at > WIDTH / 2 else "start"
        marks += [
            tag("line", x1=at, x2=at, y1=top + 35, y2=top + 53, class_="limit"),
            label(text, at + (3 if anchor == "start" else -3), top + 63, "tick", anchor),
        ]
    tip = f"{gauge.name}\n{gauge.text(gauge.value)}, {gauge.verdict}"
    return with_tooltip(tip + (f"\n{gauge.note}" if gauge.note else ""), *marks)
