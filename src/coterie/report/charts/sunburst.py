"""A hierarchy as rings: the largest blocks inside, the smallest outside."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable

_HOLE = 26.0  # radius of the empty centre
_SMALLEST = 0.004  # arcs below this share of the circle are not drawn one by one
_LABELLED = 0.05  # arcs from this share on show their number
_MOST_ROWS = 200


def sunburst(levels: Sequence[np.ndarray], *, description: str) -> Chart:
    """Draw labels of nodes per level, from the smallest blocks to the largest; a block of one level
    must lie inside one block of the next. The angle of a block is its share of the nodes."""
    columns = ["level", "block", "nodes", "part of block"]
    if not levels or not len(levels[0]):
        return svg.empty(description, ChartTable(columns, []))
    n, depth = len(levels[0]), len(levels)
    order = np.lexsort(tuple(levels))  # sorted by the largest blocks first
    size = WIDTH
    width = (size / 2 - 8 - _HOLE) / depth
    parts: list[str] = []
    rows: list[list[Cell]] = []
    top = levels[-1][order]
    hues = {int(b): i for i, b in enumerate(dict.fromkeys(top.tolist()))}
    for level in range(depth - 1, -1, -1):
        inner = _HOLE + (depth - 1 - level) * width
        shown = levels[level][order]
        starts = np.flatnonzero(np.concatenate([[True], shown[1:] != shown[:-1]]))
        stops = np.append(starts[1:], n)
        for i, (a, b) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            block, parent = int(shown[a]), None
            if level + 1 < depth:
                parent = int(levels[level + 1][order[a]])
            rows.append([level, block, b - a, parent])
            if b - a < _SMALLEST * n:
                continue
            hue = 360.0 * hues[int(top[a])] / max(len(hues), 1)
            light = 62 + 6 * (i % 3)
            path = svg.tag(
                "path",
                d=_arc(size / 2, inner, inner + width - 1.5, a / n, b / n),
                style=f"fill:hsl({hue:.0f} 55% {light}%);stroke:none",
            )
            inside = [] if parent is None else [f"part of block {parent} of level {level + 1}"]
            tip = "\n".join([f"level {level}, block {block}", f"{b - a:,} nodes", *inside])
            middle = 2 * math.pi * (a + b) / (2 * n) - math.pi / 2
            r = inner + width / 2
            text = (
                [
                    svg.label(
                        str(block),
                        size / 2 + r * math.cos(middle),
                        size / 2 + r * math.sin(middle) + 4,
                        "inside",
                        "middle",
                    )
                ]
                if b - a >= _LABELLED * n and width > 16
                else []
            )
            parts.append(svg.with_tooltip(tip, path, *text))
    rows.sort(key=lambda row: (-int(row[0] or 0), -int(row[2] or 0)))
    return Chart(
        svg.frame(size, description, *parts, class_="sunburst"),
        ChartTable(columns, rows[:_MOST_ROWS]),
    )


def _arc(center: float, inner: float, outer: float, start: float, stop: float) -> str:
    """Return the path of a piece of a ring between two shares of the circle."""
    stop = min(stop, start + 0.9999)
    a, b = (2 * math.pi * share - math.pi / 2 for share in (start, stop))
    far = int(stop - start > 0.5)

    def point(radius: float, angle: float) -> str:
        return f"{center + radius * math.cos(angle):.1f} {center + radius * math.sin(angle):.1f}"

    return (
        f"M{point(outer, a)}A{outer:.1f} {outer:.1f} 0 {far} 1 {point(outer, b)}"
        f"L{point(inner, b)}A{inner:.1f} {inner:.1f} 0 {far} 0 {point(inner, a)}Z"
    )
