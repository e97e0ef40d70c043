"""The report of a soft clustering: mixed memberships of a graph, or of users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.report.charts import heatmap
from coterie.report.page import Fact, Page, Section, Verdict, written
from coterie.report.rating_groups import (
    Side,
    group_sections,
    mean_groups,
    membership_section,
    mostly_one,
)
from coterie.report.shared_sections import Fit, count

_MOST_GROUPS = 40


def compose(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str = "the data",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> Page:
    """Report a fitted MMSBM or MCMMSBM; its size depends on the groups, not on the nodes.

    Parameters
    ----------
    model : MMSBM or MCMMSBM
        The fitted model.
    data : Graph or Ratings
        The data that it was fitted to.
    name : str, default="the data"
        What the page calls the data.
    titles : mapping of str to str, optional
        Titles of the items by their ids (ratings only).
    assumed : sequence of str, default=()
        Remarks to list under "What was assumed", such as the text of AssumptionWarnings.

    Returns
    -------
    Page or str
        `compose` returns the page, `render` one HTML file that fetches nothing.
    """
    fit = Fit(model, data, assumed)
    if isinstance(data, Graph):
        finding, facts, sections = _of_graph(model, data)
    else:
        finding, facts = _of_ratings(model, data)
        sections = group_sections(model, data, titles)
    steps = fit.next_steps()
    return Page(
        "soft clustering report",
        f"Mixed memberships in {name}",
        Verdict(finding, "warn" if steps else "", "", steps),
        [*facts, *fit.top_facts(), Fact("method", type(model).__name__)],
        [*sections, *fit.closing_sections()],
    )


render = written(compose)


def _of_graph(model: Any, graph: Graph) -> tuple[str, list[Fact], list[Section]]:
    """Return the finding, the facts and the sections about the groups of nodes."""
    memberships, theta = np.asarray(model.memberships_), np.asarray(model.theta_)
    n, k = memberships.shape
    finding = (
        f"The {n:,} nodes belong to {k} groups: "
        f"{mostly_one(memberships)} have a membership of 80 % or more in one group; the "
        f"mean effective number of groups is {mean_groups(memberships)}."
    )
    facts = [count("nodes", n), count("edges", graph.n_edges), count("groups", k)]
    section = membership_section(memberships, Side(graph.ids, graph.degrees), "nodes", "group")
    probabilities = theta if theta.ndim == 2 else theta[..., -1]
    order = np.argsort(-memberships.sum(0), kind="stable")[:_MOST_GROUPS]
    chart = heatmap(
        probabilities[np.ix_(order, order)],
        [f"{i}" for i in order],
        value="probability of an edge",
        log=True,
        description=f"Probability of an edge between {len(order)} groups.",
        row_title="group",
    )
    section.draw("Probability of an edge between groups", chart, "Largest group first.")
    return finding, facts, [section]


def _of_ratings(model: Any, ratings: Ratings) -> tuple[str, list[Fact]]:
    """Return the finding and the facts about the groups of users and items."""
    users, items = np.asarray(model.user_memberships_), np.asarray(model.item_memberships_)
    finding = (
        f"The {len(ratings):,} ratings are described by {users.shape[1]} groups of users and "
        f"{items.shape[1]} groups of items. The mean effective number of groups is "
        f"{mean_groups(users)} for a user and {mean_groups(items)} for an item."
    )
    return finding, [
        count("users", len(users), f"{users.shape[1]} groups"),
        count("items", len(items), f"{items.shape[1]} groups"),
        count("ratings", len(ratings)),
    ]
