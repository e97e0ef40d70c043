"""Check a soft model's parameters and data before a fit."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from coterie.base.errors import AssumptionWarning, InputError
from coterie.data import Graph, Ratings
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings

if TYPE_CHECKING:
    from coterie.models.soft.mmsbm import MMSBM


def check(model: MMSBM, data: object) -> None:
    """Raise InputError for invalid parameters or data; warn about unusual ones."""
    model.check_parameters()
    _check_groups(model, _nodes(model, data), one_set=isinstance(data, Graph | ShardedGraph))


def _nodes(model: MMSBM, data: object) -> tuple[int, int]:
    if isinstance(data, Ratings):
        if len(data) == 0:
            raise InputError(
                "there are no ratings to learn from", remedy="give at least one rating"
            )
        if not np.isfinite(data.values).all():
            raise InputError(
                f"a rating is {data.values[~np.isfinite(data.values)][0]}",
                remedy="give finite numbers",
            )
        if model.validation and len(data) < 2:
            raise InputError("a single rating cannot be held out", remedy="set `validation=0`")
        return data.n_users, data.n_items
    if isinstance(data, ShardedRatings):
        _reject_rating_parameters(model, "needs ratings in memory, but these are stored in shards")
        return data.n_users, data.n_items
    if isinstance(data, Graph | ShardedGraph):
        if data.n_nodes == 0:
            raise InputError("the graph has no nodes", remedy="give at least one node")
        _reject_rating_parameters(model, "is for ratings, but the data are a graph")
        return data.n_nodes, data.n_nodes
    raise InputError(
        f"a {type(data).__name__} cannot be fitted", remedy="give coterie.Ratings or coterie.Graph"
    )


def _reject_rating_parameters(model: MMSBM, why: str) -> None:
    """Reject the parameters that need a ratings table in memory."""
    for name in ("validation", "negatives_per_rating"):
        if getattr(model, name):
            raise InputError(f"{name}={getattr(model, name)} {why}", remedy=f"set `{name}=0`")


def _check_groups(model: MMSBM, nodes: tuple[int, int], *, one_set: bool) -> None:
    groups = model.group_pair
    if one_set and groups[0] != groups[1]:
        raise InputError(
            f"n_groups={model.n_groups!r}: the nodes of a graph share one set of groups",
            remedy="set `n_groups` to one integer",
        )
    if groups[0] > nodes[0] or groups[1] > nodes[1]:
        warnings.warn(
            f"{groups[0]} and {groups[1]} groups for {nodes[0]} and {nodes[1]} nodes: some groups "
            "will stay empty or repeat each other",
            AssumptionWarning,
            stacklevel=4,
        )
