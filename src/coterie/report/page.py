"""A report as data (verdict, facts, sections with charts), and the template that writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from coterie.base.version import __version__
from coterie.report.charts.drawing import Chart, ChartTable, template
from coterie.report.tables import write_table

if TYPE_CHECKING:
    from jinja2 import Environment

_UNIT = re.compile(r"(?<=\d) %")  # a number and its unit stay on one line


class Verdict(NamedTuple):
    """The finding in one sentence. tone: good, bad, warn, or "" for neither."""

    text: str
    tone: str = ""
    word: str = ""
    reasons: Sequence[str] = ()


class Fact(NamedTuple):
    """One of the figures on top."""

    name: str
    value: str
    note: str = ""


class Figure(NamedTuple):
    """A chart under its title; `ours` marks what the paper does not have."""

    title: str
    chart: Chart
    caption: str = ""
    ours: bool = False


class Panel(NamedTuple):
    """A table that stands open."""

    title: str
    table: ChartTable
    caption: str = ""


@dataclass
class Section:
    """A part of the page: what it is about, then tables, charts, remarks."""

    title: str
    lead: str = ""
    figures: list[Figure] = field(default_factory=list)
    tables: list[Panel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures_first: bool = False  # else tables stand above charts
    label: str = ""  # in the list of sections, where the title is long

    def __bool__(self) -> bool:
        return bool(self.figures or self.tables or self.notes)


@dataclass
class Page:
    """The whole report."""

    kind: str
    title: str
    verdict: Verdict
    facts: list[Fact] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    footer: list[str] = field(default_factory=list)


def write(page: Page) -> str:
    """One HTML file: style, script and charts inside, nothing fetched.

    >>> html = write(Page("a report", "Nothing", Verdict("There is nothing to say.")))
    >>> html.startswith("<!DOCTYPE html>"), "https://" in html
    (True, False)
    """
    page.sections = [section for section in page.sections if section]
    page.footer = [*page.footer, f"Made by coterie {__version__}. This file is complete in itself."]
    styles = "\n".join(template(name) for name in ("palette.css", "page.css", "chart.css"))
    html = (
        _environment()
        .get_template("page.html.j2")
        .render(page=page, styles=styles, script=template("hover.js"))
    )
    return _UNIT.sub("\u00a0%", html)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader

    environment = Environment(loader=FunctionLoader(template), autoescape=True, trim_blocks=True)
    environment.filters["table"] = write_table
    return environment
