"""Report section about an additive block model: its strongest partitions and their members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.data import Ratings
from coterie.report.charts import ChartTable, heatmap
from coterie.report.charts.drawing import Cell
from coterie.report.page import Figure, Panel, Section

_SHOWN = 2  # partitions
_NAMED = 6  # members per group


@dataclass(frozen=True)
class GroupMembers:
    """The size of a group, and its members with the most ratings."""

    size: int
    most_active: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """One partition of an additive model: its effects and its groups."""

    number: int
    strength: float  # standard deviation of its effect over the ratings
    effects: np.ndarray  # user group x item group
    users: tuple[GroupMembers, ...]
    items: tuple[GroupMembers, ...]


def summarize_partitions(
    model: Any, ratings: Ratings, titles: Mapping[str, str] | None = None
) -> tuple[PartitionSummary, ...]:
    """Summarize the partitions with the largest effects, from the last sample of one chain."""
    last = int(np.flatnonzero(model.chain_of_sample_ == 0)[-1])
    users, items = model.samples_.user_labels[last], model.samples_.item_labels[last]
    effects = np.asarray(model.samples_.effects[last], np.float64)
    strengths = [
        (float(effect[users[ratings.users, s], items[ratings.items, s]].std()), s)
        for s, effect in enumerate(effects)
    ]
    return tuple(
        PartitionSummary(
            number=s,
            strength=strength,
            effects=effects[s],
            users=_groups(users[:, s], effects.shape[1], ratings.users, ratings.user_ids),
            items=_groups(items[:, s], effects.shape[2], ratings.items, ratings.item_ids, titles),
        )
        for strength, s in sorted(strengths, reverse=True)[:_SHOWN]
    )


def _groups(
    labels: np.ndarray,
    count: int,
    rated: np.ndarray,
    ids: np.ndarray,
    titles: Mapping[str, str] | None = None,
) -> tuple[GroupMembers, ...]:
    """Return the size of each group, and its members with the most ratings."""
    activity = np.bincount(rated, minlength=len(labels))
    found = []
    for group in range(count):
        members = np.flatnonzero(labels == group)
        top = members[np.argsort(-activity[members], kind="stable")[:_NAMED]]
        names = [str(ids[v]) for v in top]
        found.append(GroupMembers(len(members), tuple((titles or {}).get(n, n) for n in names)))
    return tuple(found)


def partitions_section(partitions: tuple[PartitionSummary, ...]) -> Section:
    """Draw one heat map per partition and list the members of its groups."""
    section = Section(
        "What the model has learned",
        "The model adds up many small tables of user groups by item groups; the tables below "
        "change the ratings most. They are from one of its samples, and their unit is the standard "
        "deviation of the noise of a rating. Samples differ; a prediction averages over all of "
        "them.",
        figures_first=True,
    )
    for place, partition in enumerate(partitions, start=1):
        rows = [f"U{i}" for i in range(partition.effects.shape[0])]
        columns = [f"I{j}" for j in range(partition.effects.shape[1])]
        chart = heatmap(
            partition.effects,
            rows,
            columns,
            value="effect",
            description="How much each user group raises or lowers the rating of each item group.",
            row_title="user group",
        )
        title = f"Table {place}: user groups and item groups"
        caption = (
            "U: user groups, I: item groups. Their members are in the tables "
            f"“Table {place}: the groups of …”."
        )
        section.figures.append(Figure(title, chart, caption))
        for side, groups, names in (
            ("items", partition.items, columns),
            ("users", partition.users, rows),
        ):
            body: list[list[Cell]] = [
                [name, group.size, " · ".join(group.most_active)]
                for name, group in zip(names, groups, strict=True)
            ]
            table = ChartTable(["group", side, "with the most ratings"], body)
            section.tables.append(Panel(f"Table {place}: the groups of {side}", table))
    return section
