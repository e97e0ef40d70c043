"""Results in a notebook: a small card with the main figures, a table and charts.

Notebooks have styles of their own for lists and tables, and their theme is not that of the
operating system. So a card is made of plain boxes, has its own background, and follows the theme of
JupyterLab, nbconvert and VS Code where they name it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from coterie.anonymize.output.public_summary import PublicSummary
from coterie.base.number_text import percent, short
from coterie.models.declaration import Groups
from coterie.models.hard.clustering import HardClustering
from coterie.models.hard.description.comparison import ModelComparison
from coterie.models.hard.posterior import PosteriorSamples
from coterie.recommend.recommender import NotFittedError, Recommender
from coterie.report.charts import ChartTable
from coterie.report.charts.drawing import template
from coterie.report.description_sections import compared_table, confidence_charts
from coterie.report.page import Fact, Figure, HtmlPage, Page, fill
from coterie.report.shared_sections import Fit, count, yes_no

# Part of the palette -> the pages on which it holds, whatever the operating system prefers
_THEMES = {
    "light": ('[data-jp-theme-light="true"]', ".vscode-light"),
    "dark": ('[data-jp-theme-light="false"]', ".vscode-dark", ".vscode-high-contrast"),
}


def fragment(result: Any) -> str | None:
    """Render a result as HTML for the output of a notebook cell.

    Parameters
    ----------
    result : estimator, Recommender, PosteriorSamples, ModelComparison, PublicSummary or HtmlPage
        What the cell returns. Of a release, only the public summary is shown.

    Returns
    -------
    str or None
        The card; None for a model that is not fitted, of which Jupyter shows the repr.
    """
    if isinstance(result, PublicSummary):
        from coterie.report.release_report import compose

        return _card_of_page("", compose(result))
    if isinstance(result, HtmlPage):
        return _card_of_page(repr(result), result.page)
    if isinstance(result, PosteriorSamples):
        return _card(repr(result), _sampled(result), figures=confidence_charts(result))
    if isinstance(result, ModelComparison):
        return _card(repr(result), table=compared_table(result))
    return _card_of_model(result)


def _card(
    title: str,
    facts: Sequence[Fact] = (),
    *,
    text: str = "",
    notes: Sequence[str] = (),
    table: ChartTable | None = None,
    figures: Sequence[Figure] = (),
) -> str:
    return fill(
        "card.html.j2",
        title=title,
        facts=facts,
        text=text,
        notes=notes,
        table=table,
        figures=figures,
        styles=_styles(),
    )


@cache
def _styles() -> str:
    """Return the style sheet of a card, with the palette by the theme of the notebook."""
    palette = template("palette.css").replace(".coterie,", ".coterie-card,")
    colours = dict(zip(_THEMES, re.findall(r"\{\s*(--[^}]*)\}", palette), strict=False))
    themes = [
        ", ".join(f"{page} .coterie-card, {page} .coterie-card .chart" for page in pages)
        + f" {{ {colours[theme]} }}"
        for theme, pages in _THEMES.items()
    ]
    return "\n".join([palette, template("chart.css"), template("card.css"), *themes])


def _card_of_page(title: str, page: Page) -> str:
    name = title or f"{page.title} {page.subtitle}".strip()
    return _card(name, page.facts, text=page.verdict.text, notes=page.verdict.reasons)


def _card_of_model(model: Any) -> str | None:
    title, known = repr(model), []
    if isinstance(model, Recommender):
        try:
            known = [count("users", len(model.users_)), count("items", len(model.items_))]
            model = model.model_
        except NotFittedError:
            return None
    if "entropy_" not in vars(model):
        return None
    fit = Fit(model, None, (), model.facts() if isinstance(model, HardClustering) else None)
    convergence = fit.closing_sections()[0] if model.history_ else None
    charts = convergence.figures[:1] if convergence else []
    return _card(title, [*known, *_groups(model), *fit.top_facts()], figures=charts)


def _groups(model: Any) -> list[Fact]:
    """Return how many blocks or groups a model found."""
    facts = []
    if model.declaration.groups == Groups.BLOCKS:
        labels = model.labels_
        sides = {"user ": labels[0], "item ": labels[1]} if isinstance(labels, tuple) else None
        for side, blocks in (sides or {"": labels}).items():
            facts.append(count(f"{side}blocks", len(np.unique(blocks))))
    for side in ("", "user", "item"):
        memberships = vars(model).get(f"{side}_memberships_".lstrip("_"))
        if memberships is not None:
            nodes, groups = np.shape(memberships)
            text = f"{groups:,} ({nodes:,} {side or 'node'}s)"
            facts.append(Fact(f"{side} groups".strip(), text))
    return facts


def _sampled(samples: PosteriorSamples) -> list[Fact]:
    return [
        count("samples", len(samples.labels_)),
        count("chains", len(samples.description_lengths_)),
        Fact("mean confidence", percent(float(samples.confidence_.mean()))),
        Fact("R-hat", short(samples.r_hat_)),
        Fact("chains agree", yes_no(samples.chains_agree)),
    ]
