"""The report of a hard clustering of ratings: blocks of users and blocks of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from coterie.data import Ratings
from coterie.models.hard.clustering import HardClustering
from coterie.report.charts import ChartTable, bars, heatmap
from coterie.report.fit_summary import FitSummary, summarize_fit
from coterie.report.page import Figure, Page, Panel, Section, Verdict
from coterie.report.shared_sections import count
from coterie.report.soft_groups import rating_matrix

_LISTED = 25
_NAMED = 6
_DRAWN = 40


@dataclass(frozen=True)
class ListedMembers:
    """A block of users or items in the table of the largest blocks."""

    block: int
    members: int
    observations: int
    most_active: tuple[str, ...]


@dataclass(frozen=True)
class BlockSide:
    """The blocks of the users, or of the items."""

    count: int  # users or items
    sizes: np.ndarray  # by block
    listed: tuple[ListedMembers, ...]

    @property
    def blocks(self) -> int:
        """Number of blocks that have members."""
        return int((self.sizes > 0).sum())


@dataclass(frozen=True)
class RatingBlocks:
    """Both sides of a clustered table of ratings, and the counts between their blocks."""

    values: np.ndarray  # the levels of the rating scale
    counts: np.ndarray  # user block × item block × level
    users: BlockSide
    items: BlockSide


@dataclass(frozen=True)
class RatingClusterSummary:
    """Everything that the report of clustered ratings shows."""

    fit: FitSummary
    observations: int
    blocks: RatingBlocks


def summarize(
    model: HardClustering,
    data: Ratings,
    *,
    name: str,
    titles: Mapping[str, str] | None = None,
    assumed: Sequence[str] = (),
) -> RatingClusterSummary:
    """Summarize a fitted hard clustering and the ratings that it was fitted to."""
    return RatingClusterSummary(
        fit=summarize_fit(model, data, name=name, assumed=assumed, facts=model.facts()),
        observations=len(data),
        blocks=summarize_blocks(model, data, titles),
    )


def summarize_blocks(
    model: HardClustering, data: Ratings, titles: Mapping[str, str] | None = None
) -> RatingBlocks:
    """Count the ratings between blocks and list the most active members of each block."""
    users, items = map(np.asarray, model.labels_)
    k, m = int(users.max(initial=-1)) + 1, int(items.max(initial=-1)) + 1
    levels = len(data.values)
    cell = (users[data.users].astype(np.int64) * m + items[data.items]) * levels + data.codes
    return RatingBlocks(
        values=data.values,
        counts=np.bincount(cell, minlength=k * m * levels).reshape(k, m, levels),
        users=_side(users, k, data.users, data.user_ids),
        items=_side(items, m, data.items, data.item_ids, titles),
    )


def _side(
    labels: np.ndarray,
    k: int,
    rated: np.ndarray,
    ids: np.ndarray,
    titles: Mapping[str, str] | None = None,
) -> BlockSide:
    activity = np.bincount(rated, minlength=len(labels))
    sizes = np.bincount(labels, minlength=k)
    titles = titles or {}
    listed = []
    for block in np.argsort(-sizes, kind="stable")[:_LISTED]:
        members = np.flatnonzero(labels == block)
        top = members[np.argsort(-activity[members], kind="stable")[:_NAMED]]
        if len(members):
            names = tuple(titles.get(str(ids[v]), str(ids[v])) for v in top)
            observations = int(activity[members].sum())
            listed.append(ListedMembers(int(block), len(members), observations, names))
    return BlockSide(len(labels), sizes, tuple(listed))


def compose(summary: RatingClusterSummary) -> Page:
    """Compose the page from a summary."""
    users, items = summary.blocks.users, summary.blocks.items
    text = (
        f"The {users.count:,} users form {users.blocks} blocks and the {items.count:,} items "
        f"{items.blocks} blocks. Entropy of the {summary.observations:,} observations: "
        f"{summary.fit.entropy:,.0f} nats."
    )
    tone = "warn" if summary.fit.converged is False else ""
    return Page(
        "cluster report",
        f"{users.blocks} × {items.blocks} blocks in {summary.fit.name}",
        Verdict(text, tone, "", summary.fit.next_steps()),
        [
            count("users", users.count, f"{users.blocks} blocks"),
            count("items", items.count, f"{items.blocks} blocks"),
            count("observations", summary.observations),
            *summary.fit.facts(),
        ],
        [*block_sections(summary.blocks), *summary.fit.closing_sections()],
    )


def block_sections(blocks: RatingBlocks) -> list[Section]:
    """Show what is between blocks, then the blocks of items and of users."""
    return [
        _between(blocks),
        _members(blocks.items, "items"),
        _members(blocks.users, "users"),
    ]


def _between(blocks: RatingBlocks) -> Section:
    """For ratings, show what blocks give to blocks; for likes, the share of pairs that exist."""
    users, items = blocks.users.sizes, blocks.items.sizes
    total = blocks.counts.sum(2)
    if len(blocks.values) > 1:
        theta = blocks.counts / np.maximum(total, 1)[:, :, None]
        theta[total == 0] = np.nan
        return rating_matrix(theta, blocks.values, users, items, unit="block")
    pairs = np.outer(users, items)
    rows, columns = (np.argsort(-s, kind="stable")[:_DRAWN] for s in (users, items))
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
    caption = "U0 is user block 0, I0 is item block 0; the largest come first."
    figure = Figure("The block matrix", chart, caption, pictured=True)
    return Section("How the blocks are connected", figures=[figure])


def _members(side: BlockSide, who: str) -> Section:
    names = [f"{who.removesuffix('s')} block {row.block}" for row in side.listed]
    chart = bars(
        names,
        {who: [float(row.members) for row in side.listed]},
        description=f"Number of {who} in each block.",
        of="block",
    )
    table = ChartTable(
        ["block", who, "observations", "most active"],
        [
            [name, row.members, row.observations, " · ".join(row.most_active)]
            for name, row in zip(names, side.listed, strict=True)
        ],
    )
    return Section(
        f"The blocks of {who}",
        figures=[Figure("Size of the blocks", chart)],
        tables=[Panel("", table)],
    )
