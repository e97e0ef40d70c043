"""The few SVG pieces that every chart is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from typing import NamedTuple

WIDTH = 440  # of every chart's view box; at 400 px of screen its 12.5 px text is still 10 px
_CHARACTER, _WIDE = 6.9, 9.6  # widths at that size, on the safe side; wide: capitals, m, w, %, +

Cell = str | float | int | None


class ChartTable(NamedTuple):
    """Columns and rows; numbers stay numbers until the template writes them."""

    columns: list[str]
    rows: list[list[Cell]]


class Chart(NamedTuple):
    """A drawing and the table behind it."""

    svg: str
    table: ChartTable


def tag(name: str, *children: str, **attributes: object) -> str:
    """One SVG element; `class_` is written class, and `_` in a name as `-`.

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


def label(content: str, x: float, y: float, class_: str = "", anchor: str | None = None) -> str:
    """Text at a place, escaped."""
    return tag(
        "text",
        escape(content, quote=False),
        x=float(x),
        y=float(y),
        class_=class_ or None,
        text_anchor=anchor,
    )


def hit(tip: str, *marks: str, class_: str = "hit") -> str:
    """Marks that answer when pointed at."""
    return tag("g", tag("title", escape(tip, quote=False)), *marks, class_=class_)


def text_width(content: str) -> float:
    """How wide a text will be, nearly; rather more than less."""
    wide = sum(c.isupper() or c in "mw%+" for c in content)
    return wide * _WIDE + (len(content) - wide) * _CHARACTER


def clip(content: str, width: float) -> str:
    """A text cut to a width with an ellipsis.

    >>> clip("a very long title of a film", 70)
    'a very lo…'
    """
    if text_width(content) <= width:
        return content
    most = next(
        i for i in range(len(content), 0, -1) if text_width(content[:i] + "…") <= width or i == 1
    )
    return content[:most] + "…"


def legend(names: Sequence[str], classes: Sequence[str], width: float) -> tuple[str, float]:
    """A key in as many rows as it needs, and its height."""
    parts, x, y = [], 0.0, 12.0
    for name, class_ in zip(names, classes, strict=True):
        shown = clip(name, width - 24)
        wide = text_width(shown) + 34
        if x > 0 and x + wide - 14 > width:
            x, y = 0.0, y + 18
        parts.append(tag("line", x1=x, x2=x + 16, y1=y - 4, y2=y - 4, class_=f"key {class_}"))
        parts.append(label(shown, x + 22, y, "tick"))
        x += wide
    return tag("g", *parts, class_="legend"), y + 8


def frame(
    height: float, description: str, *content: str, class_: str = "", width: float = WIDTH
) -> str:
    """The outer svg element; `description` is its text for those who cannot see it."""
    return tag(
        "svg",
        *content,
        viewBox=f"0 0 {width:g} {height:.0f}",
        class_=f"chart {class_}".strip(),
        role="img",
        aria_label=description,
    )


def empty(description: str) -> str:
    """What stands where there is nothing to draw."""
    return frame(60, description, label("nothing to show", WIDTH / 2, 34, "tick", "middle"))


@cache
def template(name: str) -> str:
    """A file of report/templates as text."""
    return (resources.files("coterie.report") / "templates" / name).read_text(encoding="utf-8")


def standalone(svg: str, title: str = "") -> str:
    """A chart as a file of its own: name space, size, margins, and its style sheet inside."""
    style = tag("style", template("palette.css") + template("chart.css"))
    head, rest = svg.split(">", 1)
    box = head.split('viewBox="', 1)[1].split('"', 1)[0]
    width, height = (float(side) for side in box.split()[2:])
    above = 40.0 if title else 12.0
    frame_box = f"-14 {-above:g} {width + 28:g} {height + above + 12:g}"
    ground = tag(
        "rect", x=-14, y=-above, width=width + 28, height=height + above + 12, class_="ground"
    )
    heading = label(clip(title, width), 0, 22 - above, "heading") if title else ""
    return (
        f'{head.replace(box, frame_box)} xmlns="http://www.w3.org/2000/svg" '
        f'width="{(width + 28) * 1.3:.0f}" height="{(height + above + 12) * 1.3:.0f}">'
        f"{style}{ground}{heading}{rest}\n"
    )
