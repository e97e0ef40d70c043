"""The report of a comparison of recommenders: which is better, by how much, and example lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coterie.base.number_text import short
from coterie.recommend.comparison import ComparedModel, Comparison, PairedTest
from coterie.report.charts.bars import bars
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Page, Section, Verdict, written
from coterie.report.shared_sections import assumptions

COLUMNS = {
    "rmse": "RMSE",
    "mae": "MAE",
    "log_loss": "log loss",
    "calibration": "calibration",
    "ndcg": "NDCG",
    "precision": "precision",
    "recall": "recall",
    "coverage": "coverage",
    "diversity": "diversity",
    "novelty": "novelty",
    "gini": "Gini",
}
_GLOSSARY = (
    "RMSE, MAE, log loss and calibration (mean distance of probabilities from frequencies): "
    "smaller is better. NDCG, precision, recall: larger is better. Coverage: share of the items "
    "in any list. Diversity: 1 - cosine of the users of two items of a list. Novelty: bits; rare "
    "items have many. Gini: 0 if all items appear alike often."
)
_PAIRED = (
    "Differences on the same ratings (RMSE, MAE, log loss) or lists. Intervals allow for the "
    "dependence of ratings of one user. A model is called better if its p-value, corrected for all "
    "tests of this page by Holm's method, is below .05."
)


def figure(model: ComparedModel, metric: str) -> str | None:
    """Return a metric as text, None if it was not measured."""
    value = getattr(model.metrics, metric)
    return f"{value:,.4f}" if np.isfinite(value) else None


def difference(test: PairedTest) -> str:
    """Return a difference with its interval."""
    return f"{test.difference:+.4f} ({test.low:+.4f} to {test.high:+.4f})"


def compose(
    found: Comparison,
    *,
    name: str = "the ratings",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> Page:
    """Report a comparison of recommenders.

    Parameters
    ----------
    found : Comparison
        What `coterie.compare` returned.
    name : str, default="the ratings"
        What the page calls the data.
    titles : mapping of str to str, optional
        Titles of the items by their ids.
    assumed : sequence of str, default=()
        Remarks to list under "What was assumed".

    Returns
    -------
    Page or str
        `compose` returns the page, `render` one HTML file that fetches nothing.
    """
    sections = [_models(found), _tests(found), _groups(found), _lists(found, titles or {})]
    return Page(
        "comparison of recommenders",
        f"Comparing {len(found.models)} models on {name}",
        Verdict(" ".join(_words(found))),
        _facts(found),
        [*sections, assumptions(list(assumed))],
    )


render = written(compose)


def _best(found: Comparison, metric: str, least: bool) -> ComparedModel | None:
    """Return the model with the best value of a metric, None if nobody has one."""
    known = [m for m in found.models if np.isfinite(getattr(m.metrics, metric))]
    choose = min if least else max
    return choose(known, key=lambda m: getattr(m.metrics, metric)) if known else None


def _words(found: Comparison) -> list[str]:
    """Say which model predicts and which ranks best, and what it adds to popularity."""
    out = []
    for metric, least, what in (
        ("rmse", True, "predicts ratings with the smallest error (RMSE {})"),
        ("ndcg", False, "has the best lists (NDCG {})"),
    ):
        best = _best(found, metric, least)
        if best is None:
            continue
        value = getattr(best.metrics, metric)
        tests = [found.test(metric, best.name, m.name) for m in found.models if m.name != best.name]
        unclear = [t.against for t in tests if t is not None and t.better is None]
        ending = f"; no clear difference from {', '.join(unclear)}" if unclear else ""
        out.append(f"{best.name} {what.format(f'{value:.3f}')}{ending}.")
    others = replace(found, models=[m for m in found.models if m.name != "popularity"])
    best = _best(others, "precision", False)
    lift = None if best is None else found.test("precision", best.name, "popularity")
    if best is not None and lift is not None:
        own = found.top * best.metrics.precision
        base = own - found.top * lift.difference
        more = f" ({100 * (own / base - 1):+.0f} %)" if base > 0 else ""
        out.append(
            f"Of {found.top} items in a list by {best.name}, {own:.2f} are held-out items that the "
            f"user liked; in a list of the most popular items it is {base:.2f}{more}. The "
            f"difference is {found.top * lift.low:.2f} to {found.top * lift.high:.2f} items per "
            f"list (95 % interval)."
        )
    return out


def _facts(found: Comparison) -> list[Fact]:
    facts = [Fact("test ratings", f"{found.tested:,}", "not seen by any model")]
    for metric, least in (("rmse", True), ("log_loss", True), ("ndcg", False), ("recall", False)):
        best = _best(found, metric, least)
        if best is not None:
            value = short(getattr(best.metrics, metric), 4)
            facts.append(Fact(f"best {COLUMNS[metric]}", value, best.name))
    return facts


def _models(found: Comparison) -> Section:
    section = Section("Models", f"Lists have {found.top} items that the user has not rated.")
    rows: list[list[Cell]] = [[m.name, *(figure(m, c) for c in COLUMNS)] for m in found.models]
    section.tabulate(["model", *COLUMNS.values()], rows, _GLOSSARY)
    section.notes += [
        f"{model.name} has no value in some columns: {note}."
        for model in found.models
        for note in model.notes
    ]
    alike: dict[str, list[str]] = {}
    for model in found.models:
        shown = repr([example.lists[model.name] for example in found.examples])
        alike.setdefault(f"{model.metrics.ndcg!r} {shown}", []).append(model.name)
    section.notes += [
        f"{', '.join(names)} have the same lists: these come from the ranking model, which does "
        "not depend on the model of ratings."
        for names in alike.values()
        if len(names) > 1
    ]
    return section


def _tests(found: Comparison) -> Section:
    section = Section("Differences", _PAIRED)
    rows: list[list[Cell]] = [
        [COLUMNS[t.metric], t.model, t.against, difference(t), short(t.p_adjusted), t.better or "–"]
        for t in found.tests
    ]
    columns = ["metric", "model", "minus", "difference (95 % interval)", "p (corrected)", "better"]
    section.tabulate(columns, rows)
    return section


def _groups(found: Comparison) -> Section:
    """Show errors and lists of users with few and with many ratings."""
    section = Section("Users with few and many ratings", "Thirds of the users who were tested.")
    groups = list(found.models[0].groups)
    for metric, what in (("rmse", "smaller is better"), ("ndcg", "larger is better")):
        values = {
            m.name: [m.groups[g][metric] for g in groups]
            for m in found.models
            if np.isfinite([m.groups[g][metric] for g in groups]).all()
        }
        if values:
            title = f"{COLUMNS[metric]}, {what}"
            section.draw(title, bars(groups, values, description=title, names_above=True))
    return section


def _lists(found: Comparison, titles: Mapping[str, str]) -> Section:
    """Show the lists of a few users by every model."""
    section = Section(
        "Example lists",
        "Users with few to many ratings. ✓ marks held-out items that the user liked.",
    )

    def title(item: Any) -> str:
        return titles.get(str(item)) or str(item)

    for example in found.examples:
        rows: list[list[Cell]] = [
            [
                str(place + 1),
                *(
                    title(own[place][0]) + " ✓" * own[place][1] if place < len(own) else None
                    for own in example.lists.values()
                ),
            ]
            for place in range(found.top)
        ]
        liked = "; ".join(map(title, example.liked))
        caption = f"Rated highest in training: {liked}." if liked else "No ratings in training."
        section.tabulate(["", *example.lists], rows, caption, f"User {example.user}")
    return section
