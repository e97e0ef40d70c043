"""The style sheet of both applications: that of the reports, and that of forms and steps."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def stylesheet() -> str:
    """Return the style sheet."""
    # Read as files: importing the charts takes longer than the first page may.
    templates = resources.files("coterie.report") / "templates"
    parts = [templates / name for name in ("palette.css", "page.css", "chart.css")]
    parts.append(resources.files("coterie.app") / "web" / "static" / "app.css")
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)
