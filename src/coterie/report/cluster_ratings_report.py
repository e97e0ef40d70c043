"""The report of a hard clustering of two node sets: users and items, by what is between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coterie.data import Ratings
from coterie.report.assumptions import taken_for_granted
from coterie.report.charts import ChartTable, bars, heatmap, short
from coterie.report.page import Fact, Figure, Page, Panel, Section, Verdict
from coterie.report.shared_sections import (
    assumptions,
    convergence,
    count,
    history_rows,
    parameters,
    unfinished,
    yes_no,
)
from coterie.report.soft_groups import rating_matrix

_LISTED = 25
_NAMED = 6


def summarize(
    model: Any,
    data: Ratings,
    *,
    name: str,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> dict[str, Any]:
    """Counts between blocks, and the most active members of each."""
    rows, columns = np.asarray(model.user_labels_), np.asarray(model.item_labels_)
    k, m = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    values = len(data.values)
    cell = (rows[data.users].astype(np.int64) * m + columns[data.items]) * values + data.codes
    history = history_rows(model.history_)
    return {
        "name": name,
        "ratings": len(data),
        "values": data.values,
        "counts": np.bincount(cell, minlength=k * m * values).reshape(k, m, values),
        "users": _side(rows, k, data.users, data.user_ids),
        "items": _side(columns, m, data.items, data.item_ids, titles),
        "entropy": float(model.entropy_),
        "history": history,
        "seconds": history[-1]["seconds"] if history else 0.0,
        "converged": getattr(model, "converged_", None),
        "locally_optimal": getattr(model, "locally_optimal_", None),
        "parameters": model.get_params(),
        "method": type(model).__name__,
        "assumed": taken_for_granted(model, data, assumed),
    }


def _side(
    labels: np.ndarray,
    k: int,
    rated: np.ndarray,
    ids: np.ndarray,
    titles: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    activity = np.bincount(rated, minlength=len(labels))
    sizes = np.bincount(labels, minlength=k)
    titles = titles or {}
    listed = []
    for block in np.argsort(-sizes, kind="stable")[:_LISTED]:
        members = np.flatnonzero(labels == block)
        top = members[np.argsort(-activity[members], kind="stable")[:_NAMED]]
        if len(members):
            names = [titles.get(str(ids[v]), str(ids[v])) for v in top]
            ratings = int(activity[members].sum())
            listed.append([int(block), len(members), ratings, names])
    return {"count": len(labels), "sizes": sizes, "listed": listed}


def compose(summary: dict[str, Any]) -> Page:
    """Sections and charts from a summary."""
    users, items = summary["users"], summary["items"]
    blocks = [int((side["sizes"] > 0).sum()) for side in (users, items)]
    text = (
        f"{blocks[0]} blocks of users and {blocks[1]} blocks of items describe "
        f"{summary['ratings']:,} observations with an entropy of {summary['entropy']:,.0f} nats."
    )
    left = unfinished(summary["converged"], summary["locally_optimal"])
    return Page(
        "cluster report",
        f"{blocks[0]} × {blocks[1]} blocks in {summary['name']}",
        Verdict(text, "warn" if summary["converged"] is False else "", "", left),
        [
            count("users", users["count"], f"{blocks[0]} blocks"),
            count("items", items["count"], f"{blocks[1]} blocks"),
            count("observations", summary["ratings"]),
            Fact("entropy", short(summary["entropy"], 4), "nats"),
            count("iterations", len(summary["history"])),
            Fact("time", f"{short(summary['seconds'])} s", "the fit alone"),
            Fact("converged", yes_no(summary["converged"])),
            Fact("locally optimal", yes_no(summary["locally_optimal"]), "no single move helps"),
        ],
        [
            *block_sections(summary),
            convergence(summary["history"]),
            assumptions(summary["assumed"]),
            parameters(summary["parameters"], summary["method"]),
        ],
    )


def block_sections(summary: dict[str, Any]) -> list[Section]:
    """What is between blocks, then the blocks of items and of users."""
    return [
        _between(summary),
        _members(summary["items"], "items"),
        _members(summary["users"], "users"),
    ]


def _between(summary: dict[str, Any]) -> Section:
    """Ratings: what blocks give to blocks. Likes: how many of the pairs there are."""
    counts, values = summary["counts"], summary["values"]
    users, items = summary["users"]["sizes"], summary["items"]["sizes"]
    total = counts.sum(2)
    if len(values) > 1:
        theta = counts / np.maximum(total, 1)[:, :, None]
        theta[total == 0] = np.nan
        return rating_matrix(theta, values, users, items)
    pairs = np.outer(users, items)
    rows, columns = (np.argsort(-s, kind="stable")[:40] for s in (users, items))
    density = (total / np.maximum(pairs, 1))[np.ix_(rows, columns)]
    chart = heatmap(
        density,
        [f"U{i}" for i in rows],
        [f"I{j}" for j in columns],
        value="share of pairs",
        description="Share of the pairs of each user block and item block that exist.",
        log=True,
        row_title="user block",
    )
    caption = "U: blocks of users, I: blocks of items, largest first."
    return Section(
        "How the blocks are joined", figures=[Figure("The block matrix", chart, caption)]
    )


def _members(side: dict[str, Any], who: str) -> Section:
    listed = side["listed"]
    chart = bars(
        [f"{who} {block}" for block, *_ in listed],
        {who: [float(size) for _, size, *_ in listed]},
        description=f"How many {who} each block holds.",
        of="block",
    )
    table = ChartTable(
        ["block", who, "observations", "most active"],
        [[f"{who} {b}", size, ratings, " · ".join(names)] for b, size, ratings, names in listed],
    )
    return Section(
        f"The blocks of {who}",
        figures=[Figure("Size of the blocks", chart)],
        tables=[Panel("", table)],
    )
