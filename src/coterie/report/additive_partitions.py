"""What an additive block model has learnt: its strongest partitions, with who is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.data import Ratings
from coterie.report.charts import ChartTable, heatmap
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel, Section

_SHOWN = 2  # partitions
_NAMED = 6  # items of a group


def summarize(
    model: Any, ratings: Ratings, titles: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """The partitions that move ratings most, from the newest sample of the first chain."""
    newest = int(np.flatnonzero(model.chain_of_sample_ == 0)[-1])
    users, items = model.samples_.user_labels[newest], model.samples_.item_labels[newest]
    effects = np.asarray(model.samples_.effects[newest], np.float64)
    found = []
    for s, effect in enumerate(effects):
        shift = effect[users[ratings.users, s], items[ratings.items, s]]
        found.append((float(shift.std()), s))
    summary = []
    for strength, s in sorted(found, reverse=True)[:_SHOWN]:
        summary.append(
            {
                "partition": s,
                "strength": strength,
                "effect": effects[s],
                "users": _groups(users[:, s], effects.shape[1], ratings.users, ratings.user_ids),
                "items": _groups(
                    items[:, s], effects.shape[2], ratings.items, ratings.item_ids, titles
                ),
            }
        )
    return summary


def _groups(
    labels: np.ndarray,
    count: int,
    rated: np.ndarray,
    ids: np.ndarray,
    titles: Mapping[str, str] | None = None,
) -> list[tuple[int, list[str]]]:
    """How many are in each group, and those of them with most ratings."""
    activity = np.bincount(rated, minlength=len(labels))
    found = []
    for group in range(count):
        members = np.flatnonzero(labels == group)
        top = members[np.argsort(-activity[members], kind="stable")[:_NAMED]]
        names = [str(ids[v]) for v in top]
        found.append((len(members), [(titles or {}).get(n, n) for n in names]))
    return found


def section(partitions: list[dict[str, Any]]) -> Section:
    """One heat map and one list of items a partition."""
    made = Section(
        "What was learnt",
        "The model adds up many small tables; these move the ratings most. One of its samples, in "
        "units of the rating's noise: the samples differ, their mean is what predicts.",
        figures_first=True,
    )
    for place, part in enumerate(partitions, start=1):
        effect = part["effect"]
        rows = [f"U{i}" for i in range(effect.shape[0])]
        columns = [f"I{j}" for j in range(effect.shape[1])]
        chart = heatmap(
            effect,
            rows,
            columns,
            value="shift",
            description="How much each group of users shifts its rating of each group of items.",
            row_title="user group",
        )
        title = f"Table {place}: who likes what"
        caption = "U: groups of users, I: groups of items; who is in them is listed below."
        made.figures.append(Figure(title, chart, caption))
        for side, names in (("items", columns), ("users", rows)):
            body: list[list[Cell]] = [
                [names[g], size, " · ".join(top)] for g, (size, top) in enumerate(part[side])
            ]
            table = ChartTable(["group", side, "with most ratings"], body)
            made.tables.append(Panel(f"Table {place}: the groups of {side}", table))
    return made
