"""A fitted model in a notebook: its settings, its results and its convergence."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.base.number_text import short
from coterie.models.declaration import Groups
from coterie.recommend.recommender import NotFittedError, Recommender
from coterie.report.charts.drawing import Chart, template
from coterie.report.shared_sections import convergence, yes_no

if TYPE_CHECKING:
    from coterie.anonymize.output.public_summary import PublicSummary

_STYLE = """
.coterie-card { max-width: 560px; font: 14px/1.45 system-ui, sans-serif; }
.coterie-card dl { display: flex; flex-wrap: wrap; gap: 4px 22px; margin: 8px 0; }
.coterie-card dt { opacity: .7; font-size: 12px; } .coterie-card dd { margin: 0; font-weight: 600; }
"""


def fragment(model: Any) -> str | None:
    """Render a fitted model as HTML for the output of a notebook cell.

    Returns None for a model that is not fitted. A recommender shows the model inside it.
    """
    title = repr(model)
    if isinstance(model, Recommender):
        try:
            model = model.model_
        except NotFittedError:
            return None
    if "entropy_" not in vars(model):
        return None
    return _card(title, _facts(model), _chart(model))


def release_fragment(summary: PublicSummary) -> str:
    """Render the public summary of a release as HTML for the output of a notebook cell."""
    from coterie.report.release_report import compose

    page = compose(summary)
    facts = [(fact.name, fact.value) for fact in page.facts]
    reasons = "".join(f"<li>{escape(text)}</li>" for text in page.verdict.reasons)
    return _card(page.verdict.text, facts, f"<ul>{reasons}</ul>" if reasons else "")


def _card(title: str, facts: list[tuple[str, str]], more: str) -> str:
    """Return a box with a title, some figures and HTML below them."""
    listed = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts
    )
    style = template("palette.css") + template("chart.css") + _STYLE
    return (
        f'<div class="coterie coterie-card"><style>{style}</style>'
        f"<code>{escape(title)}</code><dl>{listed}</dl>{more}</div>"
    )


def _facts(model: Any) -> list[tuple[str, str]]:
    facts = [("entropy", f"{float(model.entropy_):,.1f} nats")]
    found = vars(model)
    if model.declaration.groups == Groups.BLOCKS:
        labels = model.labels_
        sides = {"user ": labels[0], "item ": labels[1]} if isinstance(labels, tuple) else None
        for side, blocks in (sides or {"": labels}).items():
            facts.append((f"{side}blocks", f"{len(np.unique(blocks)):,}"))
    for side in ("", "user", "item"):
        memberships = found.get(f"{side}_memberships_".lstrip("_"))
        if memberships is not None:
            nodes, groups = np.shape(memberships)
            facts.append((f"{side} groups".strip(), f"{groups:,} ({nodes:,} {side or 'node'}s)"))
    history = found.get("history_")
    if history:
        facts.append(("iterations", f"{len(history):,}"))
        facts.append(("time", f"{short(float(history[-1].seconds))} s"))
    return facts + [
        (name.strip("_").replace("_", " "), yes_no(found[name]))
        for name in ("converged_", "locally_optimal_")
        if name in found
    ]


def _chart(model: Any) -> str:
    section = convergence(model.history_)
    chart: Chart | None = section.figures[0].chart if section.figures else None
    return chart.svg if chart else ""
