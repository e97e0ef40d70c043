"""The report of a soft clustering: mixed memberships of a graph, or of users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.report.charts import short
from coterie.report.fit_summary import FitSummary, summarize_fit
from coterie.report.page import Fact, Page, Section, Verdict, write
from coterie.report.shared_sections import count
from coterie.report.soft_groups import (
    SideGroups,
    edge_probability_figure,
    rating_matrix,
    side_section,
    summarize_side,
)


@dataclass(frozen=True)
class GraphGroups:
    """The groups of a graph's nodes."""

    nodes: SideGroups
    edges: int
    edge_probabilities: np.ndarray  # group × group


@dataclass(frozen=True)
class RatingGroups:
    """The groups of users and items, and the ratings between them."""

    users: SideGroups
    items: SideGroups
    ratings: int
    values: np.ndarray  # the levels of the rating scale
    theta: np.ndarray  # user group × item group × level


@dataclass(frozen=True)
class SoftSummary:
    """Everything that the report of a soft clustering shows."""

    fit: FitSummary
    groups: GraphGroups | RatingGroups


def render(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str = "the data",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> str:
    """Render the report of a fitted MMSBM or MCMMSBM as one HTML file.

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
    str
        A complete HTML page that fetches nothing.
    """
    return write(compose(summarize(model, data, name=name, titles=titles, assumed=assumed)))


def summarize(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str = "the data",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> SoftSummary:
    """Summarize a fitted model; the size depends on the groups, not on the nodes."""
    groups = (
        summarize_graph(model, data)
        if isinstance(data, Graph)
        else summarize_ratings(model, data, titles)
    )
    return SoftSummary(summarize_fit(model, data, name=name, assumed=assumed), groups)


def summarize_graph(model: Any, graph: Graph) -> GraphGroups:
    """Summarize the groups of a graph's nodes."""
    theta = np.asarray(model.theta_)
    return GraphGroups(
        nodes=summarize_side(np.asarray(model.memberships_), graph.ids, graph.degrees),
        edges=graph.n_edges,
        edge_probabilities=theta if theta.ndim == 2 else theta[..., -1],
    )


def summarize_ratings(
    model: Any, data: Ratings, titles: Mapping[str, str] | None = None
) -> RatingGroups:
    """Summarize the groups of users and items and the ratings between them."""
    users = np.bincount(data.users, minlength=data.n_users)
    items = np.bincount(data.items, minlength=data.n_items)
    return RatingGroups(
        users=summarize_side(np.asarray(model.user_memberships_), data.user_ids, users),
        items=summarize_side(np.asarray(model.item_memberships_), data.item_ids, items, titles),
        ratings=len(data),
        values=data.values,
        theta=np.asarray(model.theta_)[..., : len(data.values)],
    )


def compose(summary: SoftSummary) -> Page:
    """Compose the page from a summary."""
    groups = summary.groups
    steps = summary.fit.next_steps()
    sections = (
        _graph_sections(groups) if isinstance(groups, GraphGroups) else rating_sections(groups)
    )
    return Page(
        "soft clustering report",
        f"Mixed memberships in {summary.fit.name}",
        Verdict(_finding(groups), "warn" if steps else "", "", steps),
        [*_facts(groups), *summary.fit.facts(), Fact("method", summary.fit.method)],
        [*sections, *summary.fit.closing_sections()],
    )


def _graph_sections(groups: GraphGroups) -> list[Section]:
    section = side_section(groups.nodes, "nodes", "group")
    section.figures.append(edge_probability_figure(groups.edge_probabilities, groups.nodes.sizes))
    return [section]


def rating_sections(groups: RatingGroups) -> list[Section]:
    """Show ratings by group, then items and users; the recommender's report has them too."""
    users, items = groups.users, groups.items
    return [
        rating_matrix(groups.theta, groups.values, users.sizes, items.sizes),
        side_section(items, "items", "item group"),
        side_section(users, "users", "user group"),
    ]


def _finding(groups: GraphGroups | RatingGroups) -> str:
    if isinstance(groups, GraphGroups):
        side = groups.nodes
        return (
            f"The {side.count:,} nodes belong to {side.groups} groups: "
            f"{100 * side.mostly_one:.0f} % have a membership of 80 % or more in one group; the "
            f"mean effective number of groups is {short(side.mean_effective)}."
        )
    users, items = groups.users, groups.items
    return (
        f"The {groups.ratings:,} ratings are described by {users.groups} groups of users and "
        f"{items.groups} groups of items. The mean effective number of groups is "
        f"{short(users.mean_effective)} for a user and {short(items.mean_effective)} for an item."
    )


def _facts(groups: GraphGroups | RatingGroups) -> list[Fact]:
    if isinstance(groups, GraphGroups):
        return [
            count("nodes", groups.nodes.count),
            count("edges", groups.edges),
            count("groups", groups.nodes.groups),
        ]
    return [
        count("users", groups.users.count, f"{groups.users.groups} groups"),
        count("items", groups.items.count, f"{groups.items.groups} groups"),
        count("ratings", groups.ratings),
    ]
