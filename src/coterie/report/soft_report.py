"""The report of a soft clustering: mixed memberships of a graph, or of users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie.data import Graph, Ratings
from coterie.report.assumptions import taken_for_granted
from coterie.report.charts import short
from coterie.report.page import Fact, Page, Section, Verdict, write
from coterie.report.shared_sections import (
    assumptions,
    convergence,
    count,
    history_rows,
    parameters,
    unfinished,
    yes_no,
)
from coterie.report.soft_groups import rating_matrix, side_section, summarize_side, tie_matrix


def render(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str = "the data",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> str:
    """The report of a fitted MMSBM or MCMMSBM on the data it was fitted to, as HTML."""
    return write(compose(summarize(model, data, name=name, titles=titles, assumed=assumed)))


def summarize(
    model: Any,
    data: Graph | Ratings,
    *,
    name: str = "the data",
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything the report shows; its size depends on the groups, not on the nodes."""
    history = history_rows(model.history_)
    summary = {
        "name": name,
        "method": type(model).__name__,
        "entropy": float(model.entropy_),
        "iterations": len(history),
        "converged": getattr(model, "converged_", None),
        "seconds": history[-1]["seconds"] if history else 0.0,
        "history": history,
        "parameters": model.get_params(),
        "assumed": taken_for_granted(model, data, assumed),
    }
    if isinstance(data, Graph):
        side = summarize_side(np.asarray(model.memberships_), data.ids, data.degrees)
        theta = np.asarray(model.theta_)
        present = theta if theta.ndim == 2 else theta[..., -1]
        summary |= {"nodes": side, "edges": data.n_edges, "present": present}
        return summary
    return summary | summarize_ratings(model, data, titles)


def summarize_ratings(
    model: Any, data: Ratings, titles: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Both sides of a rating model and its table of distributions."""
    users = np.bincount(data.users, minlength=data.n_users)
    items = np.bincount(data.items, minlength=data.n_items)
    theta = np.asarray(model.theta_)
    return {
        "users": summarize_side(np.asarray(model.user_memberships_), data.user_ids, users),
        "items": summarize_side(np.asarray(model.item_memberships_), data.item_ids, items, titles),
        "ratings": len(data),
        "theta": theta[..., : len(data.values)],
        "values": data.values,
    }


def compose(summary: dict[str, Any]) -> Page:
    """Sections and charts from a summary."""
    graph = "nodes" in summary
    return Page(
        "soft clustering report",
        f"Mixed memberships in {summary['name']}",
        _verdict(summary),
        _facts(summary),
        [
            *(_graph(summary) if graph else rating_sections(summary)),
            convergence(summary["history"]),
            assumptions(summary["assumed"]),
            parameters(summary["parameters"], summary["method"]),
        ],
    )


def _graph(summary: dict[str, Any]) -> list[Section]:
    section = side_section(summary["nodes"], "nodes", "group")
    section.figures.append(tie_matrix(summary["present"], summary["nodes"]["sizes"]))
    return [section]


def rating_sections(summary: dict[str, Any]) -> list[Section]:
    """The group table, then items and users; the recommender's report has them too."""
    users, items = summary["users"], summary["items"]
    return [
        rating_matrix(summary["theta"], summary["values"], users["sizes"], items["sizes"]),
        side_section(items, "items", "items"),
        side_section(users, "users", "users"),
    ]


def _verdict(summary: dict[str, Any]) -> Verdict:
    if "nodes" in summary:
        side = summary["nodes"]
        text = (
            f"{side['count']:,} nodes share {side['groups']} groups: "
            f"{100 * side['pure']:.0f} % belong to one of them by 80 % or more; on average a node "
            f"is spread over {short(side['mean_effective'])}."
        )
    else:
        users, items = summary["users"], summary["items"]
        text = (
            f"{users['groups']} groups of users and {items['groups']} groups of items describe "
            f"{summary['ratings']:,} ratings; a user is spread over "
            f"{short(users['mean_effective'])} groups, an item over "
            f"{short(items['mean_effective'])}."
        )
    left = unfinished(summary["converged"])
    return Verdict(text, "warn" if left else "", "", left)


def _facts(summary: dict[str, Any]) -> list[Fact]:
    if "nodes" in summary:
        facts = [
            count("nodes", summary["nodes"]["count"]),
            count("edges", summary["edges"]),
            count("groups", summary["nodes"]["groups"]),
        ]
    else:
        facts = [
            count("users", summary["users"]["count"], f"{summary['users']['groups']} groups"),
            count("items", summary["items"]["count"], f"{summary['items']['groups']} groups"),
            count("ratings", summary["ratings"]),
        ]
    return [
        *facts,
        Fact("entropy", short(summary["entropy"], 4), "nats"),
        count("iterations", summary["iterations"]),
        Fact("time", f"{short(summary['seconds'])} s", "the fit alone"),
        Fact("converged", yes_no(summary["converged"])),
        Fact("method", summary["method"]),
    ]
