"""Reports and charts: results as HTML pages of one file each.

The functions below return HTML; write it to a file and open it in a browser. They are loaded when
first used.

    from coterie.report import render_cluster_report

    html = render_cluster_report(model, graph, name="my network")

A report is made in two steps: `compose` of its module returns a `Page` (facts, and sections of
text, charts and tables, for any size of the data), and `page.write` fills the template. `render`
does both.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.report.cluster_report import draw as draw_cluster_picture
    from coterie.report.cluster_report import render as render_cluster_report
    from coterie.report.recommender_report import render as render_recommender_report
    from coterie.report.release_report import render as render_release_report
    from coterie.report.soft_report import render as render_soft_report

# public name -> module of this package and the function's name there
_MODULES = {
    "draw_cluster_picture": ("cluster_report", "draw"),
    "render_cluster_report": ("cluster_report", "render"),
    "render_recommender_report": ("recommender_report", "render"),
    "render_release_report": ("release_report", "render"),
    "render_soft_report": ("soft_report", "render"),
}

__all__ = [
    "draw_cluster_picture",
    "render_cluster_report",
    "render_recommender_report",
    "render_release_report",
    "render_soft_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'coterie.report' has no attribute {name!r}")
    module, function = _MODULES[name]
    value = getattr(import_module(f"{__name__}.{module}"), function)
    globals()[name] = value
    return value
