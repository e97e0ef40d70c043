"""SVG elements that all charts use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import NamedTuple

WIDTH = 440  # of every view box; on a screen of 400 px the 12.5 px text is still 10 px
_CHARACTER, _WIDE = 6.9, 9.6  # widths of characters, rounded up; wide: capitals, m, w, %, +

Cell = str | float | int | None


class ChartTable(NamedTuple):
    """Columns and rows; numbers stay numbers until `report.tables` formats them."""

    columns: list[str]
    rows: list[list[Cell]]


class Chart(NamedTuple):
    """A drawing and the table of its numbers.

    `network`: what an interactive drawing shows instead of the SVG, as JSON, or its address."""

    svg: str
    table: ChartTable
    network: str = ""


def tag(name: str, *children: str, **attributes: object) -> str:
    """Write one SVG element; `class_` becomes class, and `_` in a name `-`.

    >>> tag("text", "a < b", x=1.0, text_anchor="end", class_="key")
    '<text x="1" text-anchor="end" class="key">a < b</text>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{name}{pairs}>{inside}</{name}>" if inside else f"<{name}{pairs}/>"


def _attribute(value: object) -> str:
    if isinstance(value, str):
        return escape(value)
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def rect(
    x: float, y: float, width: float, height: float, class_: str, rx: float | None = None
) -> str:
    """Write a rectangle; `rx` is the radius of its corners."""
    return tag("rect", x=x, y=y, width=width, height=height, rx=rx, class_=class_)


def line(x1: float, x2: float, y1: float, y2: float, class_: str | None = None) -> str:
    """Write a straight line."""
    return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=class_)


def circle(cx: float, cy: float, r: float, class_: str | None = None) -> str:
    """Write a circle."""
    return tag("circle", cx=cx, cy=cy, r=r, class_=class_)


def label(
    content: str,
    x: float,
    y: float,
    class_: str = "",
    anchor: str | None = None,
    style: str | None = None,
) -> str:
    """Write an escaped text at a position; `style` is inline CSS."""
    return tag(
        "text",
        escape(content, quote=False),
        x=float(x),
        y=float(y),
        class_=class_ or None,
        text_anchor=anchor,
        style=style,
    )


def with_tooltip(tip: str, *marks: str, class_: str = "hit") -> str:
    """Group marks that share a tooltip."""
    return tag("g", tag("title", escape(tip, quote=False)), *marks, class_=class_)


def text_width(content: str) -> float:
    """Estimate the width of a text, rather too large than too small."""
    wide = sum(c.isupper() or c in "mw%+" for c in content)
    return wide * _WIDE + (len(content) - wide) * _CHARACTER


def clip(content: str, width: float) -> str:
    """Shorten a text to a width with an ellipsis.

    >>> clip("a very long title of a film", 70)
    'a very lo…'
    """
    if text_width(content) <= width:
        return content
    most = next(
        i for i in range(len(content), 0, -1) if text_width(content[:i] + "…") <= width or i == 1
    )
    return content[:most] + "…"


def wrap(content: str, width: float, most: int = 3) -> list[str]:
    """Divide a text between words into lines of a width; the last of `most` lines is shortened.

    >>> wrap("200 people known, a guess for a sample of people", 190)
    ['200 people known, a guess', 'for a sample of people']
    """
    lines = [""]
    for word in content.split():
        longer = f"{lines[-1]} {word}".strip()
        if len(lines) < most and lines[-1] and text_width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [clip(line, width) for line in lines]


def legend(
    names: Sequence[str], classes: Sequence[str], width: float, *, dots: Sequence[bool] = ()
) -> tuple[str, float]:
    """Draw the legend in as many rows as needed; return it and its height.

    `dots` says which names stand for points instead of lines.
    """
    parts, x, y = [], 0.0, 12.0
    for name, class_, dot in zip(names, classes, dots or [False] * len(names), strict=True):
        shown = clip(name, width - 24)
        wide = text_width(shown) + 34
        if x > 0 and x + wide - 14 > width:
            x, y = 0.0, y + 18
        if dot:
            parts.append(circle(x + 8, y - 4, 4.0, f"dot {class_}"))
        else:
            parts.append(line(x, x + 16, y - 4, y - 4, f"key {class_}"))
        parts.append(label(shown, x + 22, y, "tick"))
        x += wide
    return tag("g", *parts, class_="legend"), y + 8


def frame(
    height: float, description: str, *content: str, class_: str = "", style: str | None = None
) -> str:
    """Write the outer svg element; `description` is its text for screen readers."""
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        class_=f"chart {class_}".strip(),
        role="img",
        aria_label=description,
        style=style,
    )


def empty(description: str, table: ChartTable) -> Chart:
    """Draw a placeholder for a chart without data."""
    svg = frame(60, description, label("no data", WIDTH / 2, 34, "tick", "middle"))
    return Chart(svg, table)


@cache
def template(name: str) -> str:
    """Read a file of report/templates."""
    return (resources.files("coterie.report") / "templates" / name).read_text(encoding="utf-8")


def standalone(svg: str, title: str = "") -> str:
    """Make a complete SVG file of a chart: namespace, size, margins and style sheet."""
    style = tag("style", template("palette.css") + template("chart.css"))
    head, rest = svg.split(">", 1)
    box = head.split('viewBox="', 1)[1].split('"', 1)[0]
    width, height = (float(side) for side in box.split()[2:])
    above = 40.0 if title else 12.0
    frame_box = f"-14 {-above:g} {width + 28:g} {height + above + 12:g}"
    ground = rect(-14, -above, width + 28, height + above + 12, "ground")
    heading = label(clip(title, width), 0, 22 - above, "heading") if title else ""
    return (
        f'{head.replace(box, frame_box)} xmlns="http://www.w3.org/2000/svg" '
        f'width="{(width + 28) * 1.3:.0f}" height="{(height + above + 12) * 1.3:.0f}">'
        f"{style}{ground}{heading}{rest}\n"
    )
