"""The style sheet of both applications: that of the reports, and that of forms and steps."""

from __future__ import annotations

from functools import cache
from importlib import resources

from coterie.report.charts.drawing import template


@cache
def stylesheet() -> str:
    """Return the style sheet."""
    own = resources.files("coterie.app") / "web" / "static" / "app.css"
    parts = [template(name) for name in ("palette.css", "page.css", "chart.css")]
    return "\n".join([*parts, own.read_text(encoding="utf-8")])
