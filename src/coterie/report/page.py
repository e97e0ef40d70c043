"""A report as data (verdict, facts, sections with charts), and the function that writes HTML."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, wraps
from html import escape
from typing import TYPE_CHECKING, NamedTuple, ParamSpec

from coterie.base.renderers import NotebookView
from coterie.base.version import __version__
from coterie.report.charts.drawing import Cell, Chart, ChartTable, template
from coterie.report.tables import write_table

if TYPE_CHECKING:
    from jinja2 import Environment

Arguments = ParamSpec("Arguments")

_UNIT = re.compile(r"(?<=\d) %")  # a number and its unit stay on one line


class Verdict(NamedTuple):
    """The finding in one or two sentences, and what to do about it.

    `tone`: good, bad, warn, or "" for none; `word`: a label such as "refused"; `reasons`: a list
    below the text.
    """

    text: str
    tone: str = ""
    word: str = ""
    reasons: Sequence[str] = ()


class Fact(NamedTuple):
    """One of the numbers at the top of the page."""

    name: str
    value: str
    note: str = ""


class Figure(NamedTuple):
    """A chart with its title; `extension` marks a method that is not in the paper."""

    title: str
    chart: Chart
    caption: str = ""
    extension: bool = False
    wide: bool = False  # over all columns
    pictured: bool = False  # also part of the picture of the report


class Panel(NamedTuple):
    """A table that is always visible."""

    title: str
    table: ChartTable
    caption: str = ""


@dataclass
class Section:
    """A part of the page: an introduction, then tables, charts and notes."""

    title: str
    lead: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Panel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures_first: bool = False  # charts above tables
    label: str = ""  # short title for the list of sections

    def __bool__(self) -> bool:
        return bool(self.figures or self.tables or self.notes)

    def draw(
        self,
        title: str,
        chart: Chart,
        caption: str = "",
        *,
        wide: bool = False,
        pictured: bool = False,
    ) -> None:
        """Add a chart."""
        self.figures.append(Figure(title, chart, caption, wide=wide, pictured=pictured))

    def tabulate(
        self, columns: list[str], rows: list[list[Cell]], caption: str = "", title: str = ""
    ) -> None:
        """Add a table; nothing if it has no rows."""
        if rows:
            self.tables.append(Panel(title, ChartTable(columns, rows), caption))


@dataclass
class Page:
    """The whole report; `kind` is the line above the title."""

    kind: str
    title: str
    verdict: Verdict
    facts: list[Fact] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    footer: list[str] = field(default_factory=list)
    subtitle: str = ""  # a line below the title


class HtmlPage(NotebookView, str):
    """A report as HTML: a string whose repr is short, and which notebooks show as a card."""

    page: Page

    def __repr__(self) -> str:
        return f"<HtmlPage: {self.page.title}, {len(self):,} characters>"


def write(page: Page) -> HtmlPage:
    """Write a page as one HTML file that contains style, script and charts and fetches nothing.

    >>> html = write(Page("report", "An example", Verdict("This page is empty.")))
    >>> html.startswith("<!DOCTYPE html>"), "https://" in html
    (True, False)
    """
    page.sections = [section for section in page.sections if section]
    page.footer = [*page.footer, f"Made by coterie {__version__}. This file works offline."]
    styles = "\n".join(template(name) for name in ("palette.css", "page.css", "chart.css"))
    script = template("hover.js")
    if any(figure.chart.network for part in page.sections for figure in part.figures):
        styles, script = styles + template("network.css"), script + template("network.js")
    html = HtmlPage(fill("page.html.j2", page=page, styles=styles, script=script))
    html.page = page
    return html


def fill(name: str, **content: object) -> str:
    """Fill a template of report/templates."""
    return _UNIT.sub("\u00a0%", _environment().get_template(name).render(content))


def parts_html(page: Page) -> list[str]:
    """Return the content of each section of a page as HTML, for pages that show them elsewhere."""
    parts = _environment().get_template("parts.html.j2").module
    return [
        f"<section>\n<h2>{escape(section.title)}</h2>\n{parts.content(section)}</section>"  # type: ignore[attr-defined]
        for section in page.sections
        if section
    ]


def figure_html(figure: Figure) -> str:
    """Return one figure as HTML."""
    return str(_environment().get_template("parts.html.j2").module.figure(figure))  # type: ignore[attr-defined]


def written(compose: Callable[Arguments, Page]) -> Callable[Arguments, str]:
    """Return the function `render` of a report: compose a page, then write it as HTML."""

    @wraps(compose)
    def render(*given: Arguments.args, **named: Arguments.kwargs) -> str:
        return write(compose(*given, **named))

    signature = inspect.signature(compose).replace(return_annotation="str")
    render.__signature__ = signature  # type: ignore[attr-defined]
    render.__name__ = "render"
    return render


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader

    environment = Environment(loader=FunctionLoader(template), autoescape=True, trim_blocks=True)
    environment.filters["table"] = write_table
    return environment
