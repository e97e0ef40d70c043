"""Groupings of the same things next to each other, and how many go from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from coterie.report.charts import drawing as svg
from coterie.report.charts.drawing import WIDTH, Cell, Chart, ChartTable

_BAR = 11.0  # width of the bar of a group
_GAP = 4.0  # between two groups of a column
_HEAD = 22.0  # above the bars, for the titles of the columns
_MOST_GROUPS = 14  # per column; the smallest others are one group
_LABELLED = 9.0  # height from which a group has its name next to it
_WIDEST = 112.0  # names of the first and last column
_COLOURS = 7


class Grouping(NamedTuple):
    """One column: a title, and the group of each thing; names are the groups as text."""

    title: str
    labels: Sequence[object] | np.ndarray
    word: str = ""  # in front of a name, such as "block"


class _Column(NamedTuple):
    title: str
    names: list[str]  # from top to bottom
    place: np.ndarray  # of each thing, in `names`
    top: np.ndarray  # of each bar
    sizes: np.ndarray


def alluvial(columns: Sequence[Grouping], *, description: str, height: float = 320.0) -> Chart:
    """Draw each grouping as a column of bars, and bands between columns by number of things.

    A column is ordered such that bands cross little. Beyond 14 groups, the smallest are joined.
    """
    names = [column.title for column in columns]
    if len(columns) < 2 or not len(columns[0].labels):
        return svg.empty(description, ChartTable([*names[:2], "number"], []))
    scale = (height - _HEAD - (_MOST_GROUPS - 1) * _GAP) / len(columns[0].labels)
    arranged: list[_Column] = []
    for column in columns:
        previous = arranged[-1] if arranged else None
        arranged.append(_arrange(column, previous, scale))
    left = min(_WIDEST, max(map(svg.text_width, arranged[0].names))) + 8
    right = WIDTH - min(_WIDEST, max(map(svg.text_width, arranged[-1].names))) - 8
    x = np.linspace(left, right - _BAR, len(columns))
    parts: list[str] = []
    rows: list[list[Cell]] = []
    for i in range(len(columns) - 1):
        bands = _bands(arranged[i], arranged[i + 1], (float(x[i]) + _BAR, float(x[i + 1])), scale)
        parts += [band for band, _ in bands]
        rows += [row for _, row in bands]
    for i, drawn in enumerate(arranged):
        side = "end" if i == 0 else "start" if i == len(columns) - 1 else "middle"
        parts += _bars(drawn, float(x[i]), side, scale)
    rows.sort(key=lambda row: -float(row[2] or 0))
    table = ChartTable([names[0], names[1], "number"], rows)
    if len(columns) > 2:
        table = ChartTable(["from", "to", "number"], rows)
    bottom = max(float((c.top + c.sizes * scale).max()) for c in arranged)
    return Chart(svg.frame(bottom + 6, description, *parts, class_="alluvial"), table)


def _arrange(column: Grouping, previous: _Column | None, scale: float) -> _Column:
    """Order the groups: the first column by size, others by where their things come from."""
    groups, place = np.unique(np.asarray(column.labels).astype(str), return_inverse=True)
    sizes = np.bincount(place, minlength=len(groups))
    word = f"{column.word} " if column.word else ""
    names = [f"{word}{group}" for group in groups.tolist()]
    if len(groups) > _MOST_GROUPS:
        kept = np.sort(np.argsort(-sizes, kind="stable")[: _MOST_GROUPS - 1])
        new = np.full(len(groups), len(kept))
        new[kept] = np.arange(len(kept))
        names = [*(names[k] for k in kept), f"{len(groups) - len(kept):,} others"]
        place = new[place]
        sizes = np.bincount(place, minlength=len(names))
    rank = -sizes.astype(np.float64)
    if previous is not None:
        middle = previous.top + previous.sizes * scale / 2
        rank = np.bincount(place, middle[previous.place], len(names)) / np.maximum(sizes, 1)
    order = np.argsort(rank, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    tall = sizes[order] * scale + _GAP
    top = _HEAD + np.concatenate([[0.0], np.cumsum(tall)[:-1]])
    return _Column(column.title, [names[k] for k in order], position[place], top, sizes[order])


def _bands(
    a: _Column, b: _Column, x: tuple[float, float], scale: float
) -> list[tuple[str, list[Cell]]]:
    """Return each band between two columns with its row of the table."""
    count = np.zeros((len(a.names), len(b.names)), np.int64)
    np.add.at(count, (a.place, b.place), 1)
    start = a.top[:, None] + scale * (np.cumsum(count, 1) - count)
    stop = b.top[None, :] + scale * (np.cumsum(count, 0) - count)
    bend = (x[0] + x[1]) / 2
    found = []
    for i, j in np.argwhere(count):
        thick = float(count[i, j]) * scale
        y, z = float(start[i, j]), float(stop[i, j])
        path = (
            f"M{x[0]:.1f} {y:.1f}C{bend:.1f} {y:.1f} {bend:.1f} {z:.1f} {x[1]:.1f} {z:.1f}"
            f"V{z + thick:.1f}C{bend:.1f} {z + thick:.1f} {bend:.1f} {y + thick:.1f} "
            f"{x[0]:.1f} {y + thick:.1f}Z"
        )
        tip = f"{a.names[i]} → {b.names[j]}\n{count[i, j]:,} of {a.sizes[i]:,}"
        band = svg.tag("path", d=path, class_=f"band s{i % _COLOURS}")
        row: list[Cell] = [a.names[i], b.names[j], int(count[i, j])]
        found.append((svg.with_tooltip(tip, band), row))
    return found


def _bars(column: _Column, x: float, side: str, scale: float) -> list[str]:
    """Draw the bars of a column, the names of those that are tall enough, and its title."""
    at = {"end": x - 5, "start": x + _BAR + 5, "middle": x + _BAR / 2}[side]
    edge = {"end": x + _BAR, "start": x, "middle": at}[side]
    anchor = {"end": "end", "start": "start", "middle": "middle"}[side]
    parts = [svg.label(column.title, edge, 12, "axis", anchor)]
    for i, name in enumerate(column.names):
        tall = float(column.sizes[i]) * scale
        bar = svg.rect(x, float(column.top[i]), _BAR, max(tall, 0.6), "base-bar")
        parts.append(svg.with_tooltip(f"{name}\n{column.sizes[i]:,}", bar))
        if tall >= _LABELLED:
            middle = float(column.top[i]) + tall / 2 + 4
            class_ = "tick" if side != "middle" else "inside"
            parts.append(svg.label(svg.clip(name, _WIDEST), at, middle, class_, anchor))
    return parts
