"""Turn results into HTML and figures without importing the package that draws them.

Imports go one way, so models and releases cannot import `report`. The root package, which imports
all others, registers the functions that draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Renderer = Callable[..., Any]

NOTEBOOK = "notebook"  # a result as an HTML fragment
RELEASE = "release"  # the public summary of a release as a page
CLUSTER_REPORT = "cluster report"  # a clustering with its data as a page
PAGE_FILE = "page file"  # a page as a file: HTML or PDF
CLUSTER_SHOW = "cluster show"  # a clustering with its graph as an interactive drawing
CLUSTER_PLOT = "cluster plot"  # a clustering with its graph as a picture

_registered: dict[str, Renderer] = {}


def register(kind: str, renderer: Renderer) -> None:
    """Register the function that draws results of this kind."""
    _registered[kind] = renderer


def render(kind: str, result: Any, **options: Any) -> Any:
    """Return the result as HTML or as a figure; None if no function is registered for its kind."""
    renderer = _registered.get(kind)
    return None if renderer is None else renderer(result, **options)


class NotebookView:
    """A result that notebooks show as a card; `report/notebook.py` draws it."""

    def _repr_html_(self) -> str | None:
        """Return the card; Jupyter shows the repr if this is None."""
        card: str | None = render(NOTEBOOK, self)
        return card
