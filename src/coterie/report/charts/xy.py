"""Charts over two axes: lines and points with error bars and reference lines, and histograms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from coterie.base.number_text import short
from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable
from coterie.report.charts.scales import Scale, extent, thin

_MOST_POINTS = 80
_CLASSES = 7
_END = WIDTH - 14.0  # right end of the axes
_LEAST_RANGE = 1e-7  # relative; a smaller range is drawn as a flat line, as its ticks look equal


class Axis(NamedTuple):
    """Title, scale and, where they do not follow from the data, bounds of an axis."""

    title: str
    log: bool = False
    lo: float | None = None
    hi: float | None = None


class Series(NamedTuple):
    """One line, or points, or both; `error` is half the length of the error bars."""

    name: str
    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    kind: str = "line"  # line, points, both
    error: Sequence[float] | np.ndarray | None = None
    dashed: bool = False
    colour: int | None = None


class Reference(NamedTuple):
    """A horizontal line at a value for comparison."""

    name: str
    value: float


class _Drawn(NamedTuple):
    name: str
    class_: str
    x: np.ndarray
    y: np.ndarray
    error: np.ndarray | None
    kind: str


def xy(
    series: Sequence[Series],
    x: Axis,
    y: Axis,
    *,
    description: str,
    references: Sequence[Reference] = (),
    height: float = 270,
    diagonal: bool = False,
) -> Chart:
    """Draw series over common axes; values that a log axis cannot show are left out."""
    drawn = [
        _prepare(s, i if s.colour is None else s.colour, x.log, y.log) for i, s in enumerate(series)
    ]
    table = _table(drawn, x, y)
    across = extent([d.x for d in drawn], log=x.log)
    lows = [d.y if d.error is None else d.y - d.error for d in drawn]
    highs = [d.y if d.error is None else d.y + d.error for d in drawn]
    marks = np.array([r.value for r in references])
    up = extent([*lows, *highs, marks], log=y.log)
    if across is None or up is None:
        return svg.empty(description, table)
    names = [d.name for d in drawn] + [r.name for r in references]
    classes = [d.class_ for d in drawn] + [f"ref r{i % 3}" for i in range(len(references))]
    dots = [d.kind == "points" for d in drawn] + [False] * len(references)
    key, top = svg.legend(names, classes, WIDTH, dots=dots) if len(names) > 1 else ("", 0.0)
    y_scale = Scale(*_with_margin(up, y), height - 40, top + 26, log=y.log)
    grid, left = _y_axis(y_scale, y.title, top, 5)
    x_scale = Scale(*_bounds(across, x), left, WIDTH - 14, log=x.log)
    content = [
        key,
        *grid,
        *_x_axis(x_scale, y_scale.start, x.title, height, _x_ticks(x_scale, drawn)),
        _diagonal(x_scale, y_scale) if diagonal else "",
        *(_reference(r, i, y_scale, left) for i, r in enumerate(references)),
        *(_series(d, x_scale, y_scale) for d in drawn),
        *_tooltips(drawn, x, x_scale, y_scale),
    ]
    return Chart(svg.frame(height, description, *content, class_="xy"), table)


def _prepare(series: Series, colour: int, x_log: bool, y_log: bool) -> _Drawn:
    x, y = np.asarray(series.x, np.float64), np.asarray(series.y, np.float64)
    keep = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not x_log)) & ((y > 0) | (not y_log))
    chosen = np.flatnonzero(keep)
    if series.kind != "points":
        chosen = chosen[thin(len(chosen), _MOST_POINTS, log=x_log)]
    error = None if series.error is None else np.asarray(series.error, np.float64)[chosen]
    class_ = f"s{colour % _CLASSES}" + " dashed" * series.dashed
    return _Drawn(series.name, class_, x[chosen], y[chosen], error, series.kind)


def _bounds(found: tuple[float, float], axis: Axis) -> tuple[float, float]:
    return (
        found[0] if axis.lo is None else axis.lo,
        found[1] if axis.hi is None else axis.hi,
    )


def _with_margin(found: tuple[float, float], axis: Axis) -> tuple[float, float]:
    """Add a margin above and below the data without crossing 0."""
    lo, hi = found
    if axis.log:
        lo, hi = lo / 1.15, hi * 1.15
    else:
        visible = hi - lo > _LEAST_RANGE * max(abs(lo), abs(hi))
        air = 0.06 * ((hi - lo) if visible else abs(hi)) or 0.5
        lo, hi = (lo - air if lo < 0 or lo - air >= 0 else 0.0), hi + air
    return _bounds((lo, hi), axis)


def _y_axis(scale: Scale, title: str, top: float, count: int) -> tuple[list[str], float]:
    """Draw the title, the ticks and the grid; return them and the left end of the x axis."""
    ticks = scale.ticks(count)
    left = max((svg.text_width(text) for _, text in ticks), default=20) + 10
    parts = [svg.label(title, 0, top + 13, "axis")]
    for value, text in ticks:
        at = scale(value)
        parts.append(svg.line(left, _END, at, at, "grid"))
        parts.append(svg.label(text, left - 6, at + 4, "tick", "end"))
    return parts, left


def _x_axis(
    scale: Scale,
    base: float,
    title: str,
    height: float,
    ticks: list[tuple[float, str]],
    *,
    marked: bool = True,
) -> list[str]:
    """Draw the line at `base`, its ticks where their texts do not overlap, and the title."""
    parts = [svg.line(scale.start, _END, base, base, "base")]
    taken = -100.0
    for value, text in ticks:
        at = scale(value)
        half = svg.text_width(text) / 2
        at_text = min(at, WIDTH - half)
        if at_text - half < taken:
            continue
        taken = at_text + half + 4
        if marked:
            parts.append(svg.line(at, at, base, base + 4, "base"))
        parts.append(svg.label(text, at_text, base + 18, "tick", "middle"))
    return [*parts, svg.label(title, WIDTH - 14, height - 5, "axis", "end")]


def _x_ticks(x_scale: Scale, drawn: Sequence[_Drawn]) -> list[tuple[float, str]]:
    """Return the ticks of the x axis; whole numbers if all data are whole."""
    whole = all((d.x == np.round(d.x)).all() for d in drawn)
    if whole and not x_scale.log and x_scale.hi - x_scale.lo < 6:
        return [(v, f"{v:,}") for v in range(math.ceil(x_scale.lo), math.floor(x_scale.hi) + 1)]
    return x_scale.ticks(6)


def _diagonal(x_scale: Scale, y_scale: Scale) -> str:
    lo, hi = max(x_scale.lo, y_scale.lo), min(x_scale.hi, y_scale.hi)
    return svg.line(x_scale(lo), x_scale(hi), y_scale(lo), y_scale(hi), "ref r0")


def _reference(reference: Reference, place: int, y_scale: Scale, left: float) -> str:
    at = y_scale(reference.value)
    lines = [svg.line(left, _END, at, at, class_) for class_ in (f"ref r{place % 3}", "wide")]
    return svg.with_tooltip(f"{reference.name}: {short(reference.value, 4)}", *lines)


def _series(drawn: _Drawn, x_scale: Scale, y_scale: Scale) -> str:
    places = [(x_scale(a), y_scale(b)) for a, b in zip(drawn.x, drawn.y, strict=True)]
    parts = []
    if drawn.error is not None:
        for a, b, e in zip(drawn.x, drawn.y, drawn.error, strict=True):
            low = b - e if b - e > 0 or not y_scale.log else y_scale.lo
            parts.append(svg.line(x_scale(a), x_scale(a), y_scale(low), y_scale(b + e)))
        parts = [svg.tag("g", *parts, class_=f"error {drawn.class_}")]
    if drawn.kind != "points" and len(places) > 1:
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
        parts.append(svg.tag("path", d=path, class_=f"line {drawn.class_}"))
    if drawn.kind != "line" or len(places) == 1:
        dots = [svg.circle(a, b, 3.2) for a, b in places]
        parts.append(svg.tag("g", *dots, class_=f"dot {drawn.class_}"))
    return "".join(parts)


def _tooltips(drawn: Sequence[_Drawn], x: Axis, x_scale: Scale, y_scale: Scale) -> list[str]:
    """Add tooltips: one strip per x if all series share their x, else one spot per point."""
    first = drawn[0].x
    shared = all(len(d.x) == len(first) and np.array_equal(d.x, first) for d in drawn)
    if shared and len(np.unique(first)) == len(first):
        return _strips(drawn, x, x_scale, y_scale)
    return [
        svg.with_tooltip(
            f"{_value(d, i)} at {x.title} {short(a, 4)}",
            svg.circle(x_scale(a), y_scale(b), 7.0, "spot"),
            svg.circle(x_scale(a), y_scale(b), 4.0, f"cursor {d.class_}"),
        )
        for d in drawn
        for i, (a, b) in enumerate(zip(d.x, d.y, strict=True))
    ]


def _value(drawn: _Drawn, i: int) -> str:
    """Write the i-th value of a series for a tooltip."""
    spread = "" if drawn.error is None else f" ± {short(float(drawn.error[i]))}"
    return f"{drawn.name}: {short(float(drawn.y[i]), 4)}{spread}"


def _strips(drawn: Sequence[_Drawn], x: Axis, x_scale: Scale, y_scale: Scale) -> list[str]:
    order = np.argsort(drawn[0].x)
    at = [x_scale(float(v)) for v in drawn[0].x[order]]
    middle = [(a + b) / 2 for a, b in pairwise(at)]
    edges = [min(x_scale.start, at[0]), *middle, max(x_scale.end, at[-1])]
    top, base = y_scale.end, y_scale.start
    return [
        svg.with_tooltip(
            "\n".join(
                [f"{x.title} {short(float(drawn[0].x[i]), 4)}", *(_value(d, i) for d in drawn)]
            ),
            svg.rect(
                edges[place], top, max(0.5, edges[place + 1] - edges[place]), base - top, "spot"
            ),
            svg.line(at[place], at[place], top, base, "cursor rule"),
            *(
                svg.circle(at[place], y_scale(float(d.y[i])), 4.0, f"cursor {d.class_}")
                for d in drawn
            ),
        )
        for place, i in enumerate(order)
    ]


def _table(drawn: Sequence[_Drawn], x: Axis, y: Axis) -> ChartTable:
    spread = any(d.error is not None for d in drawn)
    several = len(drawn) > 1
    columns = ["series"] * several + [x.title, y.title] + ["±"] * spread
    rows: list[list[Cell]] = []
    for d in drawn:
        for i, (a, b) in enumerate(zip(d.x.tolist(), d.y.tolist(), strict=True)):
            row: list[Cell] = [d.name] if several else []
            row += [a, b]
            if spread:
                row.append(None if d.error is None else float(d.error[i]))
            rows.append(row)
    return ChartTable(columns, rows)


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
        return svg.empty(description, table)
    y_scale = Scale(0, float(counts.max()) * 1.05, height - 40, 26)
    parts, left = _y_axis(y_scale, y_title, 0, 4)
    x_scale = Scale(float(edges[0]), float(edges[-1]), left, WIDTH - 14)
    base = y_scale.start
    for i, count in enumerate(counts):
        x = x_scale(float(edges[i]))
        wide = x_scale(float(edges[i + 1])) - x
        gap = 1.0 if wide > 4 else 0.0
        at = y_scale(float(count))
        parts.append(
            svg.with_tooltip(
                f"{x_title} {rows[i][0]}\n{y_title}: {short(float(count), 5)}",
                svg.rect(x, 26.0, wide, base - 26, "spot"),
                svg.rect(x, at, max(0.6, wide - gap), base - at, "bar s0"),
            )
        )
    parts += _x_axis(x_scale, base, x_title, height, x_scale.ticks(6), marked=False)
    return Chart(svg.frame(height, description, *parts, class_="histogram"), table)
