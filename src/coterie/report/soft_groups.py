"""What soft groups are: how mixed the nodes are, who defines a group, what groups do together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coterie.report.charts import ChartTable, bars, heatmap, histogram, short
from coterie.report.page import Figure, Panel, Section

_NAMED = 6
_MOST_GROUPS = 40


def effective_groups(memberships: np.ndarray) -> np.ndarray:
    """exp of the entropy of each node's membership: 1 for one group, k for an even mixture.

    >>> effective_groups(np.array([[1.0, 0.0], [0.5, 0.5]])).round(6)
    array([1., 2.])
    """
    logs = np.log(np.where(memberships > 0, memberships, 1.0))
    return np.asarray(np.exp(-(memberships * logs).sum(1)))


def summarize_side(
    memberships: np.ndarray,
    ids: np.ndarray,
    weights: np.ndarray,
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """One set of nodes: group sizes, how mixed it is, and the nodes that define each group.

    A node defines a group if it belongs to it and is often seen: its membership times `weights`
    (its degree, or how many ratings it has), less what its share of all groups would give.
    """
    mixed = effective_groups(memberships)
    k = memberships.shape[1]
    counts, edges = np.histogram(mixed, bins=24, range=(1.0, max(k, 1.0 + 1e-9)))
    titles = titles or {}
    defining = []
    for group in range(min(k, _MOST_GROUPS)):
        belonging = memberships[:, group]
        others = memberships.mean(1) if k > 1 else 0.0
        score = (belonging - others) * np.sqrt(weights)
        top = np.argpartition(-score, min(_NAMED, len(score)) - 1)[:_NAMED]
        top = top[np.argsort(-score[top], kind="stable")]
        defining.append(
            [
                {"id": titles.get(str(ids[v]), str(ids[v])), "membership": float(belonging[v])}
                for v in top
                if belonging[v] > 1.0 / max(k, 2)
            ]
        )
    return {
        "count": len(memberships),
        "groups": k,
        "sizes": memberships.sum(0),
        "pure": float((memberships.max(1) >= 0.8).mean()) if len(memberships) else 0.0,
        "mean_effective": float(mixed.mean()) if len(mixed) else 0.0,
        "effective_counts": counts,
        "effective_edges": edges,
        "defining": defining,
    }


def side_section(side: dict[str, Any], who: str, group: str) -> Section:
    """How a set of nodes is divided. `who`: nodes, users, items; `group`: the group's name."""
    names = [f"{group} {i}" for i in range(side["groups"])]
    order = np.argsort(-side["sizes"], kind="stable")[:_MOST_GROUPS]
    sizes = bars(
        [names[i] for i in order],
        {who: [float(side["sizes"][i]) for i in order]},
        description=f"How many {who} each group holds, memberships added up.",
        of="group",
    )
    mixed = histogram(
        side["effective_edges"],
        side["effective_counts"],
        x_title="groups a node is spread over",
        y_title=who,
        description=f"How mixed the {who} are: mean {short(side['mean_effective'])} groups.",
    )
    rows = [
        [names[i], " · ".join(f"{d['id']} ({100 * d['membership']:.0f} %)" for d in found)]
        for i, found in enumerate(side["defining"])
        if found
    ]
    return Section(
        f"The groups of {who}",
        f"{100 * side['pure']:.0f} % of the {side['count']:,} {who} belong to one group by 80 % or "
        f"more; on average one is spread over {short(side['mean_effective'])} groups.",
        [
            Figure("Size of the groups", sizes, "Memberships added up."),
            Figure(
                "How mixed they are", mixed, "1: one group only. The exponential of the entropy."
            ),
        ],
        [
            Panel(
                f"The {who} that define each group",
                ChartTable(["group", who], [list(r) for r in rows]),
                "Those that belong to it most and are seen often; in brackets how far they belong.",
            )
        ],
    )


def rating_matrix(
    theta: np.ndarray, values: np.ndarray, user_sizes: np.ndarray, item_sizes: np.ndarray
) -> Section:
    """What each group of users gives to each group of items: the mean of theta's distribution."""
    expected = theta @ values
    rows = np.argsort(-user_sizes, kind="stable")[:_MOST_GROUPS]
    columns = np.argsort(-item_sizes, kind="stable")[:_MOST_GROUPS]
    shown = expected[np.ix_(rows, columns)]

    def tip(i: int, j: int) -> str:
        spread = theta[rows[i], columns[j]]
        odds = "\n".join(
            f"{short(float(v))}: {100 * p:.0f} %" for v, p in zip(values, spread, strict=True)
        )
        return f"users {rows[i]} × items {columns[j]}\nmean {short(float(shown[i, j]))}\n{odds}"

    wide = len(columns) > 16
    chart = heatmap(
        shown,
        [f"U{i}" for i in rows],
        [f"I{j}" for j in columns],
        value="mean rating",
        description="Mean rating that each group of users gives to each group of items.",
        tip=tip if len(values) <= 12 else None,
        row_title="user group",
        column_title="" if wide else "item group",
    )
    return Section(
        "What groups of users give to groups of items",
        figures=[
            Figure(
                "The group-by-group ratings",
                chart,
                "U: groups of users, I: groups of items, largest first. Point at a cell for its "
                "whole distribution.",
            )
        ],
    )


def tie_matrix(present: np.ndarray, sizes: np.ndarray) -> Figure:
    """How likely two groups of one graph are joined."""
    order = np.argsort(-sizes, kind="stable")[:_MOST_GROUPS]
    names = [f"{i}" for i in order]
    chart = heatmap(
        present[np.ix_(order, order)],
        names,
        names,
        value="probability of an edge",
        log=True,
        description=f"Probability of an edge between {len(order)} groups.",
        row_title="group",
    )
    return Figure("How likely groups are joined", chart, "Largest group first.")
