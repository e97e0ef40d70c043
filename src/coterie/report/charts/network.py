"""The graph of blocks: circles by size, lines by how densely two blocks are connected."""

from __future__ import annotations

from collections.abc import Sequence

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
    tag,
    with_tooltip,
)

HEIGHT = 400.0
_LINES_PER_BLOCK = 3
_SMALLEST, _LARGEST = 9.5, 50.0  # radii; two digits are readable in the smallest
_APART = 6.0  # distance between two circles
_SEPARATION_STEPS = 150


def block_graph(
    names: Sequence[str],
    sizes: np.ndarray,
    density: np.ndarray,
    *,
    description: str,
    measure: str = "density",
) -> Chart:
    """Draw blocks (sizes in nodes) and the strongest connections of each."""
    sizes, density = np.asarray(sizes, np.float64), np.asarray(density, np.float64)
    if not len(sizes):
        return Chart(empty(description), ChartTable(["block", "block", measure], []))
    first, second = _strongest(density)
    weight = density[first, second]
    strength = _ranks(weight)
    radius = _radii(sizes)
    place = layout(len(sizes), first, second, weight, radius)
    lines = [
        with_tooltip(
            f"{names[a]} – {names[b]}\n{measure}: {short(float(w))}",
            _line(place[a], place[b], f"tie t{int(level)}"),
            _line(place[a], place[b], "wide"),
        )
        for a, b, w, level in zip(first, second, weight, strength, strict=True)
    ]
    inner = _ranks(np.diag(density))
    circles = [
        with_tooltip(
            f"{names[i]}\n{short(sizes[i], 6)} nodes\n{measure} inside: {short(density[i, i])}",
            tag("circle", cx=place[i, 0], cy=place[i, 1], r=radius[i], class_="under"),
            tag("circle", cx=place[i, 0], cy=place[i, 1], r=radius[i], class_=f"block b{inner[i]}"),
            label(
                names[i].removeprefix("block "), place[i, 0], place[i, 1] + 4, "inside", "middle"
            ),
        )
        for i in np.argsort(-sizes)
    ]
    rows: list[list[Cell]] = [
        [names[a], names[b], float(w)] for a, b, w in zip(first, second, weight, strict=True)
    ]
    rows.sort(key=lambda row: -float(row[2] or 0))
    height = float((place[:, 1] + radius).max()) + 3 if len(sizes) > 1 else HEIGHT
    svg = frame(height, description, *lines, *circles, class_="network")
    return Chart(svg, ChartTable(["block", "block", measure], rows))


def _strongest(density: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs (a < b) that are among the strongest of either block."""
    off = density.copy()
    np.fill_diagonal(off, 0)
    best = np.argsort(-off, axis=1)[:, :_LINES_PER_BLOCK]
    a = np.repeat(np.arange(len(off)), best.shape[1])
    b = best.ravel()
    joined = off[a, b] > 0
    pairs = np.unique(np.sort(np.column_stack([a, b])[joined], axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _radii(sizes: np.ndarray) -> np.ndarray:
    """Compute radii: areas proportional to nodes, together a seventh of the picture."""
    share = np.sqrt(sizes / max(sizes.sum(), 1))
    return np.asarray(np.clip(share * np.sqrt(WIDTH * HEIGHT / 7 / np.pi), _SMALLEST, _LARGEST))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return 1..5 by rank, so that one very dense pair does not make all others pale."""
    if len(values) < 2:
        return np.full(len(values), 3)
    order = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return 1 + np.floor(order * 5 / len(values)).astype(int)


def _line(a: np.ndarray, b: np.ndarray, class_: str) -> str:
    return tag(
        "line", x1=float(a[0]), y1=float(a[1]), x2=float(b[0]), y2=float(b[1]), class_=class_
    )


def layout(
    count: int, first: np.ndarray, second: np.ndarray, weight: np.ndarray, radius: np.ndarray
) -> np.ndarray:
    """Compute positions (count × 2) by springs along lines and repulsion between circles.

    The start is a circle in the order of the numbers, so that the result is deterministic.
    """
    angle = 2 * np.pi * np.arange(count) / count
    place = np.column_stack([np.cos(angle), np.sin(angle)]) * 150
    pull = np.zeros((count, count))
    pull[first, second] = pull[second, first] = 0.4 + 0.6 * _ranks(weight) / 5
    wanted = 90 + radius[:, None] + radius[None, :]
    gap = radius[:, None] + radius[None, :] + 6
    for step in range(300):
        between = place[:, None, :] - place[None, :, :]
        far = np.sqrt((between**2).sum(2)) + 1e-6
        push = wanted**2 / far**2 * 0.9 - pull * far / wanted * 3
        push += np.where(far < gap, (gap - far) * 1.5, 0)
        np.fill_diagonal(push, 0)
        force = (between / far[:, :, None] * push[:, :, None]).sum(1) - 0.03 * place
        most = np.linalg.norm(force, axis=1, keepdims=True) + 1e-9
        place += force / most * np.minimum(most, 12 * (1 - step / 300) + 0.5)
    return _fit(place, radius)


def _fit(place: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Stretch the positions to fill the picture, then separate circles that overlap."""
    box = np.array([WIDTH, HEIGHT])
    margin = np.column_stack([radius, radius]) + 3
    if len(place) == 1:
        return np.asarray(box[None, :] / 2)
    least, most = place.argmin(0), place.argmax(0)
    low, high = place.min(0), place.max(0)
    first = radius[least] + 3
    room = box - radius[most] - 3 - first
    place = np.clip(first + (place - low) / (high - low + 1e-9) * room, margin, box - margin)
    for _ in range(_SEPARATION_STEPS):
        between = place[:, None, :] - place[None, :, :]
        far = np.sqrt((between**2).sum(2)) + 1e-6
        short_by = radius[:, None] + radius[None, :] + _APART - far
        np.fill_diagonal(short_by, 0)
        if (short_by <= 0).all():
            break
        move = np.maximum(short_by, 0)[:, :, None] * between / far[:, :, None] * 0.5
        place = np.clip(place + move.sum(1), margin, box - margin)
    return place
