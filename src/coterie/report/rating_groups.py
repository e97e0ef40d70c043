"""Sections about what a model found: groups, blocks or partitions of nodes, users and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie.base.number_text import short
from coterie.data import Ratings
from coterie.models.declaration import Groups
from coterie.report.charts import bars, heatmap, histogram
from coterie.report.charts.drawing import Cell
from coterie.report.page import Section

_NAMED = 6  # members named per group
_MOST_GROUPS = 40
_MOST_BLOCKS = 25  # in the table of the largest blocks
_MOST_PARTITIONS = 2
_MOST_TASTES = 3  # directions of taste in the table
_BINS = 24
_MOSTLY = 0.8  # from this membership on, a node counts as a member of one group


@dataclass(frozen=True)
class Side:
    """The nodes of a graph, the users or the items: ids, how often observed, and titles."""

    ids: np.ndarray
    observed: np.ndarray
    titles: Mapping[str, str] = field(default_factory=dict)

    def name(self, node: int) -> str:
        """Return the title of a node, or its id."""
        return self.titles.get(str(self.ids[node]), str(self.ids[node]))

    def most_active(self, members: np.ndarray) -> str:
        """Name the members that are observed most often."""
        top = members[np.argsort(-self.observed[members], kind="stable")[:_NAMED]]
        return " · ".join(map(self.name, top))


def sides_of(ratings: Ratings, titles: Mapping[str, str] | None = None) -> tuple[Side, Side]:
    """Return the users and the items; `titles` are those of the items."""
    users = np.bincount(ratings.users, minlength=ratings.n_users)
    items = np.bincount(ratings.items, minlength=ratings.n_items)
    return Side(ratings.user_ids, users), Side(ratings.item_ids, items, titles or {})


def group_sections(
    model: Any, ratings: Ratings, titles: Mapping[str, str] | None = None
) -> list[Section]:
    """Show what a model found about users and items; nothing if it does not look for groups."""
    sections = {
        Groups.MEMBERSHIPS: _membership_sections,
        Groups.BLOCKS: _block_sections,
        Groups.PARTITIONS: _partition_sections,
    }
    found = sections.get(model.declaration.groups)
    return [] if found is None else found(model, ratings, *sides_of(ratings, titles))


# memberships


def _membership_sections(model: Any, ratings: Ratings, users: Side, items: Side) -> list[Section]:
    memberships = [np.asarray(m) for m in (model.user_memberships_, model.item_memberships_)]
    theta = np.asarray(model.theta_)[..., : len(ratings.values)]
    return [
        _rating_matrix(theta, ratings.values, *(m.sum(0) for m in memberships)),
        membership_section(memberships[1], items, "items", "item group"),
        membership_section(memberships[0], users, "users", "user group"),
    ]


def effective_groups(memberships: np.ndarray) -> np.ndarray:
    """Compute exp of the entropy of each node's membership: 1 for one group, k for all equally.

    >>> effective_groups(np.array([[1.0, 0.0], [0.5, 0.5]])).round(6)
    array([1., 2.])
    """
    logs = np.log(np.where(memberships > 0, memberships, 1.0))
    return np.asarray(np.exp(-(memberships * logs).sum(1)))


def mean_groups(memberships: np.ndarray) -> str:
    """Write the mean effective number of groups per node."""
    return short(float(effective_groups(memberships).mean()) if len(memberships) else 0.0)


def mostly_one(memberships: np.ndarray) -> str:
    """Write the percentage of the nodes with a membership of 80 % or more in one group."""
    share = float((memberships.max(1) >= _MOSTLY).mean()) if len(memberships) else 0.0
    return f"{100 * share:.0f} %"


def membership_section(memberships: np.ndarray, side: Side, who: str, group: str) -> Section:
    """Show how a set of nodes is divided.

    `who`: nodes, users or items; `group`: the word in front of a group's number.
    """
    n, k = memberships.shape
    mean, sizes = mean_groups(memberships), memberships.sum(0)
    order = np.argsort(-sizes, kind="stable")[:_MOST_GROUPS]
    counts, edges = np.histogram(
        effective_groups(memberships), bins=_BINS, range=(1.0, max(k, 1.0 + 1e-9))
    )
    sizes_chart = bars(
        [f"{group} {i}" for i in order],
        {who: [float(sizes[i]) for i in order]},
        description=f"Sum of the memberships of all {who} in each group.",
        of="group",
    )
    mixed_chart = histogram(
        edges,
        counts,
        x_title="effective number of groups",
        y_title=who,
        description=f"How mixed the {who} are: mean {mean} groups.",
    )
    typical = [_typical(memberships, side, i) for i in range(min(k, _MOST_GROUPS))]
    rows: list[list[Cell]] = [
        [f"{group} {i}", members] for i, members in enumerate(typical) if members
    ]
    section = Section(
        f"The groups of {who}",
        f"{mostly_one(memberships)} of the {n:,} {who} have a membership of 80 % or "
        f"more in one group. The mean effective number of groups is {mean}.",
    )
    section.draw("Size of the groups", sizes_chart, "The sum of the memberships in each group.")
    section.draw(
        "How mixed they are",
        mixed_chart,
        "Effective number of groups: 1 means one group only, 2 means as mixed as an even "
        "split between two groups (the exponential of the entropy of the memberships).",
    )
    meaning = f"The {who} that belong to the group most and are observed often; the membership in "
    section.tabulate(["group", who], rows, meaning + "brackets.", f"Typical {who} of each group")
    return section


def _typical(memberships: np.ndarray, side: Side, group: int) -> str:
    """Name the nodes that belong to a group more than to others and are observed often."""
    k = memberships.shape[1]
    belonging = memberships[:, group]
    others = memberships.mean(1) if k > 1 else 0.0
    score = (belonging - others) * np.sqrt(side.observed)
    top = np.argpartition(-score, min(_NAMED, len(score)) - 1)[:_NAMED]
    top = top[np.argsort(-score[top], kind="stable")]
    return " · ".join(
        f"{side.name(v)} ({100 * belonging[v]:.0f} %)"
        for v in top
        if belonging[v] > 1.0 / max(k, 2)
    )


def _rating_matrix(
    theta: np.ndarray,
    values: np.ndarray,
    user_sizes: np.ndarray,
    item_sizes: np.ndarray,
    *,
    unit: str = "group",
) -> Section:
    """Show the mean rating that each group (or block) of users gives to each of items."""
    expected = theta @ values
    rows, columns = _largest(user_sizes), _largest(item_sizes)
    shown = expected[np.ix_(rows, columns)]

    def tip(i: int, j: int) -> str:
        spread = theta[rows[i], columns[j]]
        odds = "\n".join(
            f"{short(float(v))}: {100 * p:.0f} %" for v, p in zip(values, spread, strict=True)
        )
        who = f"user {unit} {rows[i]} × item {unit} {columns[j]}"
        return f"{who}\nmean {short(float(shown[i, j]))}\n{odds}"

    chart = heatmap(
        shown,
        *_short_names(rows, columns),
        value="mean rating",
        description=f"Mean rating that each {unit} of users gives to each {unit} of items.",
        tip=tip if len(values) <= 12 else None,
        row_title=f"user {unit}",
        column_title="" if len(columns) > 16 else f"item {unit}",
    )
    caption = (
        f"U0 is user {unit} 0, I0 is item {unit} 0; the largest come first. Point at a "
        "cell for the whole distribution."
    )
    section = Section(f"What {unit}s of users give to {unit}s of items")
    section.draw(f"Mean rating by {unit}", chart, caption, pictured=True)
    return section


def _largest(sizes: np.ndarray) -> np.ndarray:
    return np.argsort(-sizes, kind="stable")[:_MOST_GROUPS]


def _short_names(users: Sequence[int] | np.ndarray, items: Sequence[int] | np.ndarray) -> list[Any]:
    return [[f"U{i}" for i in users], [f"I{j}" for j in items]]


# blocks


def counts_between(labels: tuple[np.ndarray, np.ndarray], ratings: Ratings) -> np.ndarray:
    """Count the ratings by user block, item block and level."""
    users, items = map(np.asarray, labels)
    shape = *(int(z.max(initial=-1)) + 1 for z in (users, items)), len(ratings.values)
    cell = users[ratings.users].astype(np.int64) * shape[1] + items[ratings.items]
    cell = cell * shape[2] + ratings.codes
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def _block_sections(model: Any, ratings: Ratings, users: Side, items: Side) -> list[Section]:
    user_labels, item_labels = map(np.asarray, model.labels_)
    counts = counts_between(model.labels_, ratings)
    return [
        _between_blocks(counts, ratings.values, np.bincount(user_labels), np.bincount(item_labels)),
        _members_of_blocks(item_labels, items, "items"),
        _members_of_blocks(user_labels, users, "users"),
    ]


def _between_blocks(
    counts: np.ndarray, values: np.ndarray, users: np.ndarray, items: np.ndarray
) -> Section:
    """For ratings, show what blocks give to blocks; for likes, the share of pairs that exist."""
    total = counts.sum(2)
    if len(values) > 1:
        theta = counts / np.maximum(total, 1)[:, :, None]
        theta[total == 0] = np.nan
        return _rating_matrix(theta, values, users, items, unit="block")
    rows, columns = _largest(users), _largest(items)
    density = total / np.maximum(np.outer(users, items), 1)
    chart = heatmap(
        density[np.ix_(rows, columns)],
        *_short_names(rows, columns),
        value="share of pairs",
        description="Share of the pairs of each user block and item block that exist.",
        log=True,
        row_title="user block",
    )
    caption = "U0 is user block 0, I0 is item block 0; the largest come first."
    section = Section("How the blocks are connected")
    section.draw("The block matrix", chart, caption, pictured=True)
    return section


def _members_of_blocks(labels: np.ndarray, side: Side, who: str) -> Section:
    sizes = np.bincount(labels)
    largest = [b for b in np.argsort(-sizes, kind="stable")[:_MOST_BLOCKS] if sizes[b]]
    names = [f"{who.removesuffix('s')} block {b}" for b in largest]
    chart = bars(
        names,
        {who: [float(sizes[b]) for b in largest]},
        description=f"Number of {who} in each block.",
        of="block",
    )
    rows: list[list[Cell]] = []
    for block, name in zip(largest, names, strict=True):
        members = np.flatnonzero(labels == block)
        observations = int(side.observed[members].sum())
        rows.append([name, len(members), observations, side.most_active(members)])
    section = Section(f"The blocks of {who}")
    section.draw("Size of the blocks", chart)
    section.tabulate(["block", who, "observations", "most active"], rows)
    return section


# partitions


def _partition_sections(model: Any, ratings: Ratings, users: Side, items: Side) -> list[Section]:
    """Show what the parts of an additive model change, and those that act in detail."""
    last = int(np.flatnonzero(model.chain_of_sample_ == 0)[-1])
    samples = model.samples_
    user_labels, item_labels = samples.user_labels[last], samples.item_labels[last]
    effects = np.asarray(samples.effects[last], np.float64)
    u, v = ratings.users, ratings.items
    likes = np.asarray(samples.user_factors[last], np.float64)
    liked = np.asarray(samples.item_factors[last], np.float64)
    parts = {
        "how high the user rates in general": samples.user_offsets[last][u],
        "how high the item is rated in general": samples.item_offsets[last][v],
        "taste: what the user's other ratings say": np.einsum("ij,ij->i", likes[u], liked[v]),
        "groups of users and items": sum(
            effect[user_labels[u, s], item_labels[v, s]] for s, effect in enumerate(effects)
        ),
    }
    spreads = {name: float(np.std(part)) for name, part in parts.items()}
    section = Section(
        "What the model has learned",
        "A prediction adds up the parts below, next to noise. Their unit is the standard deviation "
        "of the noise of a rating. The figures are from one of the model's samples; a prediction "
        "averages over all of them.",
        figures_first=True,
    )
    shown: list[list[Cell]] = [
        [name, short(spread) if spread else "not used"] for name, spread in spreads.items()
    ]
    section.tabulate(["part", "changes a rating by (std)"], shown, title="What decides a rating")
    taste, groups = list(spreads.values())[2:]
    if taste:
        _tabulate_tastes(section, likes, liked, items)
    if groups:
        _draw_partitions(section, effects, (user_labels, item_labels), ratings, (users, items))
    return [section]


def _tabulate_tastes(section: Section, users: np.ndarray, items: np.ndarray, side: Side) -> None:
    """List the items at both ends of the directions in which tastes differ most."""
    left, right = np.linalg.qr(users - users.mean(axis=0)), np.linalg.qr(items)
    _, strength, turned = np.linalg.svd(left.R @ right.R.T)
    place = right.Q @ turned.T * strength * np.sqrt(side.observed)[:, None]
    rows: list[list[Cell]] = []
    for d in range(min(_MOST_TASTES, place.shape[1])):
        order = np.argsort(place[:, d], kind="stable")
        ends = order[::-1][:_NAMED], order[:_NAMED]
        rows.append([f"{d + 1}", *(" · ".join(map(side.name, end)) for end in ends)])
    section.tabulate(
        ["direction", "who likes these more …", "… likes these less, and the other way round"],
        rows,
        "The directions in which tastes differ most, with much-rated items at both ends.",
        "What people disagree about",
    )


def _draw_partitions(
    section: Section,
    effects: np.ndarray,
    labels: tuple[np.ndarray, np.ndarray],
    ratings: Ratings,
    sides: tuple[Side, Side],
) -> None:
    """Show the tables of user groups by item groups that change the ratings most."""
    user_labels, item_labels = labels
    users, items = sides
    strengths = [
        (float(effect[user_labels[ratings.users, s], item_labels[ratings.items, s]].std()), s)
        for s, effect in enumerate(effects)
    ]
    for place, (_, s) in enumerate(sorted(strengths, reverse=True)[:_MOST_PARTITIONS], start=1):
        rows, columns = _short_names(*map(range, effects[s].shape))
        chart = heatmap(
            effects[s],
            rows,
            columns,
            value="effect",
            description="How much each user group raises or lowers the rating of each item group.",
            row_title="user group",
        )
        caption = (
            "U: user groups, I: item groups. Their members are in the tables "
            f"“Table {place}: the groups of …”."
        )
        section.draw(f"Table {place}: user groups and item groups", chart, caption)
        for who, side, own, names in (
            ("items", items, item_labels[:, s], columns),
            ("users", users, user_labels[:, s], rows),
        ):
            body: list[list[Cell]] = []
            for group, name in enumerate(names):
                members = np.flatnonzero(own == group)
                body.append([name, len(members), side.most_active(members)])
            columns_of = ["group", who, "with the most ratings"]
            section.tabulate(columns_of, body, title=f"Table {place}: the groups of {who}")
