"""Horizontal bars for named things, and histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from coterie.base.number_text import short
from coterie.report.charts.drawing import (
    WIDTH,
    Cell,
    Chart,
    ChartTable,
    empty,
    frame,
    label,
    legend,
    tag,
    text_width,
    with_tooltip,
    wrap,
)
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
        return Chart(empty(description), table)
    classes = [f"s{g}" for g in range(len(groups))]
    key, top = legend(list(groups), classes, WIDTH) if len(groups) > 1 else ("", 0.0)
    widest = max(text_width(name) for name in names)
    above = names_above or widest > _LEFT
    left = 0.0 if above else widest + 8
    shown = [short(float(v)) for values in groups.values() for v in values]
    right = max(text_width(text) for text in shown) + 8
    finite = [float(v) for values in groups.values() for v in values if np.isfinite(v)]
    largest = max([longest or 0.0, *finite])
    scale = Scale(0, largest if largest > 0 else 1.0, left, WIDTH - right)
    thick = 15.0 if len(groups) == 1 else 14.0
    gap = 8 if len(groups) == 1 else 12
    parts = [key]
    y = top + 4
    for i, name in enumerate(names):
        if above:
            for line in wrap(name, WIDTH):
                y += _LINE
                parts.append(label(line, 0, y - 5, "tick"))
        else:
            middle = y + thick * len(groups) / 2 + 3.5
            parts.append(label(name, left - 6, middle, "tick", "end"))
        for g, (group, values) in enumerate(groups.items()):
            if np.isfinite(values[i]):
                parts.append(_bar(name, group, float(values[i]), scale, y + g * thick, thick, g))
        y += thick * len(groups) + gap
    return Chart(frame(y + 2, description, *parts, class_="bars"), table)


def _bar(
    name: str, group: str, value: float, scale: Scale, y: float, thick: float, place: int
) -> str:
    end = scale(value)
    return with_tooltip(
        f"{name}\n{group}: {short(value, 4)}",
        tag("rect", x=scale.start, y=y, width=WIDTH - scale.start, height=thick, class_="spot"),
        tag(
            "rect",
            x=scale.start,
            y=y,
            width=max(0.8, end - scale.start),
            height=thick - 2,
            rx=2,
            class_=f"bar s{place}",
        ),
        label(short(value), end + 5, y + thick - 4, "value"),
    )


def histogram(
    edges: Sequence[float] | np.ndarray,
    counts: Sequence[float] | np.ndarray,
    *,
    x_title: str,
    y_title: str,
    description: str,
    height: float = 250,
) -> Chart:
    """Draw vertical bars from 0 between `edges` (one more than counts)."""
    edges, counts = np.asarray(edges, np.float64), np.asarray(counts, np.float64)
    rows: list[list[Cell]] = [
        [f"{short(a)} to {short(b)}", float(c)]
        for a, b, c in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    table = ChartTable([x_title, y_title], rows)
    if not len(counts) or counts.max() <= 0:
        return Chart(empty(description), table)
    y_scale = Scale(0, float(counts.max()) * 1.05, height - 40, 26)
    ticks = y_scale.ticks(4)
    left = max(text_width(text) for _, text in ticks) + 10
    x_scale = Scale(float(edges[0]), float(edges[-1]), left, WIDTH - 14)
    parts = [label(y_title, 0, 13, "axis")]
    for value, text in ticks:
        at = y_scale(value)
        parts.append(tag("line", x1=left, x2=WIDTH - 14.0, y1=at, y2=at, class_="grid"))
        parts.append(label(text, left - 6, at + 4, "tick", "end"))
    for i, (a, b, count) in enumerate(zip(edges[:-1], edges[1:], counts, strict=True)):
        x, wide = x_scale(float(a)), x_scale(float(b)) - x_scale(float(a))
        gap = 1.0 if wide > 4 else 0.0
        at = y_scale(float(count))
        parts.append(
            with_tooltip(
                f"{x_title} {rows[i][0]}\n{y_title}: {short(float(count), 5)}",
                tag("rect", x=x, y=26.0, width=wide, height=y_scale.start - 26, class_="spot"),
                tag(
                    "rect",
                    x=x,
                    y=at,
                    width=max(0.6, wide - gap),
                    height=y_scale.start - at,
                    class_="bar s0",
                ),
            )
        )
    base = y_scale.start
    parts.append(tag("line", x1=left, x2=WIDTH - 14.0, y1=base, y2=base, class_="base"))
    for value, text in x_scale.ticks(6):
        at = min(x_scale(value), WIDTH - text_width(text) / 2)
        parts.append(label(text, at, base + 18, "tick", "middle"))
    parts.append(label(x_title, WIDTH - 14, height - 5, "axis", "end"))
    return Chart(frame(height, description, *parts, class_="histogram"), table)
