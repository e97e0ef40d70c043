"""The frontier of settings: what is kept, against how easily somebody could be found."""

from __future__ import annotations

from coterie.base.json_values import JsonObject
from coterie.report.charts.drawing import WIDTH, frame, label, tag, with_tooltip

_HEIGHT = 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, WIDTH - 16.0, 46.0, 252.0


def frontier_chart(points: list[JsonObject], recommended: int | None, chosen: int) -> str:
    """Draw one mark per setting: a disc if it may be published, a cross if it is refused."""
    risks = [_risk(point) for point in points]
    most = max([*risks, 0.02]) * 1.15

    def x(risk: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * risk / most

    def y(kept: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * kept

    parts = [label("communities kept", 0, 14, "axis")]
    parts.append(
        label("● may be published   ✕ refused   ◎ recommended", WIDTH - 16, 32, "tick", "end")
    )
    for share in (0, 0.25, 0.5, 0.75, 1):
        at = y(share)
        parts.append(tag("line", x1=_LEFT, x2=_RIGHT, y1=at, y2=at, class_="grid"))
        parts.append(label(f"{100 * share:.0f} %", _LEFT - 6, at + 4, "tick", "end"))
    parts += [
        label(f"{percent:g} %", x(percent / 100), _BOTTOM + 18, "tick", "middle")
        for percent in _ticks(100 * most)
    ]
    parts.append(
        label(
            "chance to pick the right person of the smallest class",
            _RIGHT,
            _HEIGHT - 8,
            "axis",
            "end",
        )
    )
    for i, (point, risk) in enumerate(zip(points, risks, strict=True)):
        parts.append(_mark(point, x(risk), y(point["communities"]), i == recommended, i == chosen))
    description = f"{len(points)} settings: communities kept against the chance to pick somebody."
    return frame(_HEIGHT, description, *parts, class_="frontier")


def _ticks(most: float) -> list[float]:
    """Return round numbers from 0 to at most `most`, about five.

    >>> _ticks(11.5), _ticks(0.9)
    ([0, 2, 4, 6, 8, 10], [0.0, 0.2, 0.4, 0.6, 0.8])
    """
    step = next(s for s in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if most / s <= 6)
    return [round(step * i, 1) for i in range(int(most / step) + 1)]


def _risk(point: JsonObject) -> float:
    return 1 / point["smallest"] if point["smallest"] else 0.0


def _mark(point: JsonObject, x: float, y: float, recommended: bool, chosen: bool) -> str:
    verdict = "refused" if point["refused"] else "may be published"
    tip = (
        f"{point['blocks']} blocks, classes of at least {point['min_class_size']}\n{verdict}\n"
        f"communities kept: {100 * point['communities']:.0f} %"
    )
    marks = [tag("circle", cx=x, cy=y, r=12.0, class_="spot")]
    if chosen:
        marks.append(tag("circle", cx=x, cy=y, r=11.0, class_="chosen"))
    if recommended:
        marks.append(tag("circle", cx=x, cy=y, r=8.0, class_="recommended"))
    if point["refused"]:
        path = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
        marks.append(tag("path", d=path, class_="cross"))
    else:
        marks.append(tag("circle", cx=x, cy=y, r=4.5, class_="dot s2"))
    return with_tooltip(tip, *marks)
