"""What the pages of both applications share: the style sheet, and the frame of plain pages."""

from __future__ import annotations

from functools import cache
from importlib import resources

_PLAIN = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css">
<title>{title}</title></head>
<body class="{classes}"><header><p class="brand"><b>coterie</b> · {program}</p>{header}</header>
<main>{content}</main></body></html>"""


@cache
def stylesheet() -> str:
    """Return the style sheet: that of the reports, and that of forms and steps."""
    # Read as files: importing the charts takes longer than the first page may.
    templates = resources.files("coterie.report") / "templates"
    parts = [templates / name for name in ("palette.css", "page.css", "chart.css")]
    parts.append(resources.files("coterie.app") / "web" / "static" / "app.css")
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def plain_page(
    title: str, program: str, content: str, *, header: str = "", classes: str = "coterie"
) -> str:
    """Return a page without a template; every part is HTML."""
    return _PLAIN.format(
        title=title, program=program, header=header, content=content, classes=classes
    )
