"""Users and items that have features but no ratings: they are part of the table, with no row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie.base.errors import InputError
from coterie.data import Ratings
from coterie.data.node_table import NodeTable
from coterie.models.additive import AdditiveBlockModel
from coterie.models.base import Estimator

FEATURE_OPTIONS = ("user_features", "item_features")


def without_empty_features(model: Estimator, options: dict[str, Any]) -> dict[str, Any]:
    """Return fit options without features that are None; raise if the model cannot use them."""
    given = [name for name in FEATURE_OPTIONS if options.get(name) is not None]
    if given and not isinstance(model, AdditiveBlockModel):
        raise InputError(
            f"{type(model).__name__} does not use `{given[0]}`", remedy='use `model="best"`'
        )
    return {n: x for n, x in options.items() if n not in FEATURE_OPTIONS or x is not None}


def with_described_nodes(ratings: Ratings, options: dict[str, Any]) -> Ratings:
    """Return the ratings with the users and items of the feature tables added to the ids.

    >>> films = NodeTable.from_columns(["x", "new"], {"year": [1994, 2001]})
    >>> rated = Ratings.from_arrays(["ann"], ["x"], [4])
    >>> with_described_nodes(rated, {"item_features": films}).item_ids.tolist()
    ['x', 'new']
    """
    users, items = (options.get(name) for name in FEATURE_OPTIONS)
    if isinstance(users, NodeTable):
        _require_common(ratings.user_ids, users.ids, "user")
        ratings = replace(ratings, user_ids=_with_ids(ratings.user_ids, users.ids))
    if isinstance(items, NodeTable):
        _require_common(ratings.item_ids, items.ids, "item")
        ratings = replace(ratings, item_ids=_with_ids(ratings.item_ids, items.ids))
    return ratings


def _require_common(rated: np.ndarray, described: np.ndarray, kind: str) -> None:
    """Raise InputError if no id of the ratings has features: nothing could be learned from them."""
    if len(described) and not {str(x) for x in rated.tolist()} & set(map(str, described.tolist())):
        raise InputError(
            f"none of the {len(described):,} ids of the {kind} features is a {kind} of the ratings"
            f" (features: {described[0]!r}; ratings: {rated[0]!r})",
            remedy=f"use the same ids for {kind}s in both tables",
        )


def _with_ids(known: np.ndarray, described: np.ndarray) -> np.ndarray:
    """Return the known ids, then the others, converted to the type of the known ones.

    Text that is not a number cannot be an id among integers and is left out.
    """
    seen = {str(id_) for id_ in known.tolist()}
    new = [id_ for id_ in described.tolist() if str(id_) not in seen]
    if known.dtype.kind in "iu":
        numbers = [int(id_) for id_ in new if str(id_).lstrip("-").isdecimal()]
        return np.concatenate([known, np.array(numbers, known.dtype)])
    out = np.empty(len(known) + len(new), object)
    out[: len(known)] = known
    out[len(known) :] = [str(id_) for id_ in new]
    return out
