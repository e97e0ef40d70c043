"""What an additive block model has learnt: its strongest partitions, with who is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.graph import Ratings
from coterie.report.charts import Table, heatmap
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
    activity = np.bincount(ratings.items, minlength=ratings.n_items)
    titles = titles or {}
    summary = []
    for strength, s in sorted(found, reverse=True)[:_SHOWN]:
        groups = []
        for group in range(effects.shape[2]):
            members = np.flatnonzero(items[:, s] == group)
            top = members[np.argsort(-activity[members], kind="stable")[:_NAMED]]
            names = [str(ratings.item_ids[v]) for v in top]
            groups.append({"items": len(members), "names": [titles.get(n, n) for n in names]})
        sizes = np.bincount(users[:, s], minlength=effects.shape[1])
        summary.append(
            {
                "partition": s,
                "strength": strength,
                "effect": effects[s],
                "groups": groups,
                "users": sizes,
            }
        )
    return summary


def section(partitions: list[dict[str, Any]]) -> Section:
    """One heat map and one list of items a partition."""
    made = Section(
        "What was learnt",
        "The model adds up many small tables; these move the ratings most. One of its samples, in "
        "units of the rating's noise: the samples differ, their mean is what predicts.",
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
        caption = "U: groups of users, I: groups of items, whose best-known items are listed."
        made.figures.append(Figure(title, chart, caption))
        body: list[list[Cell]] = [
            [columns[j], g["items"], " · ".join(g["names"])] for j, g in enumerate(part["groups"])
        ]
        made.tables.append(
            Panel(f"Table {place}: the groups of items", Table(["group", "items", "such as"], body))
        )
    return made
