"""Soft groups: their sizes, how mixed the nodes are, typical members, and edges between groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coterie.report.charts import ChartTable, bars, heatmap, histogram, short
from coterie.report.page import Figure, Panel, Section

_NAMED = 6
_MOST_GROUPS = 40
_BINS = 24
_MOSTLY = 0.8  # from this membership on, a node counts as a member of one group


class TypicalMember(NamedTuple):
    """A node (or its title) and its membership in a group."""

    name: str
    membership: float


@dataclass(frozen=True)
class SideGroups:
    """The groups of one set of nodes: of a graph's nodes, of the users, or of the items."""

    count: int  # nodes
    groups: int
    sizes: np.ndarray  # sums of memberships by group
    mostly_one: float  # share of the nodes with a membership of 80 % or more in one group
    mean_effective: float  # mean effective number of groups per node
    effective_counts: np.ndarray  # histogram of the effective number of groups
    effective_edges: np.ndarray
    typical: tuple[tuple[TypicalMember, ...], ...]  # by group


def effective_groups(memberships: np.ndarray) -> np.ndarray:
    """Compute exp of the entropy of each node's membership: 1 for one group, k for all equally.

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
) -> SideGroups:
    """Summarize one set of nodes: group sizes, how mixed it is, and typical members.

    A node is typical of a group if it belongs to it more than to others and is observed often:
    `weights` are its degree, or its number of ratings.
    """
    mixed = effective_groups(memberships)
    k = memberships.shape[1]
    counts, edges = np.histogram(mixed, bins=_BINS, range=(1.0, max(k, 1.0 + 1e-9)))
    titles = titles or {}
    typical = []
    for group in range(min(k, _MOST_GROUPS)):
        belonging = memberships[:, group]
        others = memberships.mean(1) if k > 1 else 0.0
        score = (belonging - others) * np.sqrt(weights)
        top = np.argpartition(-score, min(_NAMED, len(score)) - 1)[:_NAMED]
        top = top[np.argsort(-score[top], kind="stable")]
        typical.append(
            tuple(
                TypicalMember(titles.get(str(ids[v]), str(ids[v])), float(belonging[v]))
                for v in top
                if belonging[v] > 1.0 / max(k, 2)
            )
        )
    some = len(memberships) > 0
    return SideGroups(
        count=len(memberships),
        groups=k,
        sizes=memberships.sum(0),
        mostly_one=float((memberships.max(1) >= _MOSTLY).mean()) if some else 0.0,
        mean_effective=float(mixed.mean()) if some else 0.0,
        effective_counts=counts,
        effective_edges=edges,
        typical=tuple(typical),
    )


def side_section(side: SideGroups, who: str, group: str) -> Section:
    """Show how a set of nodes is divided.

    `who`: nodes, users or items; `group`: the word in front of a group's number.
    """
    names = [f"{group} {i}" for i in range(side.groups)]
    order = np.argsort(-side.sizes, kind="stable")[:_MOST_GROUPS]
    sizes = bars(
        [names[i] for i in order],
        {who: [float(side.sizes[i]) for i in order]},
        description=f"Sum of the memberships of all {who} in each group.",
        of="group",
    )
    mixed = histogram(
        side.effective_edges,
        side.effective_counts,
        x_title="effective number of groups",
        y_title=who,
        description=f"How mixed the {who} are: mean {short(side.mean_effective)} groups.",
    )
    rows = [
        [names[i], " · ".join(f"{m.name} ({100 * m.membership:.0f} %)" for m in members)]
        for i, members in enumerate(side.typical)
        if members
    ]
    return Section(
        f"The groups of {who}",
        f"{100 * side.mostly_one:.0f} % of the {side.count:,} {who} have a membership of 80 % or "
        f"more in one group. The mean effective number of groups is {short(side.mean_effective)}.",
        [
            Figure("Size of the groups", sizes, "The sum of the memberships in each group."),
            Figure(
                "How mixed they are",
                mixed,
                "Effective number of groups: 1 means one group only, 2 means as mixed as an even "
                "split between two groups (the exponential of the entropy of the memberships).",
            ),
        ],
        [
            Panel(
                f"Typical {who} of each group",
                ChartTable(["group", who], [list(r) for r in rows]),
                f"The {who} that belong to the group most and are observed often; the membership "
                "in brackets.",
            )
        ],
    )


def rating_matrix(
    theta: np.ndarray,
    values: np.ndarray,
    user_sizes: np.ndarray,
    item_sizes: np.ndarray,
    *,
    unit: str = "group",
) -> Section:
    """Show the mean rating that each group (or block) of users gives to each of items."""
    expected = theta @ values
    rows = np.argsort(-user_sizes, kind="stable")[:_MOST_GROUPS]
    columns = np.argsort(-item_sizes, kind="stable")[:_MOST_GROUPS]
    shown = expected[np.ix_(rows, columns)]

    def tip(i: int, j: int) -> str:
        spread = theta[rows[i], columns[j]]
        odds = "\n".join(
            f"{short(float(v))}: {100 * p:.0f} %" for v, p in zip(values, spread, strict=True)
        )
        who = f"user {unit} {rows[i]} × item {unit} {columns[j]}"
        return f"{who}\nmean {short(float(shown[i, j]))}\n{odds}"

    wide = len(columns) > 16
    chart = heatmap(
        shown,
        [f"U{i}" for i in rows],
        [f"I{j}" for j in columns],
        value="mean rating",
        description=f"Mean rating that each {unit} of users gives to each {unit} of items.",
        tip=tip if len(values) <= 12 else None,
        row_title=f"user {unit}",
        column_title="" if wide else f"item {unit}",
    )
    return Section(
        f"What {unit}s of users give to {unit}s of items",
        figures=[
            Figure(
                f"Mean rating by {unit}",
                chart,
                f"U0 is user {unit} 0, I0 is item {unit} 0; the largest come first. Point at a "
                "cell for the whole distribution.",
                pictured=True,
            )
        ],
    )


def edge_probability_figure(probabilities: np.ndarray, sizes: np.ndarray) -> Figure:
    """Draw the probability of an edge between the groups of a graph."""
    order = np.argsort(-sizes, kind="stable")[:_MOST_GROUPS]
    names = [f"{i}" for i in order]
    chart = heatmap(
        probabilities[np.ix_(order, order)],
        names,
        names,
        value="probability of an edge",
        log=True,
        description=f"Probability of an edge between {len(order)} groups.",
        row_title="group",
    )
    return Figure("Probability of an edge between groups", chart, "Largest group first.")
