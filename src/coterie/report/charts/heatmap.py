"""A matrix as coloured cells, with a colour key."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from coterie.base.number_text import short
from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable
from coterie.report.charts.scales import extent

_LEVELS = 9
_STRONG = 6  # from this level on, numbers are light on a dark cell
_READABLE = 12  # maximum number of columns with names above them
_MATRIX_COLUMNS = 5


def heatmap(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    value: str,
    description: str,
    log: bool = False,
    tip: Callable[[int, int], str] | None = None,
    row_title: str = "",
    column_title: str = "",
    table: ChartTable | None = None,
) -> Chart:
    """Draw cells in nine strengths of one colour, or of two if values have both signs.

    NaN, and 0 with `log`, stay empty. Without `columns`, they have the names of the rows.
    """
    columns = rows if columns is None else columns
    values = np.asarray(values, np.float64)
    table = table or _matrix(values, rows, columns, row_title, column_title, value)
    span = extent([values], log=log)
    if span is None:
        return svg.empty(description, table)
    named = any(rows)
    left = min(130.0, max(svg.text_width(r) for r in rows) + 8) if named else 14.0
    above = (16.0 if column_title else 0.0) + (18.0 if len(columns) <= _READABLE else 6.0)
    size = (WIDTH - left - 2) / len(columns)
    tall = min(size, 34.0) if len(columns) <= _READABLE else size
    diverging = not log and span[0] < 0 < span[1]
    if diverging:
        span = (-max(-span[0], span[1]), max(-span[0], span[1]))
    levels = (
        _levels(np.abs(values), (0.0, span[1]), log) if diverging else _levels(values, span, log)
    )
    numbers = _numbers(values, size, log)
    parts = [svg.label(column_title, WIDTH, 12, "axis", "end")] if column_title else []
    if len(columns) <= _READABLE:
        parts += [
            svg.label(svg.clip(c, size), left + (j + 0.5) * size, above - 5, "tick", "middle")
            for j, c in enumerate(columns)
        ]
    every = max(1, math.ceil(13 / tall))
    for i, name in enumerate(rows):
        if named and i % every == 0:
            parts.append(
                svg.label(
                    svg.clip(name, left - 8), left - 5, above + (i + 0.5) * tall + 4, "tick", "end"
                )
            )
        for j, level in enumerate(levels[i]):
            if level:
                text = tip(i, j) if tip else f"{name} × {columns[j]}\n{value}: "
                text = text if tip else text + short(float(values[i, j]), 4)
                side = "minus " if values[i, j] < 0 else ""
                place = (left + j * size, above + i * tall, size, tall)
                parts.append(_cell(text, numbers[i][j], level, side, *place))
    bottom = above + len(rows) * tall
    outline = svg.rect(left, above, size * len(columns), tall * len(rows), "outline")
    parts += [outline, _key(span, value, log, left, bottom + 12)]
    return Chart(svg.frame(bottom + 52, description, *parts, class_="heat"), table)


def _levels(values: np.ndarray, span: tuple[float, float], log: bool) -> np.ndarray:
    """Return 0 for an empty cell, else 1..9."""
    lo, hi = span
    shown = np.isfinite(values) & ((values > 0) | (not log))
    safe = np.where(shown, values, lo)
    at = np.log(safe) if log else safe
    low, high = (math.log(lo), math.log(hi)) if log else (lo, hi)
    share = (at - low) / (high - low) if high > low else np.full(values.shape, 0.5)
    level = 1 + np.minimum(_LEVELS - 1, np.floor(share * _LEVELS).astype(int))
    return np.where(shown, level, 0)


def _numbers(values: np.ndarray, wide: float, log: bool) -> list[list[str]]:
    """Return the number in each cell with as many digits as fit; nothing if none fit."""
    shown = values[np.isfinite(values) & ((values > 0) | (not log))]
    largest = max(np.abs(shown).max(), 1e-9) if shown.any() else 1.0
    for digits in (3, 2):
        places = max(0, digits - 1 - math.floor(math.log10(largest)))
        write = partial(short, digits=digits) if log else f"{{:.{places}f}}".format
        if all(svg.text_width(write(float(v))) < wide for v in shown):
            return [[write(float(v)) for v in row] for row in values]
    return [[""] * values.shape[1]] * len(values)


def _cell(
    tip: str, text: str, level: int, side: str, x: float, y: float, wide: float, tall: float
) -> str:
    class_ = f"cell {side}q{level}"
    marks = [svg.rect(x, y, float(wide), float(tall), class_)]
    if text:
        strong = "value on" if level >= _STRONG else "value"
        marks.append(svg.label(text, x + wide / 2, y + tall / 2 + 4, strong, "middle"))
    return svg.with_tooltip(tip, *marks)


def _key(span: tuple[float, float], value: str, log: bool, left: float, y: float) -> str:
    wide = 20.0
    diverging = not log and span[0] < 0
    classes = (
        [f"minus q{q}" for q in (9, 7, 5, 3)] + [f"q{q}" for q in (1, 3, 5, 7, 9)]
        if diverging
        else [f"q{q}" for q in range(1, _LEVELS + 1)]
    )
    swatches = [
        svg.rect(left + i * wide, y, wide, 9, f"cell {class_}") for i, class_ in enumerate(classes)
    ]
    end = left + len(classes) * wide
    return "".join(swatches) + "".join(
        [
            svg.label(short(span[0]), left, y + 24, "tick"),
            svg.label(short(span[1]), end, y + 24, "tick", "end"),
            svg.label(value + (", logarithmic" if log else ""), end + 8, y + 9, "tick"),
        ]
    )


def _matrix(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    value: str,
) -> ChartTable:
    """Return the matrix if it fits on a phone, else one row per cell."""
    numbers = [[float(v) if np.isfinite(v) else None for v in row] for row in values]
    body: list[list[Cell]]
    if len(columns) <= _MATRIX_COLUMNS:
        body = [[name, *numbers[i]] for i, name in enumerate(rows)]
        return ChartTable([row_title, *columns], body)
    body = [
        [name, column, numbers[i][j]]
        for i, name in enumerate(rows)
        for j, column in enumerate(columns)
    ]
    return ChartTable([row_title or "row", column_title or "column", value], body)
